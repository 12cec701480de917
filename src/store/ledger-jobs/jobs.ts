/**
 * Ledger jobs for the posting workflow. Jobs are leased, sent, and recorded together with their
 * documents. States: `ready` to be sent, `sending` under a lease, `uncertain` after a lost answer.
 * An uncertain job is looked up before anything is sent again (POSTING-2). `done`, `refused` and
 * `abandoned` are final.
 */

import type { FirstInvoiceStatus } from "../../domain/subscriptions/organisation-settings.ts";
import { statementName } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import { outcomesChannel } from "./job-notifications.ts";

/** What a job asks the ledger to do. */
export type JobKind = "create_invoice" | "create_credit_note" | "create_contact" | "import_contact";

/** The most documents in one call to the ledger (POSTING-3). */
export const groupSize = 50;

/** What every leased job has. `firstSentAt` is the time of its first request to the ledger. */
interface TakenRow {
  id: string;
  kind: JobKind;
  attempts: number;
  first_sent_at: Date;
  /** How often the ledger failed on it. Each time the next call has another idempotency key. */
  key_variant: number;
  /** How often its number was refused as taken and not found. */
  number_taken: number;
  /** A caller waits for it. */
  is_awaited: boolean;
}

/**
 * An invoice to create in the ledger. Dates are `YYYY-MM-DD`, amounts decimal text.
 * `is_contact_gone` and `skip_validation` are as in `domain/billing/ledger-validation.ts`.
 */
export interface InvoiceToSend extends TakenRow {
  readonly invoice_id: string;
  readonly number: string;
  readonly reference: string;
  readonly currency: string;
  readonly subtotal: string;
  readonly issue_date: string;
  readonly due_date: string;
  readonly contact_id: string;
  readonly is_contact_gone: boolean;
  readonly skip_validation: boolean;
  readonly first_status: FirstInvoiceStatus;
  readonly lines: readonly LineToSend[];
}

/**
 * A line of a document to create in the ledger. A credit note's line has null `units` and
 * `unit_price`.
 */
export interface LineToSend {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly units: number | null;
  readonly unit_price: string | null;
  readonly amount: string;
  readonly revenue_account: string | null;
  readonly tax_type: string | null;
}

/** A credit note to create in the ledger. Its date is `YYYY-MM-DD`, amounts are decimal text. */
export interface CreditNoteToSend extends TakenRow {
  readonly credit_note_id: string;
  readonly number: string;
  readonly reference: string;
  readonly currency: string;
  readonly subtotal: string;
  readonly issue_date: string;
  readonly contact_id: string;
  readonly is_contact_gone: boolean;
  readonly skip_validation: boolean;
  readonly lines: readonly LineToSend[];
}

/** A contact to create in the ledger, or to import from it (`ledger_contact_id`). */
export interface ContactToSend extends TakenRow {
  readonly customer_id: string;
  readonly code: string;
  readonly name: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly email: string;
  readonly wanted_contact_id: string | null;
}

// A customer that no operator deactivated is inactive because of its contact. If the contact was
// not synced for a day, the ledger decides (POSTING-5).
const evaluatedBy = `taken.skip_validation, (c.status = 'inactive' AND c.deactivated_at IS NULL AND EXISTS (SELECT 1 FROM ledger_sync_cursors w
    WHERE w.organisation_id = $1 AND w.swept_at > now() - interval '1 day')) AS is_contact_gone`;

const invoiceColumns = `taken.invoice_id, i.number, i.reference, i.currency, i.subtotal, i.issue_date, i.due_date,
  c.ledger_contact_id AS contact_id, ${evaluatedBy}, o.first_invoice_status AS first_status,
  (SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'description', l.description, 'units', l.units,
    'unit_price', l.unit_price::text, 'amount', l.amount::text, 'revenue_account', l.revenue_account, 'tax_type', l.tax_type)
    ORDER BY l.position) FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = i.id) AS lines`;

const invoiceJoins = `JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
  JOIN customers c ON c.organisation_id = $1 AND c.id = i.customer_id JOIN organisations o ON o.id = $1`;

// A credit note's day is stored as its midnight in UTC.
const creditNoteColumns = `taken.credit_note_id, n.number, n.reference, n.currency, n.subtotal,
  (n.credit_note_date AT TIME ZONE 'UTC')::date AS issue_date, c.ledger_contact_id AS contact_id, ${evaluatedBy},
  (SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'description', l.description, 'units', NULL, 'unit_price', NULL,
    'amount', l.amount::text, 'revenue_account', l.revenue_account, 'tax_type', l.tax_type)
    ORDER BY l.position) FROM credit_note_lines l WHERE l.organisation_id = $1 AND l.credit_note_id = n.id) AS lines`;

const creditNoteJoins = `JOIN credit_notes n ON n.organisation_id = $1 AND n.id = taken.credit_note_id
  JOIN customers c ON c.organisation_id = $1 AND c.id = n.customer_id`;

const contactColumns = `taken.customer_id, c.code, c.name, c.first_name, c.last_name, c.email, taken.contact_id AS wanted_contact_id`;

const contactJoins = "JOIN customers c ON c.organisation_id = $1 AND c.id = taken.customer_id";

/** Jobs to send, callers' first, and jobs whose answer was lost, to look up. */
export interface Taken<T> {
  readonly ready: readonly T[];
  readonly uncertain: readonly T[];
}

/**
 * Takes up to `groupSize` waiting invoices of each state under a lease of `leaseMs`. One with an
 * expired lease becomes uncertain: its last attempt may have got an answer. Invoices with a waiting
 * caller come first.
 */
export async function takeInvoices(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
): Promise<Taken<InvoiceToSend>> {
  return take(pool, organisationId, ["create_invoice"], leaseMs, invoiceColumns, invoiceJoins);
}

/** Takes credit notes, as `takeInvoices` takes invoices. */
export async function takeCreditNotes(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
): Promise<Taken<CreditNoteToSend>> {
  return take(
    pool,
    organisationId,
    ["create_credit_note"],
    leaseMs,
    creditNoteColumns,
    creditNoteJoins,
  );
}

/** Takes contacts, as `takeInvoices` takes invoices. */
export async function takeContacts(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
): Promise<Taken<ContactToSend>> {
  return take(
    pool,
    organisationId,
    ["create_contact", "import_contact"],
    leaseMs,
    contactColumns,
    contactJoins,
  );
}

async function take<T extends TakenRow>(
  pool: Pool,
  organisationId: string,
  kinds: readonly JobKind[],
  leaseMs: number,
  columns: string,
  joins: string,
): Promise<Taken<T>> {
  const text = `
    WITH waiting AS (
      SELECT id FROM ledger_jobs
      WHERE organisation_id = $1 AND kind = ANY ($2) AND state = 'ready' AND not_before <= now()
      ORDER BY (awaited_until IS NOT NULL AND awaited_until > now()) DESC, seq LIMIT ${groupSize} FOR UPDATE SKIP LOCKED
    ), lost AS (
      SELECT id FROM ledger_jobs
      WHERE organisation_id = $1 AND kind = ANY ($2) AND state IN ('sending', 'uncertain') AND lease_until < now()
      ORDER BY seq LIMIT ${groupSize} FOR UPDATE SKIP LOCKED
    ), picked AS (
      SELECT id, true AS is_ready FROM waiting UNION ALL SELECT id, false FROM lost
    ), taken AS (
      UPDATE ledger_jobs t SET state = CASE WHEN picked.is_ready THEN 'sending' ELSE 'uncertain' END,
        first_sent_at = coalesce(t.first_sent_at, now()), lease_until = now() + $3 * interval '1 millisecond',
        attempts = t.attempts + 1
      FROM picked WHERE t.organisation_id = $1 AND t.id = picked.id RETURNING t.*
    )
    SELECT taken.id, taken.kind, taken.state, taken.seq, taken.attempts, taken.first_sent_at,
      taken.key_variant, taken.number_taken,
      coalesce(taken.awaited_until > now(), false) AS is_awaited, ${columns}
    FROM taken ${joins} ORDER BY taken.seq`;
  const { rows } = await pool.query<T & { state: string }>({
    name: statementName(text),
    text,
    values: [organisationId, kinds, leaseMs],
  });
  return {
    ready: rows.filter(({ state }) => state === "sending"),
    uncertain: rows.filter(({ state }) => state === "uncertain"),
  };
}

/**
 * Reschedules every ready job of an organisation whose connection is paused, and notifies waiting
 * callers.
 */
export async function reschedule(
  pool: Pool,
  organisationId: string,
  pauseMs: number,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "reschedule_jobs",
    // A row that is locked at this moment is skipped. Sending it will meet the pause.
    text: `WITH until AS (SELECT now() + $2 * interval '1 millisecond' AS instant), waiting AS (
        SELECT o.id FROM ledger_jobs o, until
        WHERE o.organisation_id = $1 AND o.state = 'ready' AND o.not_before < until.instant
        FOR NO KEY UPDATE OF o SKIP LOCKED
      ), op AS (
        UPDATE ledger_jobs o SET not_before = until.instant, reason = $3 FROM until, waiting
        WHERE o.organisation_id = $1 AND o.id = waiting.id RETURNING o.id
      ), parts AS (SELECT id, (row_number() OVER () - 1) / 100 AS part FROM op)
      SELECT pg_notify('${outcomesChannel}', ids) FROM (SELECT string_agg(id::text, ',') AS ids FROM parts GROUP BY part) p`,
    values: [organisationId, pauseMs, reason],
  });
}

/**
 * The kinds that the posting workflow handles. Amendments, allocations and ends have their own
 * workflows (POSTING-7).
 */
export const postingKinds = [
  "create_invoice",
  "create_contact",
  "import_contact",
  "create_credit_note",
];

/**
 * An organisation's open posting jobs: how many, and milliseconds until the next can be tried (null
 * if there are none).
 */
export async function readWaiting(
  pool: Pool,
  organisationId: string,
): Promise<{ readonly waiting: number; readonly nextInMs: number | null }> {
  const { rows } = await pool.query<{ waiting: number; next_in_ms: number | null }>({
    name: "read_waiting",
    text: `SELECT count(*)::int AS waiting,
        CASE WHEN count(*) > 0 THEN greatest(0, ceil(1000 * extract(epoch FROM
          min(CASE WHEN state = 'ready' THEN not_before ELSE lease_until END) - now())))::float8 END AS next_in_ms
      FROM ledger_jobs WHERE organisation_id = $1 AND state IN ('ready', 'sending', 'uncertain') AND kind = ANY ($2)`,
    values: [organisationId, postingKinds],
  });
  return { waiting: rows[0]?.waiting ?? 0, nextInMs: rows[0]?.next_in_ms ?? null };
}

/**
 * Abandons a contact's job that was never sent. True if it did. The new customer is deleted with
 * it, because nothing was decided. A retry starts from nothing.
 */
export async function abandonContact(
  pool: Pool,
  organisationId: string,
  jobId: string,
): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>({
    name: "abandon_contact",
    text: `WITH op AS (
        UPDATE ledger_jobs SET state = 'abandoned', finished_at = now()
        WHERE organisation_id = $1 AND id = $2 AND state = 'ready' AND customer_id IS NOT NULL RETURNING id, customer_id
      ), dropped AS (
        DELETE FROM customers c USING op WHERE c.organisation_id = $1 AND c.id = op.customer_id AND c.ledger_contact_id IS NULL
      ) SELECT id FROM op`,
    values: [organisationId, jobId],
  });
  return rows.length > 0;
}
