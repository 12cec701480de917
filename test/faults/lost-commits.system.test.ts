/**
 * The database connection is lost at the moment of a commit. The answer waits until the outcome is
 * known, with and without an Idempotency-Key, and nothing is done twice. INVARIANT-7.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { openLine } from "../scenario/cut-line.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import { addMeter, usageEvent } from "../scenario/usage-builder.ts";
import { perFile, stopInTime } from "../support/file-fixture.ts";
import type { TestSystem } from "../support/system.ts";
import { expectSumsOfEvents } from "../support/usage-sums.ts";
import { customerPost, subscriptionPost, untilPosted } from "./ledger-documents.ts";
import { type Post, post, postUntilDecided, startApiProcess } from "./processes.ts";

const test = aloneTest
  .extend("settings", perFile, { without: ["api"] })
  .extend("line", perFile, async ({ system }, { onCleanup }) => {
    const line = await openLine(system.databaseUrl);
    onCleanup(() => stopInTime(() => line.cut()));
    return line;
  })
  .extend("api", perFile, async ({ system, line }, { onCleanup }) => {
    const api = await startApiProcess({ ...system, databaseUrl: line.url });
    onCleanup(() => stopInTime(() => api.stop()));
    return api;
  })
  /** Sends a request whose database has done what this text asks for, and cannot say so. */
  .extend("losing", perFile, ({ line, api }) => async (text: string, what: Post) => {
    const lost = line.loseAnswer(text);
    const answer = await post(api.baseUrl, what);
    // Otherwise nothing was tried.
    await lost;
    return answer;
  })
  /** A subscription whose invoice is in the ledger. */
  .extend("subscribed", perFile, ({ system, api }) => async (own: CreatedOrganisation) => {
    const { json } = await postUntilDecided(api.baseUrl, subscriptionPost(own, "first"));
    await untilPosted(system, own.organisationId);
    return {
      key: own.apiKey,
      path: `/v1/subscriptions/${json.id}`,
      startDate: json.start_date,
      id: json.id,
    };
  });

async function countOf(
  system: TestSystem,
  table: string,
  { organisationId }: CreatedOrganisation,
): Promise<number> {
  const { rows } = await system.pool.query<{ count: number }>(
    `SELECT count(*)::int FROM ${table} WHERE organisation_id = $1`,
    [organisationId],
  );
  return rows[0]?.count ?? 0;
}

describe("a write whose connection is lost at its commit", () => {
  test("creates one subscription with one invoice and answers it", async ({ system, losing }) => {
    const own = await system.organisation();
    const answer = await losing("save_creation", subscriptionPost(own, "once"));
    expect(answer?.status).toBe(201);
    expect(answer?.json.invoice).toMatchObject({
      number: "INV-0001",
      ledger: { sync_status: "synced" },
    });
    expect([
      await countOf(system, "subscriptions", own),
      await countOf(system, "invoices", own),
    ]).toEqual([1, 1]);
  });

  test("creates one customer with one contact without a key and answers it", async ({
    system,
    losing,
  }) => {
    const own = await system.organisation({}, { can_create_ledger_contacts: true });
    const before = await countOf(system, "customers", own);
    const { idempotencyKey: _, ...what } = customerPost(own, "");
    const answer = await losing("save_customer", what);
    expect(answer?.status).toBe(201);
    expect(answer?.json).toMatchObject({ code: "NEW-1", status: "active" });
    expect((await countOf(system, "customers", own)) - before).toBe(1);
  });

  test("changes units once without a key and answers with the billing invoice", async ({
    system,
    losing,
    subscribed,
  }) => {
    const own = await system.organisation();
    const { key, path, startDate } = await subscribed(own);
    const body = { units: 12, prorate: true, effective_date: startDate };
    const answer = await losing("COMMIT", { key, path: `${path}/units`, body });
    expect(answer?.status).toBe(200);
    expect(answer?.json).toMatchObject({
      units: 12,
      change: { units: 12, invoice: { number: "INV-0001" } },
    });
    expect(await countOf(system, "unit_changes", own)).toBe(1);
  });

  test("ends a subscription with a removal once without a key, and restores it once", async ({
    system,
    losing,
    subscribed,
  }) => {
    const own = await system.organisation();
    const { key, path } = await subscribed(own);
    const body = { when: "now", delete_unsent_invoices: true };
    const ended = await losing("COMMIT", { key, path: `${path}/end`, body });
    expect(ended?.status).toBe(200);
    expect(ended?.json.status).toBe("ended");
    expect(await countOf(system, "terminations", own)).toBe(1);
    const restored = await losing("COMMIT", { key, path: `${path}/restore`, body: {} });
    expect(restored?.status).toBe(200);
    expect(restored?.json.status).toBe("active");
    expect([
      await countOf(system, "restorations", own),
      await countOf(system, "invoices", own),
    ]).toEqual([1, 2]);
  });

  test("stores usage once and answers that it is stored", async ({
    system,
    losing,
    subscribed,
  }) => {
    const own = await system.organisation({}, { usage_allowed: true });
    await addMeter(system.pool, own.organisationId, { code: "calls" });
    const { key, id } = await subscribed(own);
    const events = [usageEvent(id, new Date().toISOString(), { meter_code: "calls" })];
    const answer = await losing("COMMIT", { key, path: "/v1/usage_events", body: { events } });
    expect(answer?.status).toBe(200);
    expect(answer?.json).toMatchObject({ created: 0, duplicates: 1, rejected: 0 });
    expect(await countOf(system, "usage_events", own)).toBe(1);
    await expectSumsOfEvents(system);
  });

  test("answers 502 if the database stays down, and its key finds it afterwards", async ({
    system,
    line,
    api,
    subscribed,
  }) => {
    const own = await system.organisation();
    const { key, path } = await subscribed(own);
    const what = { key, path: `${path}/units`, body: { units: 12 }, idempotencyKey: "away" };
    const lost = line.loseAnswer("COMMIT");
    const answering = post(api.baseUrl, what);
    await lost;
    await line.cut();
    const answer = await answering;
    expect(answer?.status).toBe(502);
    expect(answer?.json.error).toMatchObject({
      type: "api_error",
      code: "temporarily_unavailable",
    });
    await line.mend();
    const found = await postUntilDecided(api.baseUrl, what);
    expect(found.json).toMatchObject({ units: 12, change: { units: 12 } });
    expect(await countOf(system, "unit_changes", own)).toBe(1);
  });
});
