/**
 * Previews over HTTP: equal to what then happens, with nothing written, under a reading scope.
 * PREVIEW-1 to PREVIEW-6.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { verify } from "../../packages/verify/src/verify.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { type TestSystem, until } from "../support/system.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { explanationInShort, invoiceInShort, preview } from "./preview-comparison.ts";
import type { Json } from "./units-builder.ts";
import { addMeter } from "./usage-builder.ts";

const april = { start_date: "2026-04-01" };
const half = { prorate: true, effective_date: "2026-04-16" };
const nil = "00000000-0000-0000-0000-000000000000";

const test = scenarioTest;

/** The versions of an organisation's rows in every table, except the window of the rate. */
async function rowVersions(
  { pool }: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<Readonly<Record<string, string | null>>> {
  const { rows: tables } = await pool.query<{ name: string; column: string }>(
    `SELECT c.table_name AS name, c.column_name AS column FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
        AND (c.column_name = 'organisation_id' OR c.table_name = 'organisations'
          AND c.column_name = 'id')
      ORDER BY c.table_name`,
  );
  expect(tables.length).toBeGreaterThan(30);
  const versions: [string, string | null][] = [];
  for (const { name, column } of tables) {
    const { rows } = await pool.query<{ rows: string | null }>(
      `SELECT string_agg(concat(t.ctid, t.xmin), ' ' ORDER BY t.ctid) AS rows FROM ${name} t
        WHERE t.${column} = $1`,
      [organisationId],
    );
    versions.push([name, rows[0]?.rows ?? null]);
  }
  return Object.fromEntries(versions);
}

describe("a preview of a creation", () => {
  test.for([
    ["an ordinary one", { ...april, invoice_reference: "PO-9" }, {}],
    ["inside its invoice window", april, { invoice_create_days: 20 }],
    ["one that begins later", { start_date: "2026-05-10", end_after_cycles: 1 }, {}],
    ["in Setup Mode", april, { setup_mode: true }],
  ] as const)("has the subscription and the invoices that follow: %s", async ([, body, settings], {
    system,
    ask,
    builder,
  }) => {
    const own = await builder.sandbox(settings);
    await addMeter(system.pool, own.organisationId, { plans: ["team"] });
    await builder.setClock(own, "2026-04-16");
    const charges = [{ charge_code: "onboarding", quantity: 2 }];
    const requested = { customer_code: "ACME", plan_code: "team", units: 10, charges, ...body };
    const shown = await ask("POST", "/v1/subscriptions/preview", {
      key: own.apiKey,
      body: requested,
    });
    expect(shown.status, shown.text).toBe(200);
    const { invoice: _, ...created } = await builder.subscribe(own, {
      price: undefined,
      ...requested,
    });
    const { subscription } = shown.json;
    expect(subscription).toEqual({ ...created, id: nil, created: subscription.created });
    const invoices = (await builder.invoices(own, created.id)).toReversed();
    expect(shown.json.issued_invoices.map(invoiceInShort)).toEqual(invoices.map(invoiceInShort));
    const { upcoming_invoice } = shown.json;
    const upcoming = await ask("GET", `/v1/subscriptions/${created.id}/upcoming_invoice`, {
      key: own.apiKey,
    });
    const withoutIds = (one: Json) => ({
      ...one,
      ...{ subscription: "", invoice: null },
      explanations: one.explanations.map(explanationInShort),
    });
    expect(withoutIds(upcoming_invoice)).toEqual(withoutIds(upcoming.json));
    for (const { explanation } of [...shown.json.issued_invoices])
      expect(await verify(JSON.stringify(explanation))).toMatchObject({ verified: true });
    const issued = await Promise.all(
      invoices.map((one) => ask("GET", `/v1/invoices/${one.id}/explanation`, { key: own.apiKey })),
    );
    expect(
      shown.json.issued_invoices.map(({ explanation }: Json) => explanationInShort(explanation)),
    ).toEqual(issued.map(({ json }) => explanationInShort(json)));
  });
});

describe("a preview", () => {
  test("writes nothing, keeps no key and takes no number", async ({ system, ask, builder }) => {
    const own = await builder.sandbox({ invoice_create_days: 20 });
    await builder.setClock(own, "2026-04-16");
    const { id } = await builder.subscribe(own, april);
    const ended = await builder.subscribe(own, april);
    await builder.ended(own, ended.id, { when: "now", delete_unsent_invoices: true });
    await builder.expectEqualDocuments(own);
    const { value: key } = await addApiKey(system.pool, own.organisationId, ["subscriptions:read"]);
    const body = { customer_code: "ACME", plan_code: "team", units: 10, ...april };
    const send = async (path: string, asked: object): Promise<Json> => {
      const options = { key, idempotencyKey: "kept", body: asked };
      const answer = await ask("POST", `/v1/subscriptions/${path}`, options);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers.get("Idempotent-Replayed")).toBeNull();
      return answer.json;
    };
    // The worker may write at any moment, for the ledger's sync. A preview that wrote would never
    // leave the rows as they were.
    await until("all previews leave every row as it was", async () => {
      const before = await rowVersions(system, own);
      expect(Object.keys(before)).toEqual(
        expect.arrayContaining(["idempotency_keys", "document_counters", "ledger_jobs", "outbox"]),
      );
      expect((await send("preview", body)).issued_invoices).toHaveLength(2);
      const amended = await send(`${id}/units/preview`, { units: 12, ...half, document: "amend" });
      expect(amended.amended_invoices).toHaveLength(1);
      expect(amended.assumptions).toEqual(["amendments_accepted"]);
      const over = { when: "now", delete_unsent_invoices: true };
      expect((await send(`${id}/end/preview`, over)).removed_invoices).toHaveLength(2);
      expect((await send(`${ended.id}/restore/preview`, {})).issued_invoices).toHaveLength(2);
      const upcoming = `/v1/subscriptions/${id}/upcoming_invoice`;
      expect((await ask("GET", upcoming, { key })).status).toBe(200);
      return JSON.stringify(await rowVersions(system, own)) === JSON.stringify(before);
    });
  });

  test("waits for no writer that holds the organisation and the subscription", async ({
    system,
    ask,
    builder,
  }) => {
    const own = await builder.sandbox();
    const { id } = await builder.subscribe(own, april);
    const client = await system.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("SELECT 1 FROM organisations WHERE id = $1 FOR UPDATE", [
        own.organisationId,
      ]);
      await client.query("SELECT 1 FROM subscriptions WHERE id = $1 FOR UPDATE", [id]);
      const shown = await preview({ system, ask, builder, own }, id, "units", { units: 12 });
      expect(shown.answer.status, shown.answer.text).toBe(200);
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
  });

  test("takes for granted that the ledger removes an invoice that was paid there", async ({
    ask,
    builder,
  }) => {
    const own = await builder.sandbox({
      invoice_create_days: 20,
      first_invoice_status: "approved",
    });
    await builder.setClock(own, "2026-04-16");
    const { id } = await builder.subscribe(own, april);
    const [renewal] = await builder.invoices(own, id);
    await builder.pay(own, renewal, "10.00");
    const path = `/v1/subscriptions/${id}/end`;
    const asked = { key: own.apiKey, body: { when: "now" } };
    const { json } = await ask("POST", `${path}/preview`, asked);
    expect(json.subscription.status).toBe("ended");
    expect(json.removed_invoices).toEqual([
      {
        invoice: renewal.id,
        number: renewal.number,
        type: "renewal",
        subtotal: "100.0000",
        only_if_unsent: false,
        lines: renewal.lines.map(({ id: _, ...line }: Json) => line),
      },
    ]);
    expect([json.assumptions, json.upcoming_invoice]).toEqual([["removals_accepted"], null]);
    expect(refusalOf(await builder.end(own, id, asked.body))).toEqual(
      refused(409, "invalid_state"),
    );
  });
});
