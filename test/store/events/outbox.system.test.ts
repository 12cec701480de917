/**
 * A change of a shown column writes an outbox entry of its object in the same transaction. A change
 * of another column writes none. EVENT-1.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { describe, expect } from "vitest";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { shownTexts } from "../../support/published-events.ts";
import { another, change, newRows, seed } from "../constraints/rows.ts";

const a = newRows();
/** Dates as text, as the store has them. */
const getTypeParser = ((oid: number, format?: "text" | "binary") =>
  oid === 1082 ? (text: string) => text : pg.types.getTypeParser(oid, format as "text")) as never;

const test = databaseTest.extend("client", perFile, async ({ database }, { onCleanup }) => {
  const client = new pg.Client({ connectionString: database.url, types: { getTypeParser } });
  onCleanup(() => stopInTime(() => client.end()));
  await client.connect();
  await seed(client, a);
  return client;
});

/**
 * A change of each column, with the further columns that the database requires. `false`: it never
 * changes, or only with another column. The rows are never committed, so that no constraint at the
 * end of a transaction interferes.
 */
type Changes = Readonly<Record<string, string | readonly string[] | false>>;

const [never, withAnother] = [false, false] as const;

const changes: Readonly<Record<string, Changes>> = {
  customers: {
    id: never,
    organisation_id: never,
    seq: never,
    created_at: never,
    code: "code = 'OTHER'",
    name: "name = 'Other'",
    company_name: "company_name = 'Acme Ltd'",
    first_name: "first_name = 'Ada'",
    last_name: "last_name = 'Lovelace'",
    email: "email = 'b@acme.example'",
    status: "status = 'inactive'",
    ledger_contact_id: "ledger_contact_id = 'other'",
    request_hash: "request_hash = '\\x00'",
    deactivated_at: "deactivated_at = now()",
    // Shown nowhere. An erasure changes shown columns too.
    erased_at: "erased_at = now()",
    ledger_updated_at: "ledger_updated_at = now()",
  },
  subscriptions: {
    id: never,
    organisation_id: never,
    seq: never,
    customer_id: never,
    plan_id: never,
    currency: never,
    interval_unit: never,
    interval_count: never,
    timezone: never,
    created_at: never,
    status: ["status = 'pending'", "status = 'complete', end_date = '2026-03-15', due_at = NULL"],
    start_date: "start_date = '2026-01-14'",
    billing_day: "billing_day = 16",
    current_period: "current_period = 0",
    renewal_date: "renewal_date = '2026-04-15'",
    end_date: "end_date = '2026-03-15', end_after_cycles = 2",
    cancel_at_period_end: "cancel_at_period_end = true, end_date = '2026-03-15'",
    units: "units = 3",
    minimum_units: "minimum_units = 1",
    discount_percent: "discount_percent = 10",
    price_override: "price_override = 5",
    end_after_cycles: "end_after_cycles = 12, end_date = '2027-01-15'",
    label: "label = 'Other'",
    invoice_reference: "invoice_reference = 'PO 2'",
    request_hash: "request_hash = '\\x01'",
    due_at: "due_at = now()",
    parked_attempts: "parked_attempts = 1",
    parked_reason: "parked_reason = 'no', parked_until = now()",
    parked_until: withAnother,
    ended_at: "ended_at = now(), status = 'ended', end_date = '2026-03-01', due_at = NULL",
    usage_bill: "usage_bill = 2",
    usage_billed: "usage_billed = 0",
    requested_by: "requested_by = gen_random_uuid()",
    recorded_at: "recorded_at = now()",
  },
  invoices: {
    id: never,
    organisation_id: never,
    seq: never,
    customer_id: never,
    subscription_id: never,
    currency: never,
    type: never,
    created_at: never,
    number: "number = 'OTHER'",
    reference: "reference = 'PO 2'",
    status: ["approved", "paid", "voided", "deleted", "scheduled"].map(
      (status) => `status = '${status}'`,
    ),
    subtotal: "subtotal = 26",
    total: "total = 30",
    amount_due: "amount_due = 20",
    issue_date: "issue_date = '2026-01-16'",
    due_date: "due_date = '2026-01-30'",
    period_index: withAnother,
    period_start: "period_start = '2026-01-16'",
    period_end: "period_end = '2026-02-16'",
    sent: "sent = true",
    ledger_invoice_id: "ledger_invoice_id = 'other'",
    sync_error: "sync_error = 'It is paid.'",
    amending_from:
      "amending_from = jsonb_build_object('units', 2, 'description', '', 'unit_price', 1, " +
      "'amount', 1, 'billed_units', 2)",
    ledger_reported_at: "ledger_reported_at = now()",
    ledger_updated_at: "ledger_updated_at = now()",
    ledger_subtotal: "ledger_subtotal = 30",
    ledger_drift: "ledger_drift = jsonb_build_object('currency', 'EUR')",
    ledger_number: "ledger_number = 'I2026-1'",
  },
  invoice_lines: {
    id: never,
    organisation_id: never,
    // Moved with its amount, with entries of both invoices: test/faults/units-closed-amendments.
    invoice_id: never,
    // Shown by the order of lines.
    position: withAnother,
    kind: "kind = 'usage'",
    name: "name = 'Other'",
    description: "description = 'Other'",
    units: "units = 3",
    quantity: "quantity = 2.5",
    unit_price: "unit_price = 13",
    amount: "amount = 26",
    period_start: "period_start = '2026-01-16'",
    period_end: "period_end = '2026-02-16'",
    from_units:
      "kind = 'proration', from_units = 1, to_units = 2, days_remaining = 3, days_in_period = 31",
    to_units: withAnother,
    days_remaining: withAnother,
    days_in_period: withAnother,
    charge_id: withAnother,
    revenue_account: "revenue_account = '260'",
    tax_type: "tax_type = 'NONE'",
    amending: "amending = true",
    ledger_line_id: "ledger_line_id = 'other'",
    meter_id: withAnother,
    // Written with the amount that they explain.
    facts: withAnother,
  },
  credit_notes: {
    id: never,
    organisation_id: never,
    seq: never,
    customer_id: never,
    subscription_id: never,
    currency: never,
    created_at: never,
    number: "number = 'OTHER'",
    reference: "reference = 'PO 2'",
    status: ["paid", "voided", "deleted", "scheduled"].map((status) => `status = '${status}'`),
    credit_note_date: "credit_note_date = now() + interval '1 day'",
    subtotal: "subtotal = 6",
    total: "total = 6",
    remaining_credit: "remaining_credit = 3",
    sent: "sent = true",
    ledger_credit_note_id: "ledger_credit_note_id = 'other'",
    sync_error: "sync_error = 'no', status = 'not_in_external'",
    applied_elsewhere: "applied_elsewhere = 1",
    ledger_reported_at: "ledger_reported_at = now()",
    ledger_updated_at: "ledger_updated_at = now()",
    ledger_subtotal: "ledger_subtotal = 6",
    ledger_drift: "ledger_drift = jsonb_build_object('currency', 'EUR')",
    ledger_number: "ledger_number = 'I2026-1'",
  },
  allocations: {
    id: never,
    organisation_id: never,
    credit_note_id: never,
    created_at: never,
    invoice_id: withAnother,
    amount: "amount = 0.5",
    date: "date = now() + interval '1 day'",
    status: "status = 'removed'",
    sync_status: "sync_status = 'failed'",
    ledger_allocation_id: "ledger_allocation_id = 'other'",
  },
  // A credit note's lines stay as they were issued. Only their mapping changes, which is not shown.
  credit_note_lines: {
    id: never,
    organisation_id: never,
    credit_note_id: never,
    position: never,
    name: never,
    description: never,
    amount: never,
    effective_date: never,
    meter_id: never,
    reversed_invoice_id: never,
    facts: never,
    revenue_account: "revenue_account = '260'",
    tax_type: "tax_type = 'NONE'",
  },
};

const rowOf: Readonly<Record<string, string>> = {
  customers: a.customer,
  subscriptions: a.subscription,
  invoices: a.invoice,
  invoice_lines: a.line,
  credit_notes: a.creditNote,
  credit_note_lines: a.creditNoteLine,
  allocations: a.allocation,
};

/**
 * Runs a statement and rolls it back. Returns the objects whose retrieval it changed, and the
 * objects with an outbox entry, each as `kind id`.
 */
async function attempt(
  client: pg.Client,
  sql: string,
): Promise<{ readonly shown: readonly string[]; readonly entries: readonly string[] }> {
  const before = await shownTexts(client, a.organisation);
  await client.query("BEGIN; DELETE FROM outbox");
  try {
    await client.query(sql);
    const after = await shownTexts(client, a.organisation);
    const shown = Object.keys({ ...before, ...after }).filter(
      (name) => before[name] !== after[name],
    );
    const { rows } = await client.query<{ name: string }>(
      `SELECT DISTINCT object_kind || ' ' || object_id AS name FROM outbox
        WHERE organisation_id = $1`,
      [a.organisation],
    );
    return { shown: shown.sort(), entries: rows.map(({ name }) => name).sort() };
  } finally {
    await client.query("ROLLBACK");
  }
}

const updates = Object.entries(changes).flatMap(([table, columns]) =>
  Object.values(columns)
    .filter((assignments) => assignments !== false)
    .flat()
    .map((assignments) => change(table, rowOf[table] ?? "", assignments)),
);

test.for(updates)("an entry is written exactly if the retrieval changes: %s", async (sql, {
  client,
}) => {
  const { shown, entries } = await attempt(client, sql);
  // A subscription shows its customer's code, which never changes once there is a subscription.
  const own = shown.filter(
    (name) => !sql.includes("code = 'OTHER'") || name.startsWith("customer"),
  );
  expect(entries).toEqual(own);
});

test("every column of these tables is in the list of changes", async ({ client }) => {
  for (const [table, columns] of Object.entries(changes)) {
    const { rows } = await client.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name = $1`,
      [table],
    );
    expect(rows.map(({ name }) => name).sort(), table).toEqual(Object.keys(columns).sort());
  }
});

describe("inserted and deleted rows", () => {
  const free = {
    number: "OTHER",
    ledger_invoice_id: "other",
    ledger_credit_note_id: "other",
    code: "OTHER",
  };
  const added = (table: string, columns: object = {}) =>
    another(table, rowOf[table] ?? "", { ...free, ...columns });

  test.for([
    "customers",
    "subscriptions",
    "invoices",
    "credit_notes",
  ])("of %s have entries as new objects", async (table, { client }) => {
    const contact = table === "customers" ? { ledger_contact_id: "other" } : {};
    const type = table === "invoices" ? { type: "change" } : {};
    const { shown, entries } = await attempt(client, added(table, { ...contact, ...type }));
    expect(shown).toHaveLength(1);
    expect(entries).toEqual(shown);
  });

  test("of a document have entries of the document", async ({ client }) => {
    const invoice = [`invoice ${a.invoice}`];
    const note = [`credit_note ${a.creditNote}`];
    expect(
      (await attempt(client, added("invoice_lines", { position: 1, kind: "usage" }))).entries,
    ).toEqual(invoice);
    expect(
      (await attempt(client, `DELETE FROM invoice_lines WHERE id = '${a.line}'`)).entries,
    ).toEqual(invoice);
    expect((await attempt(client, added("allocations"))).entries).toEqual(note);
    expect(
      (await attempt(client, `DELETE FROM allocations WHERE id = '${a.allocation}'`)).entries,
    ).toEqual(note);
  });

  test("of a new invoice add no entry to the invoice's own", async ({ client }) => {
    const id = randomUUID();
    const line = added("invoice_lines", { invoice_id: id, position: 0 });
    await client.query("BEGIN; DELETE FROM outbox");
    try {
      await client.query(`${added("invoices", { id, type: "change" })}; ${line}`);
      const { rows } = await client.query("SELECT object_id AS id, change FROM outbox");
      expect(rows).toEqual([{ id, change: "created" }]);
    } finally {
      await client.query("ROLLBACK");
    }
  });

  test("that change places have entries of the document", async ({ client }) => {
    const second = added("invoice_lines", { position: 1, kind: "usage", name: "Other" });
    const { shown, entries } = await attempt(
      client,
      `${second}; ${change("invoice_lines", a.line, "position = 2")}`,
    );
    expect([shown, entries]).toEqual([[`invoice ${a.invoice}`], [`invoice ${a.invoice}`]]);
  });

  test("of a customer have entries once its contact exists", async ({ client }) => {
    const id = a.operator;
    const waiting = added("customers", { id, ledger_contact_id: null });
    expect((await attempt(client, waiting)).entries).toEqual([]);
    const { shown, entries } = await attempt(
      client,
      `${waiting}; ${change("customers", id, "ledger_contact_id = 'other'")}`,
    );
    expect([shown, entries]).toEqual([[`customer ${id}`], [`customer ${id}`]]);
  });
});
