/**
 * Lists documents for operators, invoices and credit notes together. Each shows the last ledger job
 * for it and the ledger's answer. SQL, because one list has two tables and their jobs. ADMIN-6.
 */

import type { DocumentOperation, DocumentState } from "../../../domain/billing/retry-document.ts";
import type { LedgerDrift } from "../../../domain/ledger/drift.ts";
import type { DocumentStatus } from "../../../domain/model/invoice.ts";
import { parseDecimal } from "../../../domain/money/decimal.ts";
import { columns } from "../../../gen/columns.ts";
import { readDecimal } from "../../catalogue/catalogue.ts";
import {
  type Filter,
  listing,
  listPage,
  type Page,
  type PageRequest,
} from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { instant, int, json, pick, type RowOf, text, uuid } from "../../database/sql/columns.ts";
import { type Sql, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import type { DocumentKind } from "../../documents/document-kinds.ts";
import { isNeverThere, stands } from "../../documents/document-presence.ts";
import { currentDrift, driftIds, isAltered } from "../../documents/ledger-drift.ts";
import { isRefusedPair } from "../../ledger-jobs/credit-allocations.ts";

/** The operation of each kind of job. */
export const operations = {
  create_invoice: "creation",
  create_credit_note: "creation",
  amend_invoice: "amendment",
  allocate_credit: "allocation",
} as const satisfies Record<string, DocumentOperation>;

const documentRow = {
  ...pick(columns.invoice, "id", "number", "customerId", "subscriptionId", "currency", "total"),
  ...pick(columns.invoice, "subtotal", "ledgerSubtotal", "ledgerNumber", "syncError", "createdAt"),
  kind: text.as<DocumentKind>(),
  state: text.as<DocumentState>(),
  status: text.as<DocumentStatus>(),
  /** What differs in the ledger other than the sum of the lines. Null if nothing does. */
  ledgerDrift: json<LedgerDrift>().orNull(),
  /** Its id in the ledger. Null if it has never been there. */
  ledgerId: text.orNull(),
  /** What failed or waits, as the kind of its job. Null if nothing does or it is not known. */
  operation: text.as<keyof typeof operations>().orNull(),
  jobId: uuid.orNull(),
  /** The invoice of an allocation. */
  invoiceId: uuid.orNull(),
  reason: text.orNull(),
  message: text.orNull(),
  attempts: int,
  /** Null if no job waits. */
  nextAttemptAt: instant.orNull(),
};

/** A document with the outcome of its last job, and its lines' sums here and in the ledger. */
export type AdminDocument = ReturnType<typeof readDocument>;

function readDocument(row: RowOf<typeof documentRow>) {
  return {
    ...row,
    total: parseDecimal(row.total),
    subtotal: parseDecimal(row.subtotal),
    ledgerSubtotal: readDecimal(row.ledgerSubtotal),
    operation: row.operation && operations[row.operation],
  };
}

// One sequence numbers both kinds, so that they share one order.
const documents = sql`(
  SELECT 'invoice' AS kind, d.organisation_id, d.id, d.seq, d.number, d.status, d.customer_id,
    d.subscription_id, d.currency, d.total, d.subtotal, d.ledger_subtotal,
    ${currentDrift(sql`d`)} AS ledger_drift, d.ledger_invoice_id AS ledger_id, d.ledger_number,
    d.sync_error, 0 AS remaining_credit, d.created_at
  FROM invoices d
  UNION ALL
  SELECT 'credit_note', d.organisation_id, d.id, d.seq, d.number, d.status, d.customer_id,
    d.subscription_id, d.currency, d.total, d.subtotal, d.ledger_subtotal,
    ${currentDrift(sql`d`)}, d.ledger_credit_note_id, d.ledger_number, d.sync_error,
    d.remaining_credit, d.created_at
  FROM credit_notes d
)`;

const positions = sql`(SELECT organisation_id, id, seq FROM invoices
  UNION ALL SELECT organisation_id, id, seq FROM credit_notes)`;

const open = sql`o.state IN ('ready', 'sending', 'uncertain')`;

// The job of the document that still waits for the ledger.
const waiting = sql`
  SELECT
    o.*,
    CASE WHEN o.state = 'ready' THEN o.not_before ELSE o.lease_until END AS next_attempt_at
  FROM ledger_jobs o
  WHERE
    o.organisation_id = t.organisation_id
    AND ${open}
    AND (
      o.invoice_id = t.id
      AND o.kind IN ('create_invoice', 'amend_invoice')
      OR o.credit_note_id = t.id
      AND o.kind IN ('create_credit_note', 'allocate_credit')
    )
  ORDER BY o.seq
  LIMIT 1
`;

/**
 * SQL: whether credit of the note could be allocated to the invoice `i` if the ledger had not
 * refused that.
 */
export const isBlocked = (note: Sql): Sql =>
  sql`(${note}.status = 'approved' AND i.status = 'approved' AND ${note}.remaining_credit > 0
    AND i.amount_due > 0 AND ${isRefusedPair(note, sql`i`)} AND NOT ${isAltered(sql`i`)})`;

// The last refusal that still counts. For creations and amendments the document's `sync_error`
// decides that.
const refused = sql`
  SELECT o.*, NULL::timestamptz AS next_attempt_at
  FROM
    ledger_jobs o
    LEFT JOIN invoices i
      ON o.kind = 'allocate_credit'
      AND i.organisation_id = o.organisation_id
      AND i.id = o.invoice_id
  WHERE
    o.organisation_id = t.organisation_id
    AND o.state = 'refused'
    AND (
      o.invoice_id = t.id
      AND o.kind IN ('create_invoice', 'amend_invoice')
      AND t.sync_error IS NOT NULL
      OR o.credit_note_id = t.id
      AND o.kind = 'create_credit_note'
      AND t.sync_error IS NOT NULL
      OR o.credit_note_id = t.id
      AND o.kind = 'allocate_credit'
      AND ${isBlocked(sql`t`)}
    )
  ORDER BY o.seq DESC
  LIMIT 1
`;

const documentTable = {
  table: positions,
  row: documentRow,
  columns: sql`t.id, t.kind, t.number, s.state, t.status, t.customer_id,
    t.subscription_id, t.currency, t.total, t.subtotal,
    t.ledger_subtotal, t.ledger_drift,
    t.ledger_id, t.ledger_number, t.sync_error,
    t.created_at,
    coalesce(o.kind,
      CASE WHEN ${isNeverThere(sql`t`, sql`ledger_id`)} THEN 'create_' || t.kind END) AS operation,
    o.id AS job_id, CASE WHEN o.kind = 'allocate_credit' THEN o.invoice_id END AS invoice_id,
    o.reason,
    CASE s.state WHEN 'failed' THEN coalesce(t.sync_error, o.message) ELSE o.message END AS message,
    coalesce(o.attempts, 0) AS attempts, o.next_attempt_at`,
  from: sql`${documents} t
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT w.*, 0 AS place FROM (${waiting}) w UNION ALL SELECT r.*, 1 FROM (${refused}) r) u
      ORDER BY u.place LIMIT 1
    ) o ON true
    CROSS JOIN LATERAL (SELECT CASE
      WHEN o.next_attempt_at IS NOT NULL OR t.status = 'scheduled' THEN 'waiting'
      WHEN t.sync_error IS NOT NULL OR o.id IS NOT NULL THEN 'failed'
      WHEN (t.ledger_subtotal <> t.subtotal OR t.ledger_drift IS NOT NULL) AND ${stands(sql`t`)}
        THEN 'drift' ELSE 'synced' END AS state) s`,
  read: readDocument,
};

const ofIds = (ids: readonly string[]): readonly Filter[] => [
  { sql: sql`t.id = ANY (?::uuid[])`, value: ids },
];

/** Lists every document, including those without a failed or waiting job. */
export const documentListing = listing("admin_documents", documentTable, ofIds([]));

// Starts from failed and waiting jobs, because an organisation may have a million documents without
// any.
const idsText = sql`WITH open AS (
    SELECT coalesce(o.credit_note_id, o.invoice_id) AS id FROM ledger_jobs o
    WHERE o.organisation_id = $1 AND ${open} AND o.customer_id IS NULL
  ), blocked AS (
    SELECT o.credit_note_id AS id FROM ledger_jobs o
      JOIN credit_notes n ON n.organisation_id = $1 AND n.id = o.credit_note_id
      JOIN invoices i ON i.organisation_id = $1 AND i.id = o.invoice_id
    WHERE o.organisation_id = $1 AND o.state = 'refused' AND o.kind = 'allocate_credit'
      AND ${isBlocked(sql`n`)}
  ), failed AS (
    SELECT id FROM invoices WHERE organisation_id = $1 AND sync_error IS NOT NULL
    UNION SELECT id FROM credit_notes WHERE organisation_id = $1 AND sync_error IS NOT NULL
    UNION SELECT id FROM blocked
    EXCEPT SELECT id FROM open
  ), drift AS (
    ${driftIds(sql`invoices`)} UNION ${driftIds(sql`credit_notes`)}
    EXCEPT SELECT id FROM open EXCEPT SELECT id FROM failed
  ), wanted AS (
    SELECT id FROM open WHERE 'waiting' = ANY ($2::text[])
    UNION SELECT id FROM failed WHERE 'failed' = ANY ($2::text[])
    UNION SELECT id FROM drift WHERE 'drift' = ANY ($2::text[])
  ), found AS (
    SELECT i.id, i.seq FROM wanted JOIN invoices i ON i.organisation_id = $1 AND i.id = wanted.id
    UNION ALL SELECT n.id, n.seq FROM wanted
      JOIN credit_notes n ON n.organisation_id = $1 AND n.id = wanted.id
  )
  SELECT id FROM found
  WHERE $3::uuid IS NULL
    OR seq < (SELECT c.seq FROM ${positions} c WHERE c.organisation_id = $1 AND c.id = $3)
  ORDER BY seq DESC LIMIT $4`;

const documentIds = query({
  name: "list_document_ids",
  text: idsText,
  row: { id: uuid },
});

/**
 * Returns a page of the documents in one of these states. A document whose state changes during the
 * read is shown in its new state. Refuses `invalid_parameter`, param `starting_after`.
 */
export async function listDocuments(
  pool: Pool,
  organisationId: string,
  states: readonly DocumentState[],
  page: PageRequest,
): Promise<Page<AdminDocument>> {
  const { startingAfter, limit } = page;
  const found = await documentIds(pool, organisationId, states, startingAfter, limit + 1);
  const filters = ofIds(found.map(({ id }) => id));
  return listPage(pool, organisationId, documentListing, filters, page);
}
