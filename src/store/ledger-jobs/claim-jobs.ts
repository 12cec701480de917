/**
 * Claims an organisation's posting jobs under a lease, with everything that the ledger must get.
 * SQL, because each batch of posting claims up to fifty jobs of a kind with SKIP LOCKED, and reads
 * their documents with all lines in the same statement (POSTING-3).
 */

import type { FirstInvoiceStatus } from "../../domain/model/organisation-settings.ts";
import type {
  CreditNote,
  Customer,
  Invoice,
  InvoiceLine,
  LedgerJob,
} from "../../gen/prisma/client.ts";
import { plannedOnce } from "../database/planned-once.ts";
import type { Pool } from "../database/pool.ts";
import { claimed } from "./job-lease.ts";
import type { JobKind } from "./jobs.ts";

/** The most documents in one call to the ledger (POSTING-3). */
export const groupSize = 50;

/**
 * What every claimed job has. `keyVariant` counts how often the ledger failed on it: the next call
 * has another idempotency key. `numberTaken` counts how often its number was refused as taken and
 * not found, `renumbered` how often it took the next one. `isAwaited`: a caller waits for it.
 * `traceparent` is the trace that it began in.
 */
export interface ClaimedJob
  extends Pick<
    LedgerJob,
    "id" | "attempts" | "keyVariant" | "numberTaken" | "renumbered" | "traceparent"
  > {
  readonly kind: JobKind;
  readonly isAwaited: boolean;
}

/**
 * A line of a document to create in the ledger, amounts as decimal text. A credit note's line has
 * null `units` and `unitPrice`.
 */
export interface LineToSend
  extends Pick<InvoiceLine, "id" | "name" | "description" | "revenueAccount" | "taxType"> {
  readonly units: number | null;
  readonly unitPrice: string | null;
  readonly amount: string;
}

/**
 * What invoices and credit notes to create have in common. The date is `YYYY-MM-DD`, the subtotal
 * decimal text. `isContactGone` and `skipValidation` are as in
 * `domain/billing/ledger-validation.ts`. `mayBeThere`: the ledger has a document of its customer
 * that a restored database does not know (LEDGER-19).
 */
interface ClaimedDocument
  extends ClaimedJob,
    Pick<Invoice & CreditNote, "number" | "reference" | "currency">,
    Pick<LedgerJob, "skipValidation"> {
  readonly subtotal: string;
  readonly issueDate: string;
  readonly contactId: string;
  readonly isContactGone: boolean;
  readonly mayBeThere: boolean;
  readonly lines: readonly LineToSend[];
}

/** An invoice to create in the ledger. */
export interface InvoiceToSend extends ClaimedDocument {
  readonly invoiceId: string;
  readonly dueDate: string;
  readonly firstStatus: FirstInvoiceStatus;
}

/** A credit note to create in the ledger. */
export interface CreditNoteToSend extends ClaimedDocument {
  readonly creditNoteId: string;
}

/** A contact to create in the ledger, or to import from it (`wantedContactId`). */
export interface ContactToSend
  extends ClaimedJob,
    Pick<Customer, "code" | "name" | "firstName" | "lastName" | "email"> {
  readonly customerId: string;
  readonly wantedContactId: string | null;
}

/** Jobs to send, callers' first, and jobs whose answer was lost, to look up. */
export interface ClaimedJobs<T> {
  readonly ready: readonly T[];
  readonly uncertain: readonly T[];
}

/** What a kind of job reads of its document: SQL columns and joins to `taken`. */
interface ClaimedKind {
  readonly kinds: readonly JobKind[];
  readonly columns: string;
  readonly joins: string;
}

// A customer that no operator deactivated is inactive because of its contact. If the contact was
// not synced for a day, the ledger decides (POSTING-5).
const validatedBy = `taken.skip_validation AS "skipValidation",
    (c.status = 'inactive' AND c.deactivated_at IS NULL AND EXISTS (
      SELECT 1 FROM ledger_sync_cursors w
      WHERE w.organisation_id = $1 AND w.synced_at > now() - interval '1 day')) AS "isContactGone"`;

/** SQL: the lines of a document as JSON, with decimals as text. */
const linesOf = (table: string, owner: string, units: string, unitPrice: string): string => `(
    SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'description', l.description,
      'units', ${units}, 'unitPrice', ${unitPrice}, 'amount', l.amount::text,
      'revenueAccount', l.revenue_account, 'taxType', l.tax_type) ORDER BY l.position)
    FROM ${table} l WHERE l.organisation_id = $1 AND l.${owner} = taken.${owner}) AS lines`;

/** SQL: whether the ledger may have the document already. The table is empty without a restore. */
const mayBeThere = (kind: string, documentId: string): string => `(EXISTS (
      SELECT 1 FROM unknown_documents u WHERE u.organisation_id = $1 AND u.kind = '${kind}'
        AND u.contact_id = c.ledger_contact_id AND u.state = 'open')
    OR EXISTS (
      SELECT 1 FROM unknown_documents u WHERE u.organisation_id = $1
        AND u.document_id = taken.${documentId})) AS "mayBeThere"`;

const invoices: ClaimedKind = {
  kinds: ["create_invoice"],
  columns: `taken.invoice_id AS "invoiceId", i.number, i.reference, i.currency, i.subtotal,
    i.issue_date AS "issueDate", i.due_date AS "dueDate", c.ledger_contact_id AS "contactId",
    ${validatedBy}, o.first_invoice_status AS "firstStatus",
    ${mayBeThere("invoice", "invoice_id")},
    ${linesOf("invoice_lines", "invoice_id", "l.units", "l.unit_price::text")}`,
  joins: `JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
    JOIN customers c ON c.organisation_id = $1 AND c.id = i.customer_id
    JOIN organisations o ON o.id = $1`,
};

// A credit note's day is stored as its midnight in UTC.
const creditNotes: ClaimedKind = {
  kinds: ["create_credit_note"],
  columns: `taken.credit_note_id AS "creditNoteId", n.number, n.reference, n.currency, n.subtotal,
    (n.credit_note_date AT TIME ZONE 'UTC')::date AS "issueDate",
    c.ledger_contact_id AS "contactId", ${validatedBy},
    ${mayBeThere("credit_note", "credit_note_id")},
    ${linesOf("credit_note_lines", "credit_note_id", "NULL", "NULL")}`,
  joins: `JOIN credit_notes n ON n.organisation_id = $1 AND n.id = taken.credit_note_id
    JOIN customers c ON c.organisation_id = $1 AND c.id = n.customer_id`,
};

const contacts: ClaimedKind = {
  kinds: ["create_contact", "import_contact"],
  columns: `taken.customer_id AS "customerId", c.code, c.name, c.first_name AS "firstName",
    c.last_name AS "lastName", c.email, taken.contact_id AS "wantedContactId"`,
  joins: "JOIN customers c ON c.organisation_id = $1 AND c.id = taken.customer_id",
};

/**
 * Takes up to `groupSize` waiting invoices of each state under a lease of `leaseMs`. One with an
 * expired lease becomes uncertain: its last attempt may have got an answer. Invoices with a waiting
 * caller come first.
 */
export async function claimInvoices(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
): Promise<ClaimedJobs<InvoiceToSend>> {
  return take(pool, organisationId, leaseMs, invoices);
}

/** Claims credit notes, as `claimInvoices` claims invoices. */
export async function claimCreditNotes(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
): Promise<ClaimedJobs<CreditNoteToSend>> {
  return take(pool, organisationId, leaseMs, creditNotes);
}

/** Claims contacts, as `claimInvoices` claims invoices. */
export async function claimContacts(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
): Promise<ClaimedJobs<ContactToSend>> {
  return take(pool, organisationId, leaseMs, contacts);
}

/**
 * SQL: the oldest ready jobs of a condition. Each kind is looked up for itself, because the index
 * has the jobs of one kind in their order. So a claim reads no more jobs than it takes, however
 * many wait.
 */
const readyText = (condition: string): string => `
      SELECT j.id, j.seq FROM unnest($2::text[]) k (kind) CROSS JOIN LATERAL (
        SELECT id, seq FROM ledger_jobs
        WHERE organisation_id = $1 AND state = 'ready' AND kind = k.kind AND not_before <= now()
          AND ${condition}
        ORDER BY seq LIMIT ${groupSize} FOR UPDATE SKIP LOCKED) j
      ORDER BY j.seq LIMIT ${groupSize}`;

async function take<T extends ClaimedJob>(
  pool: Pool,
  organisationId: string,
  leaseMs: number,
  { kinds, columns, joins }: ClaimedKind,
): Promise<ClaimedJobs<T>> {
  const text = `
    WITH awaited AS (${readyText("awaited_until > now()")}
    ), others AS (${readyText("(awaited_until IS NULL OR awaited_until <= now())")}
    ), waiting AS (
      SELECT id FROM (SELECT id, seq, 1 AS place FROM awaited
        UNION ALL SELECT id, seq, 2 FROM others) r ORDER BY place, seq LIMIT ${groupSize}
    ), lost AS (
      SELECT id FROM ledger_jobs
      WHERE organisation_id = $1 AND kind = ANY ($2) AND state IN ('sending', 'uncertain')
        AND lease_until < now()
      ORDER BY seq LIMIT ${groupSize} FOR UPDATE SKIP LOCKED
    ), picked AS (
      SELECT id FROM waiting UNION ALL SELECT id FROM lost
    ), taken AS (
      UPDATE ledger_jobs t SET ${claimed}
      FROM picked WHERE t.organisation_id = $1 AND t.id = picked.id RETURNING t.*
    )
    SELECT taken.id, taken.kind, taken.state, taken.seq, taken.attempts,
      taken.key_variant AS "keyVariant", taken.number_taken AS "numberTaken", taken.renumbered,
      taken.traceparent,
      coalesce(taken.awaited_until > now(), false) AS "isAwaited", ${columns}
    FROM taken ${joins} ORDER BY taken.seq`;
  const { rows } = await pool.query<T & Pick<LedgerJob, "state">>(
    plannedOnce({ text, values: [organisationId, kinds, leaseMs] }),
  );
  return {
    ready: rows.filter(({ state }) => state === "sending"),
    uncertain: rows.filter(({ state }) => state === "uncertain"),
  };
}
