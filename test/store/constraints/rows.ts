/**
 * Organisations with one row of each kind, for tests of constraints, and SQL that changes or
 * repeats one of these rows.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { rowsOf } from "./seeded-rows.ts";

/** The ids of an organisation's rows, one of each kind. */
export interface SeededRows {
  readonly organisation: string;
  readonly key: string;
  readonly customer: string;
  readonly plan: string;
  readonly tieredPlan: string;
  readonly charge: string;
  readonly meter: string;
  readonly subscription: string;
  readonly invoice: string;
  readonly line: string;
  readonly creditNote: string;
  readonly creditNoteLine: string;
  readonly allocation: string;
  readonly invoiceJob: string;
  readonly contactJob: string;
  readonly amendment: string;
  readonly creditNoteJob: string;
  readonly allocationJob: string;
  readonly deferredLine: string;
  readonly unitChange: string;
  readonly termination: string;
  readonly restoration: string;
  readonly operator: string;
  readonly token: string;
  readonly session: string;
  readonly view: string;
  readonly auditEntry: string;
  readonly event: string;
  readonly endpoint: string;
  readonly delivery: string;
}

/** New ids for an organisation. */
export function newRows(): SeededRows {
  return {
    organisation: randomUUID(),
    key: randomUUID(),
    customer: randomUUID(),
    plan: randomUUID(),
    tieredPlan: randomUUID(),
    charge: randomUUID(),
    meter: randomUUID(),
    subscription: randomUUID(),
    invoice: randomUUID(),
    line: randomUUID(),
    creditNote: randomUUID(),
    creditNoteLine: randomUUID(),
    allocation: randomUUID(),
    invoiceJob: randomUUID(),
    contactJob: randomUUID(),
    amendment: randomUUID(),
    creditNoteJob: randomUUID(),
    allocationJob: randomUUID(),
    deferredLine: randomUUID(),
    unitChange: randomUUID(),
    termination: randomUUID(),
    restoration: randomUUID(),
    operator: randomUUID(),
    token: randomUUID(),
    session: randomUUID(),
    view: randomUUID(),
    auditEntry: randomUUID(),
    event: randomUUID(),
    endpoint: randomUUID(),
    delivery: randomUUID(),
  };
}

/** Tables that belong to no organisation. */
const ofNoOrganisation = [
  "organisations",
  "operators",
  "operator_tokens",
  "console_sessions",
  "console_sign_in_codes",
];

/** Writes the rows of `rowsOf` in one transaction. */
export async function seed(client: pg.Client, rows: SeededRows): Promise<void> {
  await client.query("BEGIN");
  for (const [table, columns] of rowsOf(rows)) {
    const own = ofNoOrganisation.includes(table) ? {} : { organisation_id: rows.organisation };
    const row = { ...own, ...columns };
    const places = Object.keys(row).map((_, index) => `$${index + 1}`);
    const text = `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${places})`;
    await client.query(text, Object.values(row));
  }
  await client.query("COMMIT");
}

/** Returns SQL that sets columns of one row. `where` is its id, or a condition. */
export function change(table: string, where: string, assignments: string): string {
  return `UPDATE ${table} SET ${assignments} WHERE ${conditionOf(where)}`;
}

/** Tables with a sequence in `seq`. The further ones below have only an id. */
const counted = [
  "organisations",
  "api_keys",
  "operators",
  "operator_tokens",
  "audit_log",
  "customers",
  "plans",
  "charges",
  "meters",
  "subscriptions",
  "invoices",
  "credit_notes",
  "ledger_jobs",
  "deferred_lines",
  "unit_changes",
  "events",
  "webhook_endpoints",
  "webhook_deliveries",
];
const withId = [
  ...counted,
  "invoice_lines",
  "credit_note_lines",
  "allocations",
  "console_sessions",
  "saved_views",
];

/** The table that owns the sequence. Both kinds of documents share one. */
const countedBy = (table: string) => (table === "credit_notes" ? "invoices" : table);

/** Returns SQL that repeats a row with another id and `seq`, and with these columns. */
export function another(
  table: string,
  where: string,
  columns: Readonly<Record<string, unknown>> = {},
): string {
  const own = withId.includes(table) && columns.id === undefined ? { id: randomUUID() } : {};
  const json = JSON.stringify({ ...own, ...columns }).replaceAll("'", "''");
  const place =
    counted.includes(table) && columns.seq === undefined
      ? ` || jsonb_build_object('seq',
          nextval(pg_get_serial_sequence('${countedBy(table)}', 'seq')))`
      : columns.seq === "same"
        ? " - 'seq'"
        : "";
  return `INSERT INTO ${table} SELECT (jsonb_populate_record(t, '${json}'::jsonb${place})).*
    FROM ${table} t WHERE ${conditionOf(where)}`;
}

function conditionOf(where: string): string {
  return where.includes(" ") ? where : `id = '${where}'`;
}
