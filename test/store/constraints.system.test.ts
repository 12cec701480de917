/** The database itself refuses what must never be stored, whatever the code above it does: every rule, broken once. */
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../support/database.ts";
import {
  documentFaults,
  type Faults,
  repeatFaults,
  subscriptionFaults,
  tenantFaults,
  valueFaults,
} from "./constraint-faults.ts";
import { another, change, newRows, seed } from "./constraint-rows.ts";

const a = newRows();
const b = newRows();
const faults: Faults = {
  ...valueFaults(a),
  ...subscriptionFaults(a),
  ...documentFaults(a),
  ...repeatFaults(a),
  ...tenantFaults(a, b),
};
const cases = Object.entries(faults).flatMap(([rule, statements]) => statements.map((sql) => [rule, sql] as const));

/** Raised by hand at the end of the transaction, so without the name of a constraint. */
const sums: Readonly<Record<string, RegExp>> = {
  invoices_subtotal: /is not the sum of its lines/,
  invoice_lines_subtotal: /is not the sum of its lines/,
};

let database: FreshDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await seed(client, a);
  await seed(client, b);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Runs statements up to the point where they would be committed, and takes them back; the error that they meet. */
async function attempt(sql: string): Promise<pg.DatabaseError | null> {
  await client.query("BEGIN");
  try {
    await client.query(`${sql}; SET CONSTRAINTS ALL IMMEDIATE`);
    return null;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error;
    throw error;
  } finally {
    await client.query("ROLLBACK");
  }
}

test.each(cases)("%s refuses: %s", async (rule, sql) => {
  const error = await attempt(sql);
  expect(error, "nothing was refused").not.toBeNull();
  expect(error?.code, error?.message).toMatch(/^235(03|05|14)$/);
  const sum = sums[rule];
  if (sum !== undefined) expect(error?.message).toMatch(sum);
  else expect(error?.constraint, error?.message).toBe(rule);
});

test("every check, foreign key, unique index and trigger of the schema is broken above, and no other is named", async () => {
  // A unique index that a foreign key refers to repeats the primary key, and cannot be dropped without that foreign key.
  const { rows } = await client.query<{ name: string }>(`
    SELECT conname AS name FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'u', 'x', 't')
      AND conrelid <> 0 AND conrelid <> coalesce(to_regclass('_prisma_migrations'), 0)
    UNION
    SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND NOT i.indisprimary
      AND NOT EXISTS (SELECT 1 FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = i.indexrelid)
    UNION
    SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal`);
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(faults).sort());
});

test("every table but the migrations' own belongs to an organisation by a foreign key, or to a key of one", async () => {
  const { rows } = await client.query<{ name: string }>(`
    SELECT c.relname AS name FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND NOT EXISTS (
      SELECT 1 FROM pg_constraint f JOIN pg_attribute o ON o.attrelid = c.oid AND o.attnum = ANY (f.conkey)
      WHERE f.contype = 'f' AND f.conrelid = c.oid AND o.attname = 'organisation_id')
    ORDER BY 1`);
  expect(rows.map(({ name }) => name)).toEqual(["_prisma_migrations", "organisations", "rate_windows"]);
});

test("a period whose invoice was voided or deleted can be billed again", async () => {
  for (const status of ["voided", "deleted"]) {
    const next = { number: "OTHER", ledger_invoice_id: "other", subtotal: 0 };
    const sql = `${change("invoices", a.invoice, `status = '${status}'`)}; ${another("invoices", a.invoice, { ...next, status: "draft" })}`;
    expect((await attempt(sql))?.message).toBeUndefined();
  }
});

test("an operation that has ended makes way for another one of its document", async () => {
  const ended = change("operations", a.invoiceOperation, "state = 'done', settled_at = now()");
  const again = another("operations", a.invoiceOperation, { state: "ready", settled_at: null });
  expect((await attempt(`${ended}; ${again}`))?.message).toBeUndefined();
});

test("an invoice and its lines may change together, since sums are judged at the end", async () => {
  const line = change("invoice_lines", a.line, "amount = 30");
  const invoice = change("invoices", a.invoice, "subtotal = 30");
  expect((await attempt(`${line}; ${invoice}`))?.message).toBeUndefined();
});
