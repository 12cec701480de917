/**
 * Issues documents inside the transaction of the change. One statement reserves each number and
 * writes the job that posts the document (POSTING-1, INVARIANT-2). One subscription costs as much
 * as a chunk. SQL, because numbers are claims of a counter, and one statement writes many rows.
 */

import type { CreditNoteDraft } from "../../domain/model/credit-note.ts";
import type { InvoiceDraft } from "../../domain/model/invoice.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import { columnSet } from "../database/column-set.ts";
import { newId } from "../database/ids.ts";
import type { Transaction } from "../database/pool.ts";
import { int } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { documentKinds } from "./document-kinds.ts";
import {
  documentNumber,
  insertLines,
  invoiceRecord,
  invoiceRecordType,
  lineRecords,
  lineRecordType,
} from "./invoice-writes.ts";
import { factsText } from "./line-facts.ts";

/** An invoice to issue: its ids, its subscription, and the deferred lines that it bills. */
interface InvoiceToIssue {
  readonly id: string;
  readonly jobId: string;
  readonly subscriptionId: string;
  readonly draft: InvoiceDraft;
  readonly deferredIds: readonly string[];
}

/** A credit note to issue: its ids and its subscription. */
interface CreditNoteToIssue {
  readonly id: string;
  readonly jobId: string;
  readonly subscriptionId: string;
  readonly draft: CreditNoteDraft;
}

/**
 * `createdAt` is the organisation's now. A caller waits for the ledger until `awaitedUntil` (null:
 * no caller waits).
 */
export interface Issuing {
  readonly createdAt: Date;
  readonly awaitedUntil: Date | null;
}

// The first use creates a counter. An organisation has none before its first document.
const takeNumbers = sql`
counter AS (
  INSERT INTO document_counters AS d (organisation_id, kind, next) VALUES ($1, $2, 1 + $3)
  ON CONFLICT (organisation_id, kind) DO UPDATE SET next = d.next + $3
    RETURNING d.next - $3 AS first
)`;

const invoiceColumns = columnSet(`${invoiceRecordType}, subscription_id uuid, job_id uuid`);
const lineColumns = columnSet(lineRecordType);
const deferredColumns = columnSet("id uuid, invoice_id uuid");

const firstLineColumn = 6 + invoiceColumns.count;
const firstDeferredColumn = firstLineColumn + lineColumns.count;

const issue = query({
  name: "issue_invoices",
  text: sql`
WITH ${takeNumbers}, invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, reference, type,
    status, currency, subtotal,
    total, amount_due, issue_date, due_date, period_index, period_start, period_end, created_at)
  SELECT r.id, $1, s.customer_id, s.id,
    ${documentNumber(sql`o.number_prefix`, sql`k.first + r.position`)}, r.reference, r.type,
    'scheduled', r.currency, r.subtotal, r.subtotal, r.subtotal, r.issue_date, r.due_date,
      r.period_index, r.period_start,
    r.period_end, $4
  FROM ${invoiceColumns.source(sql`r`, 6)}
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = r.subscription_id JOIN organisations o
      ON o.id = $1, counter k
  ORDER BY r.position
  RETURNING id
), line AS (
  ${insertLines} FROM ${lineColumns.source(sql`r`, firstLineColumn)}
), operation AS (
  INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
    awaited_until)
  SELECT r.job_id, $1, 'create_invoice', 'ready', r.subscription_id, r.id, $5::timestamptz
  FROM ${invoiceColumns.source(sql`r`, 6)} ORDER BY r.position
), billed AS (
  UPDATE deferred_lines d SET invoice_id = r.invoice_id
  FROM ${deferredColumns.source(sql`r`, firstDeferredColumn)}
  WHERE d.organisation_id = $1 AND d.id = r.id AND d.invoice_id IS NULL RETURNING d.id
)
SELECT (SELECT count(*) FROM invoice)::int AS issued, (SELECT count(*) FROM billed)::int AS billed`,
  row: { issued: int, billed: int },
});

/** Most invoices of one statement. Twice as many cost as much each, and the statement twice. */
const maxInvoicesOfStatement = 100;

/**
 * Issues invoices in the given order. Their price sheets are saved. It throws if another
 * transaction has billed one of the deferred lines meanwhile.
 */
export async function issueInvoices(
  client: Transaction,
  organisationId: string,
  invoices: readonly InvoiceToIssue[],
  issuing: Issuing,
): Promise<void> {
  for (let at = 0; at < invoices.length; at += maxInvoicesOfStatement)
    await issueSome(
      client,
      organisationId,
      invoices.slice(at, at + maxInvoicesOfStatement),
      issuing,
    );
}

async function issueSome(
  client: Transaction,
  organisationId: string,
  invoices: readonly InvoiceToIssue[],
  { createdAt, awaitedUntil }: Issuing,
): Promise<void> {
  const deferred = invoices.flatMap(({ id, deferredIds }) =>
    deferredIds.map((deferredId) => ({ id: deferredId, invoice_id: id })),
  );
  const [row] = await issue(
    client,
    organisationId,
    "invoice",
    invoices.length,
    createdAt,
    awaitedUntil,
    ...invoiceColumns.arrays(
      invoices.map(({ id, draft, subscriptionId, jobId }, position) => ({
        ...invoiceRecord(id, position, draft),
        subscription_id: subscriptionId,
        job_id: jobId,
      })),
    ),
    ...lineColumns.arrays(invoices.flatMap((one) => lineRecords(one, one.draft.lines))),
    ...deferredColumns.arrays(deferred),
  );
  if (row?.issued !== invoices.length || row.billed !== deferred.length) {
    throw new Error("an invoice's subscription or deferred line is not as it was loaded");
  }
}

// The note's number in the invoices' sequence decides which invoices are later.
const issueNotes = command({
  name: "issue_credit_notes",
  text: sql`
WITH ${takeNumbers}, note AS (
  INSERT INTO credit_notes (id, organisation_id, customer_id, subscription_id, number, reference,
    status, currency, credit_note_date,
    subtotal, total, remaining_credit, created_at)
  SELECT r.id, $1, s.customer_id, s.id,
    ${documentNumber(documentKinds.credit_note.numberPrefix, sql`k.first + r.position`)},
    r.reference, 'scheduled',
    r.currency, r.issue_date::timestamp AT TIME ZONE 'UTC', r.subtotal, r.subtotal, r.subtotal, $6
  FROM jsonb_to_recordset($4) AS r(id uuid, position int, subscription_id uuid, reference text,
    currency text, issue_date date,
      subtotal numeric)
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = r.subscription_id JOIN organisations o
      ON o.id = $1, counter k
  ORDER BY r.position
), line AS (
  INSERT INTO credit_note_lines (id, organisation_id, credit_note_id, position, name, description,
    amount, effective_date, meter_id,
    revenue_account, tax_type, reversed_invoice_id, facts)
  SELECT r.id, $1, r.credit_note_id, r.position, r.name, r.description, r.amount,
    r.effective_date::timestamp AT TIME ZONE 'UTC', r.meter_id, r.revenue_account, r.tax_type,
    r.reversed_invoice_id, r.facts
  FROM jsonb_to_recordset($5) AS r(id uuid, credit_note_id uuid, position int, name text,
    description text, amount numeric,
    effective_date date, meter_id uuid, revenue_account text, tax_type text,
      reversed_invoice_id uuid, facts text)
)
INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, credit_note_id,
  awaited_until)
SELECT r.job_id, $1, 'create_credit_note', 'ready', r.subscription_id, r.id, $7::timestamptz
FROM jsonb_to_recordset($4) AS r(id uuid, position int, subscription_id uuid, job_id uuid)
  ORDER BY r.position`,
});

/**
 * Issues credit notes. Their price sheets are saved. Their credit is held for invoices that are
 * issued later (UNITS-5). A reversal's credit goes first to the invoices that it reverses (END-7).
 */
export async function issueCreditNotes(
  client: Transaction,
  organisationId: string,
  notes: readonly CreditNoteToIssue[],
  { createdAt, awaitedUntil }: Issuing,
): Promise<void> {
  if (notes.length === 0) return;
  const records = notes.map(({ id, jobId, subscriptionId, draft }, position) => ({
    id,
    position,
    job_id: jobId,
    subscription_id: subscriptionId,
    reference: draft.reference,
    currency: draft.currency,
    issue_date: draft.issueDate,
    subtotal: formatDecimal(draft.subtotal),
  }));
  const lines = notes.flatMap(({ id, subscriptionId, draft }) =>
    draft.lines.map((line, position) => ({
      id: newId(),
      credit_note_id: id,
      position,
      name: line.name,
      description: line.description,
      amount: formatDecimal(line.amount),
      effective_date: line.effectiveDate,
      meter_id: line.meterId,
      revenue_account: line.revenueAccount,
      tax_type: line.taxType,
      reversed_invoice_id: line.reversedInvoiceId ?? null,
      facts: factsText(line, subscriptionId),
    })),
  );
  await issueNotes(
    client,
    organisationId,
    "credit_note",
    notes.length,
    JSON.stringify(records),
    JSON.stringify(lines),
    createdAt,
    awaitedUntil,
  );
}
