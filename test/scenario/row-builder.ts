/**
 * Rows that tests insert directly because the API cannot create them: catalogue entries and
 * credit notes. Reads the rows that a refused request leaves as they were.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import type { TestSystem } from "../support/system.ts";

/**
 * Another plan, charge or customer like the one with this code, except for these columns. Its id.
 */
export async function addLike(
  pool: pg.Pool,
  table: "plans" | "charges" | "customers",
  organisationId: string,
  code: string,
  changes: Record<string, unknown>,
): Promise<string> {
  const id = randomUUID();
  const own = table === "customers" ? { ledger_contact_id: randomUUID() } : {};
  await pool.query(
    `INSERT INTO ${table} SELECT (jsonb_populate_record(t, $3::jsonb
       || jsonb_build_object('seq', nextval(pg_get_serial_sequence('${table}', 'seq'))))).*
     FROM ${table} t WHERE organisation_id = $1 AND code = $2`,
    [organisationId, code, JSON.stringify({ id, ...own, ...changes })],
  );
  return id;
}

/** The bands of a plan: bound, unit price, flat price. */
export async function addTiers(
  pool: pg.Pool,
  organisationId: string,
  planId: string,
  tiers: readonly (readonly [number | null, string | null, string | null])[],
): Promise<void> {
  for (const [position, tier] of tiers.entries()) {
    await pool.query("INSERT INTO plan_tiers VALUES ($1, $2, $3, $4, $5, $6)", [
      organisationId,
      planId,
      position,
      ...tier,
    ]);
  }
}

/** What a credit note of a test is; the rest of it is fixed. */
interface TestCreditNote {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly number: string;
  readonly status?: string;
  readonly total?: string;
  readonly remaining?: string;
  readonly reference?: string;
  readonly syncError?: string | null;
  /** The invoice that the difference of total and remaining was applied to. */
  readonly invoiceId?: string | null;
}

/**
 * Adds a credit note with one line and, if `invoiceId` is present, one allocation. Returns its id.
 */
export async function addCreditNote(
  pool: pg.Pool,
  organisationId: string,
  note: TestCreditNote,
): Promise<string> {
  const {
    total = "12.00",
    remaining = total,
    status = "approved",
    invoiceId = null,
    syncError = null,
  } = note;
  const id = randomUUID();
  const ledgerId = syncError === null ? randomUUID() : null;
  // One statement, because a note, its lines and its allocations are checked together.
  await pool.query(
    `WITH note AS (
       INSERT INTO credit_notes (id, organisation_id, customer_id, subscription_id, number,
         reference, status, currency,
         credit_note_date, subtotal, total, remaining_credit, ledger_credit_note_id, sync_error,
           created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, 'NZD', '2026-03-16T00:00:00Z', $8::numeric, $8::numeric,
         $9::numeric, $10, $11,
         '2026-03-16T09:30:00Z')
     ), line AS (
       INSERT INTO credit_note_lines (id, organisation_id, credit_note_id, position, name,
         description, amount, effective_date)
       VALUES (gen_random_uuid(), $2, $1, 0, 'Scale', '10 to 11 seats', $8::numeric,
         '2026-03-16T00:00:00Z')
     )
     INSERT INTO allocations (id, organisation_id, credit_note_id, invoice_id, amount, date,
       status, sync_status)
     SELECT gen_random_uuid(), $2, $1, $12::uuid, $8::numeric - $9::numeric,
       '2026-04-01T00:00:00Z', 'active', 'synced'
     WHERE $12::uuid IS NOT NULL`,
    [
      id,
      organisationId,
      note.customerId,
      note.subscriptionId,
      note.number,
      note.reference ?? "",
      status,
      total,
      remaining,
      ledgerId,
      syncError,
      invoiceId,
    ],
  );
  return id;
}

/** What changes of units, ends and restorations write. */
const writtenTables = [
  "subscriptions",
  "periods",
  "invoices",
  "invoice_lines",
  "credit_notes",
  "deferred_lines",
  "unit_changes",
  "terminations",
  "removals",
  "restorations",
  "ledger_jobs",
  "document_counters",
];

/** Everything of an organisation that a request could write, as text. */
export async function rowsOf(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<string> {
  const rows = await Promise.all(
    writtenTables.map((table) =>
      system.pool.query(
        `SELECT to_jsonb(t)::text AS row FROM ${table} t WHERE organisation_id = $1 ORDER BY 1`,
        [organisationId],
      ),
    ),
  );
  return JSON.stringify(rows.map((one) => one.rows));
}
