/** A search finds each kind of text, exactly as it is, and reads no table. ADMIN-19 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { search } from "../../../src/store/admin/search.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { dearStatements } from "../../support/dear-statements.ts";
import { perFile } from "../../support/file-fixture.ts";
import { copiedId, copyRows } from "../../support/row-copies.ts";
import { usageTest } from "../billing/usage-fixture.ts";

const test = usageTest.extend("found", perFile, async ({ fixture }) => {
  const { pool } = fixture;
  const [organisation, subscription] = await fixture.metered();
  await pool.query("UPDATE subscriptions SET label = '50%_\\ Büro' WHERE id = $1", [subscription]);
  await pool.query("UPDATE invoices SET ledger_number = 'I2026-1' WHERE organisation_id = $1", [
    organisation,
  ]);
  const [other] = await fixture.metered();
  await pool.query(
    `INSERT INTO audit_log (id, operator_name, operation, organisation_id, target_kind, target_id,
        request_id, after)
      VALUES ($1, 'Ada', 'Retry', $2, 'organisation', $2, 'request-7', '{}')`,
    [randomUUID(), organisation],
  );
  await fixture.use(organisation, subscription, ["1", "2026-03-10T11:00:00Z"]);
  const { rows } = await pool.query<{ customer: string; invoice: string; event: string }>(
    `SELECT i.customer_id AS customer, i.id AS invoice, u.event_id AS event
      FROM invoices i JOIN usage_events u ON u.organisation_id = i.organisation_id
      WHERE i.organisation_id = $1`,
    [organisation],
  );
  const ids = { organisation, subscription, other, ...rows[0] };
  const find = async (text: string, scope: string | null = organisation) =>
    (await search(pool, scope, text)).map(
      ({ by, objectKind, objectId, isExact }) =>
        `${by} ${objectKind} ${objectId}${isExact ? "" : " …"}`,
    );
  const labels = async (text: string) =>
    (await search(pool, organisation, text)).map(({ label, matched }) => [label, matched]);
  return { ids, find, labels };
});

test("each kind of text is found whole and by its beginning", async ({ found: { ids, find } }) => {
  expect(await find("inv-0001")).toEqual([`number invoice ${ids.invoice}`]);
  expect(await find("INV-00")).toEqual([`number invoice ${ids.invoice} …`]);
  expect(await find("I2026-1")).toEqual([`ledger_number invoice ${ids.invoice}`]);
  expect(await find("i2026")).toEqual([`ledger_number invoice ${ids.invoice} …`]);
  expect(await find("acme")).toEqual([`code customer ${ids.customer}`]);
  expect(await find("A@ACME.")).toEqual([`email customer ${ids.customer} …`]);
  expect(await find("50%_\\ b")).toEqual([`label subscription ${ids.subscription} …`]);
  expect(await find("50%_\\ BÜRO")).toEqual([`label subscription ${ids.subscription}`]);
  const event = String(ids.event);
  expect(await find(event)).toEqual([`event_id usage_event ${event}`]);
  expect(await find(event.slice(0, -1))).toEqual([]);
  expect(await find("request-7")).toEqual([expect.stringMatching(/^request_id audit_entry /)]);
  expect(await find("request-")).toEqual([]);
});

test("what is found by another text than its label has both", async ({ found: { labels } }) => {
  expect(await labels("I2026-1")).toEqual([["INV-0001", "I2026-1"]]);
  expect(await labels("a@acme.")).toEqual([["ACME", "a@acme.example"]]);
  expect(await labels("inv-0")).toEqual([["INV-0001", null]]);
});

test("an id is found whatever it is of", async ({ found: { ids, find } }) => {
  for (const [kind, id] of [
    ["organisation", ids.organisation],
    ["subscription", ids.subscription],
    ["customer", ids.customer],
    ["invoice", ids.invoice],
  ])
    expect(await find(String(id))).toEqual([`id ${kind} ${id}`]);
  expect(await find(randomUUID())).toEqual([]);
});

test("another organisation's objects are found only without one", async ({
  found: { ids, find },
}) => {
  expect(await find(ids.other)).toEqual([]);
  expect(await find(ids.other, null)).toEqual([`id organisation ${ids.other}`]);
  expect(await find("acme")).toHaveLength(1);
  expect((await find("acme", null)).length).toBeGreaterThan(1);
  expect(await find(String(ids.event), ids.other)).toEqual([]);
});

test.for([
  "%",
  "_",
  "\\",
  "50%_\\%",
  "'",
  "a%",
  "x".repeat(255),
  "😀",
  "\u{10ffff}",
  "-- ",
])("a text is no pattern: %s", async (text, { found: { find } }) => {
  expect(await find(text)).toEqual([]);
  expect(await find(text, null)).toEqual([]);
});

test("a search reads a few rows among thousands", async ({ fixture, found: { ids, find } }) => {
  const { pool } = fixture;
  await inTransaction(pool, async (client) => {
    await client.query("SET LOCAL session_replication_role = replica");
    const tables = {
      customers: {
        id: copiedId("id"),
        code: "t.code || n",
        ledger_contact_id: "t.ledger_contact_id || n",
      },
      subscriptions: { id: copiedId("id") },
      invoices: {
        id: copiedId("id"),
        subscription_id: copiedId("subscription_id"),
        number: "t.number || '-' || n",
        ledger_number: "t.ledger_number || '-' || n",
      },
    };
    for (const [table, values] of Object.entries(tables)) {
      const { organisation: organisationId } = ids;
      await copyRows(client, { organisationId, table, copies: 6_000, rows: 1, values });
    }
  });
  await pool.query("ANALYZE");
  for (const text of [
    "inv-",
    "i2026-",
    "acme",
    "a@acme.example",
    "50%",
    "nothing",
    ids.subscription,
  ])
    for (const scope of [ids.organisation, null])
      expect(
        await dearStatements(pool, 300, (observed) => search(observed, scope, text)),
        text,
      ).toEqual([]);
  expect(await find("inv-")).toHaveLength(20);
});
