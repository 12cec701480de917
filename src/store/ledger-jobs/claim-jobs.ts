/**
 * Claims an organisation's posting jobs under a lease, with everything that the ledger must get.
 * SQL, because each batch of posting claims up to fifty jobs of a kind with SKIP LOCKED, and reads
 * their documents with all lines in the same statement (POSTING-3).
 */

import type { FirstInvoiceStatus } from "../../domain/model/organisation-settings.ts";
import { columns } from "../../gen/columns.ts";
import type { InvoiceLine } from "../../gen/prisma/client.ts";
import type { Pool } from "../database/pool.ts";
import { bool, day, json, pick, type RowOf } from "../database/sql/columns.ts";
import { literal, type Sql, sql } from "../database/sql/sql.ts";
import { type Query, query } from "../database/sql/statement.ts";
import { claimed } from "./job-lease.ts";
import type { JobKind } from "./jobs.ts";

/** The most documents in one call to the ledger (POSTING-3). */
export const groupSize = 50;

const claimedJob = {
  ...pick(columns.ledgerJob, "id", "attempts", "state"),
  kind: columns.ledgerJob.kind.as<JobKind>(),
  /** How often the ledger failed on it: the next call has another idempotency key. */
  keyVariant: columns.ledgerJob.keyVariant,
  /** How often its number was refused as taken and not found. */
  numberTaken: columns.ledgerJob.numberTaken,
  /** How often it took the next number. */
  renumbered: columns.ledgerJob.renumbered,
  /** The trace that it began in. */
  traceparent: columns.ledgerJob.traceparent,
  /** A caller waits for it. */
  isAwaited: bool,
};

/** What every claimed job has. */
export type ClaimedJob = RowOf<typeof claimedJob>;

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
 * What invoices and credit notes to create have in common. `isContactGone` and `skipValidation` are
 * as in `domain/billing/ledger-validation.ts`.
 */
const claimedDocument = {
  ...claimedJob,
  skipValidation: columns.ledgerJob.skipValidation,
  contactId: columns.customer.ledgerContactId.present(),
  isContactGone: bool,
  /** The ledger has a document of its customer that a restored database does not know. LEDGER-19 */
  mayBeThere: bool,
  lines: json<readonly LineToSend[]>(),
};

const invoiceToSend = {
  ...claimedDocument,
  invoiceId: columns.ledgerJob.invoiceId.present(),
  ...pick(columns.invoice, "number", "reference", "currency", "subtotal", "issueDate"),
  dueDate: columns.invoice.dueDate.present(),
  firstStatus: columns.organisation.firstInvoiceStatus.as<FirstInvoiceStatus>(),
};

/** An invoice to create in the ledger. */
export type InvoiceToSend = RowOf<typeof invoiceToSend>;

const creditNoteToSend = {
  ...claimedDocument,
  creditNoteId: columns.ledgerJob.creditNoteId.present(),
  ...pick(columns.creditNote, "number", "reference", "currency", "subtotal"),
  issueDate: day,
};

/** A credit note to create in the ledger. */
export type CreditNoteToSend = RowOf<typeof creditNoteToSend>;

const contactToSend = {
  ...claimedJob,
  customerId: columns.ledgerJob.customerId.present(),
  ...pick(columns.customer, "code", "name", "firstName", "lastName", "email"),
  /** The contact to import. Null if one is to be created. */
  wantedContactId: columns.ledgerJob.contactId,
};

/** A contact to create in the ledger, or to import from it. */
export type ContactToSend = RowOf<typeof contactToSend>;

/** Jobs to send, callers' first, and jobs whose answer was lost, to look up. */
export interface ClaimedJobs<T> {
  readonly ready: readonly T[];
  readonly uncertain: readonly T[];
}

/**
 * SQL: the oldest ready jobs of a condition. Each kind is looked up for itself, because the index
 * has the jobs of one kind in their order. So a claim reads no more jobs than it takes, however
 * many wait.
 */
const readyJobs = (condition: Sql): Sql => sql`
  SELECT j.id, j.seq
  FROM
    unnest($2::text[]) k (kind)
    CROSS JOIN LATERAL (
      SELECT id, seq
      FROM ledger_jobs
      WHERE
        organisation_id = $1
        AND state = 'ready'
        AND kind = k.kind
        AND not_before <= now()
        AND ${condition}
      ORDER BY seq
      LIMIT ${groupSize}
      FOR UPDATE SKIP LOCKED
    ) j
  ORDER BY j.seq
  LIMIT ${groupSize}
`;

/** SQL: the claim of jobs, with columns of their documents by joins to `taken`. */
const claimText = (documentColumns: Sql, joins: Sql): Sql => sql`
    WITH awaited AS (${readyJobs(sql`awaited_until > now()`)}
    ), others AS (${readyJobs(sql`(awaited_until IS NULL OR awaited_until <= now())`)}
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
    SELECT taken.id, taken.kind, taken.state, taken.attempts, taken.key_variant,
      taken.number_taken, taken.renumbered, taken.traceparent,
      coalesce(taken.awaited_until > now(), false) AS is_awaited, ${documentColumns}
    FROM taken ${joins} ORDER BY taken.seq`;

// A customer that no operator deactivated is inactive because of its contact. If the contact was
// not synced for a day, the ledger decides (POSTING-5).
const validatedBy = sql`taken.skip_validation,
    (c.status = 'inactive' AND c.deactivated_at IS NULL AND EXISTS (
      SELECT 1 FROM ledger_sync_cursors w
      WHERE w.organisation_id = $1 AND w.synced_at > now() - interval '1 day')) AS is_contact_gone`;

/** SQL: the lines of a document as JSON, with decimals as text. */
const linesOf = (table: Sql, owner: Sql, units: Sql, unitPrice: Sql): Sql => sql`(
    SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'description', l.description,
      'units', ${units}, 'unitPrice', ${unitPrice}, 'amount', l.amount::text,
      'revenueAccount', l.revenue_account, 'taxType', l.tax_type) ORDER BY l.position)
    FROM ${table} l WHERE l.organisation_id = $1 AND l.${owner} = taken.${owner}) AS lines`;

/** SQL: whether the ledger may have the document already. The table is empty without a restore. */
const mayBeThere = (kind: Sql, documentId: Sql): Sql => sql`(EXISTS (
      SELECT 1 FROM unknown_documents u WHERE u.organisation_id = $1 AND u.kind = ${literal(kind)}
        AND u.contact_id = c.ledger_contact_id AND u.state = 'open')
    OR EXISTS (
      SELECT 1 FROM unknown_documents u WHERE u.organisation_id = $1
        AND u.document_id = taken.${documentId})) AS may_be_there`;

const claiming =
  <Job extends ClaimedJob>(claim: Query<Job>, kinds: readonly JobKind[]) =>
  async (pool: Pool, organisationId: string, leaseMs: number): Promise<ClaimedJobs<Job>> => {
    const jobs = await claim(pool, organisationId, kinds, leaseMs);
    return {
      ready: jobs.filter(({ state }) => state === "sending"),
      uncertain: jobs.filter(({ state }) => state === "uncertain"),
    };
  };

const invoicesToSend = query({
  name: "claim_invoices",
  planned: "once",
  text: claimText(
    sql`taken.invoice_id, i.number, i.reference, i.currency, i.subtotal, i.issue_date, i.due_date,
      c.ledger_contact_id AS contact_id, ${validatedBy}, o.first_invoice_status AS first_status,
      ${mayBeThere(sql`invoice`, sql`invoice_id`)},
      ${linesOf(sql`invoice_lines`, sql`invoice_id`, sql`l.units`, sql`l.unit_price::text`)}`,
    sql`JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
      JOIN customers c ON c.organisation_id = $1 AND c.id = i.customer_id
      JOIN organisations o ON o.id = $1`,
  ),
  row: invoiceToSend,
});

// A credit note's day is stored as its midnight in UTC.
const creditNotesToSend = query({
  name: "claim_credit_notes",
  planned: "once",
  text: claimText(
    sql`taken.credit_note_id, n.number, n.reference, n.currency, n.subtotal,
      (n.credit_note_date AT TIME ZONE 'UTC')::date AS issue_date,
      c.ledger_contact_id AS contact_id, ${validatedBy},
      ${mayBeThere(sql`credit_note`, sql`credit_note_id`)},
      ${linesOf(sql`credit_note_lines`, sql`credit_note_id`, sql`NULL`, sql`NULL`)}`,
    sql`JOIN credit_notes n ON n.organisation_id = $1 AND n.id = taken.credit_note_id
      JOIN customers c ON c.organisation_id = $1 AND c.id = n.customer_id`,
  ),
  row: creditNoteToSend,
});

const contactsToSend = query({
  name: "claim_contacts",
  planned: "once",
  text: claimText(
    sql`taken.customer_id, c.code, c.name, c.first_name, c.last_name, c.email,
      taken.contact_id AS wanted_contact_id`,
    sql`JOIN customers c ON c.organisation_id = $1 AND c.id = taken.customer_id`,
  ),
  row: contactToSend,
});

/**
 * Claims up to `groupSize` waiting invoices of each state under a lease of `leaseMs`. One with an
 * expired lease becomes uncertain: its last attempt may have got an answer. Invoices with a waiting
 * caller come first.
 */
export const claimInvoices = claiming(invoicesToSend, ["create_invoice"]);

/** Claims credit notes, as `claimInvoices` claims invoices. */
export const claimCreditNotes = claiming(creditNotesToSend, ["create_credit_note"]);

/** Claims contacts, as `claimInvoices` claims invoices. */
export const claimContacts = claiming(contactsToSend, ["create_contact", "import_contact"]);
