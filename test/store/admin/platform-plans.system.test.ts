/**
 * The lists of operators at size: a search and a timeline read a few rows, also among thousands of
 * subscriptions, documents, jobs and events of the same organisation. ADMIN-11, ADMIN-12
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect } from "vitest";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createCustomerStore } from "../../../src/store/admin/customers.ts";
import { createPlatformObjects } from "../../../src/store/admin/platform/platform-objects.ts";
import { listTimeline } from "../../../src/store/admin/timeline/timeline.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { perFile } from "../../support/file-fixture.ts";
import { copiedId, copyRows } from "../../support/row-copies.ts";
import { tables } from "../../support/rows.ts";
import { type BillingFixture, billingTest } from "../billing/billing-fixture.ts";

/** Copies of one billed subscription, each with its rows in every table of the timeline. */
const copies = 4_000;

/** The columns of each copied table whose values are other ones in each copy, as SQL. */
const copied: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  subscriptions: { id: copiedId("id") },
  periods: { subscription_id: copiedId("subscription_id") },
  invoices: {
    id: copiedId("id"),
    subscription_id: copiedId("subscription_id"),
    number: "t.number || '-' || n",
    ledger_invoice_id: "md5(t.ledger_invoice_id || n)",
  },
  ledger_jobs: {
    id: copiedId("id"),
    subscription_id: copiedId("subscription_id"),
    invoice_id: copiedId("invoice_id"),
  },
  events: { id: copiedId("id"), object_id: copiedId("object_id") },
  customers: {
    id: copiedId("id"),
    code: "t.code || '-' || n",
    name: "'Company ' || n",
    ledger_contact_id: "md5(t.ledger_contact_id || n)",
  },
};

interface Sized {
  readonly fixture: BillingFixture;
  readonly organisation: string;
  readonly id: string;
}

const test = billingTest.extend("sized", perFile, async ({ fixture }): Promise<Sized> => {
  const { pool } = fixture;
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation, { label: "Head office" });
  await tables(pool).ledgerJob.updateMany({
    where: { organisationId: organisation },
    data: { state: "done", finishedAt: new Date() },
  });
  await pool.query(
    `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
      VALUES (gen_random_uuid(), $1, 'subscription.created', 'subscription', $2, 1, '{}')`,
    [organisation, id],
  );
  await inTransaction(pool, async (client) => {
    // The copies have no lines, which the rules of the tables would refuse.
    await client.query("SET LOCAL session_replication_role = replica");
    for (const [table, values] of Object.entries(copied))
      await copyRows(client, { organisationId: organisation, table, copies, values });
  });
  for (const table of Object.keys(copied)) await pool.query(`ANALYZE ${table}`);
  return { fixture, organisation, id };
});

interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The rows that all scans of a plan read, those that they drop included. */
function scannedBy(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, one) => sum + scannedBy(one), 0);
  if (!/(?<!CTE |Subquery )Scan$/.test(node["Node Type"])) return below;
  const read = (node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0);
  return below + read * (node["Actual Loops"] ?? 1);
}

/** Runs reads over a pool that also counts the rows which each statement reads. */
async function rowsRead(
  pool: pg.Pool,
  read: (counting: pg.Pool) => Promise<unknown>,
  modes: readonly string[] = ["force_custom_plan", "force_generic_plan"],
): Promise<number> {
  const sent: pg.QueryConfig[] = [];
  const query = (statement: pg.QueryConfig) => {
    sent.push(statement);
    return pool.query(statement);
  };
  await read({ query } as unknown as pg.Pool);
  let count = 0;
  for (const { text, values = [] } of sent) {
    for (const mode of modes) {
      await inTransaction(pool, async (client) => {
        await client.query(`SET LOCAL plan_cache_mode = ${mode}`);
        await client.query(`PREPARE measured AS ${text}`);
        const { rows } = await client.query(
          `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE measured (${values.map(literal).join(", ")})`,
        );
        await client.query("DEALLOCATE measured");
        count = Math.max(count, scannedBy(rows[0]["QUERY PLAN"][0].Plan));
      });
    }
  }
  expect(sent.length).toBeGreaterThan(0);
  return count;
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.join(",")}}`);
  return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value));
}

const page = { limit: 25, startingAfter: null };
const anySubscription = { status: null };
const anyDocument = { statuses: [] };
const anyEvent = { since: null, until: null };

test("a search reads a few rows among thousands", async ({ sized }) => {
  const { fixture, organisation, id } = sized;
  const { pool } = fixture;
  const count = (read: (objects: ReturnType<typeof createPlatformObjects>) => Promise<unknown>) =>
    rowsRead(pool, (counting) => read(createPlatformObjects(counting)));
  const of = organisation;
  const [invoice] = await fixture.invoices(id);
  const number = invoice?.number ?? "";
  // Each subscription of a page has its customer and its plan.
  const fewRows = 250;
  expect(
    await count(({ subscriptions: all }) => all.list(of, { ...anySubscription, number }, page)),
  ).toBeLessThan(fewRows);
  const code = { ...anySubscription, customerCode: "ACME" };
  expect(await count(({ subscriptions: all }) => all.list(of, code, page))).toBeLessThan(fewRows);
  for (const search of [{ number }, { subscription: id }, { customerCode: "ACME" }])
    expect(
      await count(({ invoices }) => invoices.list(of, { ...anyDocument, ...search }, page)),
      JSON.stringify(search),
    ).toBeLessThan(fewRows);
  const ofObject = { ...anyEvent, object: id };
  expect(await count(({ events }) => events.list(of, ofObject, page))).toBeLessThan(fewRows);
});

test("a day and a plan read a few rows among thousands", async ({ sized }) => {
  const { fixture, organisation: of } = sized;
  const { pool } = fixture;
  const [from, to] = ["2030-01-01", "2030-01-31"];
  const renewal = { renewalFrom: from, renewalTo: to };
  const issued = { issuedFrom: from, issuedTo: to };
  const count = (read: (objects: ReturnType<typeof createPlatformObjects>) => Promise<unknown>) =>
    rowsRead(pool, (counting) => read(createPlatformObjects(counting)), ["force_custom_plan"]);
  const few = 10;
  for (const search of [renewal, { plan: randomUUID() }])
    expect(
      await count(({ subscriptions }) =>
        subscriptions.list(of, { ...anySubscription, ...search }, page),
      ),
      JSON.stringify(search),
    ).toBeLessThan(few);
  for (const search of [issued, { dueFrom: from, dueTo: to }, renewal])
    expect(
      await count(({ invoices }) => invoices.list(of, { ...anyDocument, ...search }, page)),
      JSON.stringify(search),
    ).toBeLessThan(few);
  expect(
    await count(({ creditNotes }) => creditNotes.list(of, { ...anyDocument, ...issued }, page)),
  ).toBeLessThan(few);
});

test("a part of a name is found by one pass over the organisation's customers", async ({
  sized,
}) => {
  const { fixture, organisation } = sized;
  const { pool } = fixture;
  const named = { code: null, email: null, status: null, search: "nobody" };
  const read = await rowsRead(pool, (counting) =>
    createCustomerStore(counting, createChanges(pool)).list(organisation, named, page),
  );
  expect(read).toBeLessThan((await tables(pool).customer.count()) + 100);
});

test("a label is found by one pass over the organisation's subscriptions", async ({ sized }) => {
  const { fixture, organisation } = sized;
  const search = { ...anySubscription, label: "nowhere" };
  const read = await rowsRead(fixture.pool, (pool) =>
    createPlatformObjects(pool).subscriptions.list(organisation, search, page),
  );
  // With their customers and plans.
  expect(read).toBeLessThan((copies + 1) * 3 + 100);
});

test("a timeline reads the rows of its subscription", async ({ sized }) => {
  const { fixture, organisation, id } = sized;
  const query = { limit: 25, after: null, since: null, kinds: null };
  const found = await listTimeline(fixture.pool, organisation, id, query);
  expect(found?.data.map(({ kind }) => kind)).toEqual(["published", "posted", "issued", "created"]);
  const read = await rowsRead(fixture.pool, (pool) => listTimeline(pool, organisation, id, query));
  expect(read).toBeLessThan(200);
});
