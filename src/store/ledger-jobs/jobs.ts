/**
 * Operation rows as the ledger workflow works them off: taken under a lease, sent, and settled together with the documents
 * that they are about. The states: `ready` to be sent; `sending` under a lease; `uncertain`, the answer lost, to be looked up
 * before anything is sent again; `done`, `refused` and `abandoned` are final. Facts: facts-ledger section 5.4.
 */
import type pg from "pg";
import type { FirstInvoiceStatus } from "../../domain/subscriptions/organisation-settings.ts";
import { statementName } from "../database/page.ts";
import { outcomesChannel } from "./job-notifications.ts";

/** What an operation asks of the ledger. */
export type JobKind = "create_invoice" | "create_credit_note" | "create_contact" | "import_contact";

/** How many documents one call to the ledger carries at most. Facts: facts-ledger section 1.1, Size. */
export const groupSize = 50;

/** A taken operation: what every kind has. `firstSentAt` is when the ledger was first asked for it. */
interface TakenRow {
  id: string;
  kind: JobKind;
  attempts: number;
  first_sent_at: Date;
  /** How often the ledger has answered it badly: each time the next call has another idempotency key. */
  key_variant: number;
  /** How often its number was refused as taken and not found. */
  number_taken: number;
  /** Somebody waits for it. */
  is_awaited: boolean;
}

/**
 * An invoice to be made in the ledger; dates `YYYY-MM-DD`, amounts decimal text. `is_contact_gone`, `skip_validation` as in
 * `domain/preflight.ts`.
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

/** A line of a document to be made in the ledger; of a credit note's line `units` and `unit_price` are null. */
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

/** A credit note to be made in the ledger; its date `YYYY-MM-DD`, amounts decimal text. */
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

/** A contact to be made in the ledger, or to be taken over from it (`ledger_contact_id`). */
export interface ContactToSend extends TakenRow {
  readonly customer_id: string;
  readonly code: string;
  readonly name: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly email: string;
  readonly wanted_contact_id: string | null;
}

// A customer whom no operator made inactive is so by its contact; what nobody has looked at for a day is the ledger's to judge.
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

/** Operations to send, callers' first; and operations whose answer was lost, to look up. */
export interface Taken<T> {
  readonly ready: readonly T[];
  readonly uncertain: readonly T[];
}

/**
 * Takes what waits of one kind, up to `groupSize` of each state, under a lease of `leaseMs`. One whose lease ran out is
 * uncertain: whoever had it may have been answered. Those for whom a caller waits come first.
 */
export async function takeInvoices(
  pool: pg.Pool,
  organisationId: string,
  leaseMs: number,
): Promise<Taken<InvoiceToSend>> {
  return take(pool, organisationId, ["create_invoice"], leaseMs, invoiceColumns, invoiceJoins);
}

/** The same for credit notes. */
export async function takeCreditNotes(
  pool: pg.Pool,
  organisationId: string,
  leaseMs: number,
): Promise<Taken<CreditNoteToSend>> {
  return take(pool, organisationId, ["create_credit_note"], leaseMs, creditNoteColumns, creditNoteJoins);
}

/** The same for contacts. */
export async function takeContacts(
  pool: pg.Pool,
  organisationId: string,
  leaseMs: number,
): Promise<Taken<ContactToSend>> {
  return take(pool, organisationId, ["create_contact", "import_contact"], leaseMs, contactColumns, contactJoins);
}

async function take<T extends TakenRow>(
  pool: pg.Pool,
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

/** Puts off everything of an organisation that is ready, and tells those who wait: its connection is paused. */
export async function reschedule(pool: pg.Pool, organisationId: string, pauseMs: number, reason: string): Promise<void> {
  await pool.query({
    name: "reschedule_jobs",
    // What somebody is at in this moment is let be: whoever begins to send it meets the pause.
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

/** The kinds that an organisation's ledger workflow works off. Amendments, allocations and ends have workflows of their own. */
export const postingKinds = ["create_invoice", "create_contact", "import_contact", "create_credit_note"];

/**
 * What waits of an organisation for its ledger workflow: how many, and in how many milliseconds the next can be tried (null where
 * nothing waits).
 */
export async function readWaiting(
  pool: pg.Pool,
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
 * Gives an operation up as long as nobody has begun to send it; true where that is so. What it was to make is dropped with
 * it: nothing was decided, and a retry starts afresh.
 */
export async function abandonContact(pool: pg.Pool, organisationId: string, jobId: string): Promise<boolean> {
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
