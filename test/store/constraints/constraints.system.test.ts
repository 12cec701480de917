/** The database refuses rows that break an invariant: each constraint is broken once. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect } from "vitest";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { until } from "../../support/system.ts";
import { authorisationFaults } from "./authorisation.ts";
import { clockFaults } from "./clock.ts";
import { creditFaults, documentFaults } from "./documents.ts";
import {
  type Faults,
  repeatFaults,
  subscriptionFaults,
  tenantFaults,
  valueFaults,
} from "./faults.ts";
import { lifeFaults, lifeTenantFaults } from "./life.ts";
import { operatorFaults } from "./operators.ts";
import { another, change, newRows, seed } from "./rows.ts";
import { foreignDocumentFaults, unitsFaults, unitsTenantFaults } from "./units.ts";
import { usageFaults, usageTenantFaults } from "./usage.ts";
import { webhookFaults, webhookTenantFaults } from "./webhooks.ts";

const a = newRows();
const b = newRows();
const faults: Faults = {
  ...valueFaults(a),
  ...subscriptionFaults(a),
  ...documentFaults(a),
  ...creditFaults(a),
  ...repeatFaults(a),
  ...tenantFaults(a, b),
  ...operatorFaults(a),
  ...unitsFaults(a),
  ...unitsTenantFaults(a, b),
  ...foreignDocumentFaults(a),
  ...lifeFaults(a),
  ...lifeTenantFaults(a, b),
  ...clockFaults(a),
  ...authorisationFaults(a),
  ...usageFaults(a),
  ...usageTenantFaults(a, b),
  ...webhookFaults(a),
  ...webhookTenantFaults(a, b),
};
const cases = Object.entries(faults).flatMap(([rule, statements]) =>
  statements.map((sql) => [rule, sql] as const),
);

const test = databaseTest.extend("client", perFile, async ({ database }, { onCleanup }) => {
  const client = new pg.Client({ connectionString: database.url });
  onCleanup(() => stopInTime(() => client.end()));
  await client.connect();
  await seed(client, a);
  await seed(client, b);
  return client;
});

/** Runs statements with all deferred checks, rolls them back, and returns their error. */
async function attempt(client: pg.Client, sql: string): Promise<pg.DatabaseError | null> {
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

test.for(cases)("%s refuses: %s", async ([rule, sql], { client }) => {
  const error = await attempt(client, sql);
  expect(error, "nothing was refused").not.toBeNull();
  expect(error?.code, error?.message).toMatch(/^235(03|05|14)$/);
  expect(error?.constraint, error?.message).toBe(rule);
});

test("every check, key, unique index and trigger of the schema is broken once", async ({
  client,
}) => {
  // The triggers of the outbox refuse nothing: test/store/events/outbox.system.test.ts. Those that
  // sum usage do not either, and those that defer a check leave the refusal to it. A unique index
  // that a foreign key refers to repeats the primary key, and the foreign key requires it.
  const { rows } = await client.query<{ name: string }>(`
    SELECT conname AS name FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'u', 'x', 't')
      AND conrelid <> 0 AND conrelid <> coalesce(to_regclass('_prisma_migrations'), 0)
    UNION
    SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND NOT i.indisprimary
      AND NOT EXISTS (
        SELECT 1 FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = i.indexrelid)
    UNION
    SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
      AND tgfoid::regproc::text !~ '^(outbox|sum|defer|drop)_'`);
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(faults).sort());
});

test("every table except named ones refers to an organisation by a foreign key", async ({
  client,
}) => {
  const { rows } = await client.query<{ name: string }>(`
    SELECT c.relname AS name FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND NOT EXISTS (
      SELECT 1 FROM pg_constraint f
        JOIN pg_attribute o ON o.attrelid = c.oid AND o.attnum = ANY (f.conkey)
      WHERE f.contype = 'f' AND f.conrelid = c.oid AND o.attname = 'organisation_id')
    ORDER BY 1`);
  expect(rows.map(({ name }) => name)).toEqual([
    "_prisma_migrations",
    "console_sessions",
    "console_sign_in_codes",
    "operator_tokens",
    "operators",
    "organisations",
    // Entries live for a minute. Triggers write them with the organisation of the row that changed.
    "outbox",
    "rate_windows",
    // A trigger checks a batch of events against the subscriptions and meters of its organisation:
    // usage_events_of_plan.
    "usage_events",
    // One row, which only processes of the previous version use.
    "usage_hours_counted",
  ]);
});

test("a period whose invoice was voided or deleted can be billed again", async ({ client }) => {
  for (const status of ["voided", "deleted"]) {
    const next = { number: "OTHER", ledger_invoice_id: "other", subtotal: 0 };
    const closed = change("invoices", a.invoice, `status = '${status}'`);
    const again = another("invoices", a.invoice, { ...next, status: "draft" });
    expect((await attempt(client, `${closed}; ${again}`))?.message).toBeUndefined();
  }
});

test("a document can have another job after its job has ended", async ({ client }) => {
  const ended = change("ledger_jobs", a.invoiceJob, "state = 'done', finished_at = now()");
  const again = another("ledger_jobs", a.invoiceJob, { state: "ready", finished_at: null });
  expect((await attempt(client, `${ended}; ${again}`))?.message).toBeUndefined();
});

test("an invoice and its lines may change together: sums are checked at the end", async ({
  client,
}) => {
  const line = change("invoice_lines", a.line, "amount = 30");
  const invoice = change("invoices", a.invoice, "subtotal = 30");
  expect((await attempt(client, `${line}; ${invoice}`))?.message).toBeUndefined();
});

test("a refused amendment, allocation or credit note can be followed by another one", async ({
  client,
}) => {
  for (const id of [a.amendment, a.allocationJob, a.creditNoteJob]) {
    const ended = change(
      "ledger_jobs",
      id,
      "state = 'refused', finished_at = now(), reason = 'no', message = 'No'",
    );
    const again = another("ledger_jobs", id, {
      state: "ready",
      finished_at: null,
      reason: null,
      message: null,
    });
    expect((await attempt(client, `${ended}; ${again}`))?.message).toBeUndefined();
  }
});

test("a posted invoice may have the refusal of its last amendment", async ({ client }) => {
  expect(
    (await attempt(client, change("invoices", a.invoice, "sync_error = 'It is paid.'")))?.message,
  ).toBeUndefined();
});

test("invoices and credit notes share one sequence, so that they are ordered", async ({
  client,
}) => {
  const { rows } = await client.query<{ counter: string }>(
    `SELECT column_default AS counter FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name = 'seq'
        AND table_name IN ('invoices', 'credit_notes')`,
  );
  expect(rows.map(({ counter }) => counter)).toEqual(
    Array(2).fill("nextval('invoices_seq_seq'::regclass)"),
  );
});

test("a credit note, its lines and its allocations may change together", async ({ client }) => {
  const line = change("credit_note_lines", a.creditNoteLine, "amount = 20");
  const note = change("credit_notes", a.creditNote, "subtotal = 20, total = 20");
  const allocation = change("allocations", a.allocation, "amount = 16");
  expect((await attempt(client, `${line}; ${note}; ${allocation}`))?.message).toBeUndefined();
});

test("credit applied outside the service is neither remaining nor allocated", async ({
  client,
}) => {
  const note = change(
    "credit_notes",
    a.creditNote,
    "remaining_credit = 0.5, applied_elsewhere = 3.5",
  );
  expect((await attempt(client, note))?.message).toBeUndefined();
});

test("of two transactions that credit one invoice, the later sees the earlier one", async ({
  database,
  client,
}) => {
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  const invoice = randomUUID();
  const columns = {
    id: invoice,
    type: "change",
    number: "SHARED",
    ledger_invoice_id: "shared",
    subtotal: 0,
  };
  await client.query(another("invoices", a.invoice, columns));
  // A note of 20 applied to an invoice of 25: one fits, two do not.
  const apply = () => {
    const note = randomUUID();
    const own = {
      id: note,
      number: note,
      ledger_credit_note_id: note,
      subtotal: 20,
      total: 20,
      remaining_credit: 0,
    };
    return [
      another("credit_notes", a.creditNote, own),
      another("credit_note_lines", a.creditNoteLine, { credit_note_id: note, amount: 20 }),
      another("allocations", a.allocation, {
        credit_note_id: note,
        invoice_id: invoice,
        amount: 20,
      }),
    ].join("; ");
  };
  try {
    await client.query(`BEGIN; ${apply()}; SET CONSTRAINTS ALL IMMEDIATE`);
    await other.query(`BEGIN; ${apply()}`);
    const { rows } = await other.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    let ended = false;
    const later = other
      .query("COMMIT")
      .catch((error: unknown) => error)
      .finally(() => {
        ended = true;
      });
    await until("the later one waits for the earlier one", async () => {
      const blocked = "SELECT cardinality(pg_blocking_pids($1)) > 0 AS yes";
      return (
        ended ||
        (await client.query<{ yes: boolean }>(blocked, [rows[0]?.pid])).rows[0]?.yes === true
      );
    });
    await client.query("COMMIT");
    expect(await later).toMatchObject({ constraint: "allocations_within_invoice" });
  } finally {
    await other.end();
  }
});
