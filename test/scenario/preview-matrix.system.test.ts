/**
 * Each preview in each state, with usage, is what the operation then does: the same
 * refusal, or the same subscription, documents and upcoming invoice. PREVIEW-1, PREVIEW-5.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { tables } from "../support/rows.ts";
import type { Answered } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { expectRefusedAlike, explanationInShort, perform, preview } from "./preview-comparison.ts";
import {
  createStates,
  type OperationName,
  operations,
  states,
  type Twin,
} from "./preview-states.ts";
import type { Json } from "./units-builder.ts";
import { addMeter } from "./usage-builder.ts";

const names = Object.keys(operations) as OperationName[];
const settings = { invoice_create_days: 10, usage_allowed: true };

/** The last day on which one of them renews that has begun. */
const lastRenewal = "2026-05-17";

const upcomingOf = (ask: Ask, { apiKey }: CreatedOrganisation, id: string): Promise<Answered> =>
  ask("GET", `/v1/subscriptions/${id}/upcoming_invoice`, { key: apiKey });

const plainLines = (lines: readonly Json[]) => lines.map(({ id: _, ...line }: Json) => line);

/** An upcoming invoice without the ids of what a preview has not issued. */
const inShort = (upcoming: Json) =>
  upcoming && {
    ...upcoming,
    invoice: null,
    lines: plainLines(upcoming.lines),
    explanations: upcoming.explanations.map(explanationInShort),
  };

test("each preview in each state is what the operation then does, with usage", async ({
  system,
  ask,
  builder,
  clocks,
  reports,
}) => {
  const own = await builder.sandbox(settings);
  await addMeter(system.pool, own.organisationId);
  const twins = await createStates({ system, ask, clocks, reports }, own);
  const compared = { system, ask, builder, own };

  /** Holds the preview of one operation against it. Returns a comparison for later. */
  const comparePreview = async ({ state, id }: Twin, name: OperationName) => {
    const [operation, body] = operations[name];
    const path = `/v1/subscriptions/${id}/${operation}`;
    const asked = { key: own.apiKey, body };
    if (!states[state].does.some((one) => one === name)) {
      const real = await ask("POST", path, { ...asked, idempotencyKey: randomUUID() });
      expect([state, name, real.status < 500 && real.status >= 400]).toEqual([state, name, true]);
      await expectRefusedAlike(ask, path, asked, real);
      return async () => undefined;
    }
    const previewed = await preview(compared, id, operation, body);
    const real = await perform(compared, id, operation, body);
    expect([state, name, real.status]).toEqual([state, name, 200]);
    return async () => {
      await previewed.expectSame(real);
      const after = await upcomingOf(ask, own, id);
      const shown = { state, name, upcoming: previewed.answer.json.upcoming_invoice };
      expect({ ...shown, upcoming: inShort(shown.upcoming) }).toEqual({
        ...shown,
        upcoming: after.status === 200 ? inShort(after.json) : null,
      });
    };
  };

  const compare = await Promise.all(
    twins.flatMap((twin) => {
      const { operation, state } = twin;
      if (operation !== null) return [comparePreview(twin, operation)];
      const does: readonly OperationName[] = states[state].does;
      return names.filter((name) => !does.includes(name)).map((name) => comparePreview(twin, name));
    }),
  );
  await builder.posted(own);
  await Promise.all(compare.map((one) => one()));

  // An upcoming invoice is held against what is issued up to the renewal date. Without usage
  // properties hold it (test/properties/previews.test.ts).
  await tables(system.pool).subscription.updateMany({
    where: { organisationId: own.organisationId },
    data: { parkedUntil: null, parkedReason: null, parkedAttempts: 0 },
  });
  const before = await Promise.all(
    twins.map(async ({ state, operation, id }) => ({
      name: `${state} ${operation}`,
      id,
      upcoming: await upcomingOf(ask, own, id),
      invoices: await builder.invoices(own, id),
    })),
  );
  await clocks.advanced(own, { to: lastRenewal });
  await builder.posted(own);
  const seen = await Promise.all(
    before.map(async ({ name, id, upcoming: { status, json }, invoices }) => {
      if (status !== 200 || json.renewal_date > lastRenewal) return null;
      const known = new Set(invoices.map((invoice) => invoice.id));
      const billed = (await builder.invoices(own, id)).filter(
        (invoice) =>
          invoice.id === json.invoice ||
          (!known.has(invoice.id) && invoice.issue_date <= json.renewal_date),
      );
      const lines = plainLines(billed.flatMap((invoice) => invoice.lines));
      expect([name, plainLines(json.lines).sort(byText)]).toEqual([name, lines.sort(byText)]);
      return lines.some(({ kind }) => kind === "usage");
    }),
  );
  expect(seen.filter((hasUsage) => hasUsage !== null).length).toBeGreaterThan(40);
  expect(seen).toContain(true);
});

test("each preview is refused as its operation while an amendment or an end is under way", async ({
  system,
  ask,
  builder,
}) => {
  const own = await builder.sandbox({ ...settings, invoice_create_days: 20 });
  await addMeter(system.pool, own.organisationId);
  await builder.setClock(own, "2026-04-17");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
  const [renewal] = await builder.invoices(own, id);
  for (const [kind, invoiceId, upcoming] of [
    ["amend_invoice", renewal.id, 200],
    ["end_subscription", null, 409],
  ]) {
    const job = randomUUID();
    await system.pool.query(
      `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
          first_sent_at, lease_until)
        VALUES ($1, $2, $3, 'sending', $4, $5, now(), now() + interval '1 hour')`,
      [job, own.organisationId, kind, id, invoiceId],
    );
    for (const [operation, body] of Object.values(operations)) {
      const path = `/v1/subscriptions/${id}/${operation}`;
      const asked = { key: own.apiKey, body };
      const real = await ask("POST", path, asked);
      expect([operation, real.json.error?.code]).toEqual([operation, "invalid_state"]);
      await expectRefusedAlike(ask, path, asked, real);
    }
    expect((await upcomingOf(ask, own, id)).status).toBe(upcoming);
    await tables(system.pool).ledgerJob.deleteMany({ where: { id: job } });
  }
});

function byText(left: object, right: object): number {
  return JSON.stringify(left) < JSON.stringify(right) ? -1 : 1;
}
