/**
 * Documents and their lines as records, and the SQL that inserts them. Every statement that issues
 * documents uses these.
 */
import type { CreditNoteDraft } from "../../domain/model/credit-note.ts";
import type { InvoiceDraft, InvoiceLineDraft } from "../../domain/model/invoice.ts";
import { type Decimal, formatDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { newId } from "../database/ids.ts";
import { int, omit, pick, type Shape, uuid } from "../database/sql/columns.ts";
import { columnsOf, literal, namesOf, type Sql, sql } from "../database/sql/sql.ts";
import { type DocumentKind, documentKinds } from "./document-kinds.ts";
import { factsText } from "./line-facts.ts";

/** A document to issue: its ids, its subscription and its draft. */
export interface DocumentToIssue<Draft> {
  readonly id: string;
  readonly jobId: string;
  readonly subscriptionId: string;
  readonly draft: Draft;
}

/** Returns documents of a subscription with new ids, without those that are null. */
export function withIds<T extends object>(
  subscriptionId: string,
  documents: readonly (T | null)[],
) {
  return documents
    .filter((document) => document !== null)
    .map((document) => ({ id: newId(), jobId: newId(), subscriptionId, ...document }));
}

/** The columns of invoices to issue. */
export const invoiceColumns = {
  ...pick(columns.invoice, "id", "subscriptionId", "reference", "type", "currency", "subtotal"),
  ...pick(columns.invoice, "issueDate", "dueDate", "periodIndex", "periodStart", "periodEnd"),
};

/** The columns of their lines. */
export const invoiceLineColumns = omit(columns.invoiceLine, "organisationId", "ledgerLineId");

/** The columns of credit notes to issue. */
export const noteColumns = {
  ...pick(columns.creditNote, "id", "subscriptionId", "reference", "currency", "subtotal"),
  ...pick(columns.creditNote, "creditNoteDate"),
};

/** The columns of their lines. */
export const noteLineColumns = omit(columns.creditNoteLine, "organisationId");

/** The further columns of the records of documents. Numbers are counted from `position`. */
export const jobColumns = { jobId: uuid, position: int };

const ofRecord = (shape: Shape) => columnsOf(sql`r`, shape);

/** SQL of a document's number: the prefix of organisation `o`, and at least four digits. */
export function documentNumber(kind: DocumentKind, counted: Sql): Sql {
  const number = sql`(${counted})::text`;
  const { numberPrefix } = documentKinds[kind];
  return sql`${numberPrefix} || lpad(${number}, greatest(4, length(${number})), '0')`;
}

/**
 * Inserts documents from records `r` of subscriptions `s`, numbered by counter `k`: everything
 * between INSERT and FROM. `$1` is the organisation `o`.
 */
export function insertDocuments(kind: DocumentKind, shape: Shape, createdAt: Sql): Sql {
  const { table, due } = documentKinds[kind];
  return sql`
    INSERT INTO ${table}
      (organisation_id, customer_id, number, status, total, ${due}, created_at, ${namesOf(shape)})
    SELECT
      $1, s.customer_id, ${documentNumber(kind, sql`k.first + r.position`)},
      'scheduled',
      r.subtotal, r.subtotal, ${createdAt}, ${ofRecord(shape)}
  `;
}

/** Inserts lines from records `r`, at their positions by default: between INSERT and FROM. */
export function insertLines(kind: DocumentKind, shape: Shape, position = sql`r.position`): Sql {
  const { lines } = documentKinds[kind];
  const others = omit(shape, "position");
  return sql`
    INSERT INTO ${lines} (organisation_id, position, ${namesOf(others)})
    SELECT $1, ${position}, ${ofRecord(others)}
  `;
}

/** Inserts the jobs that post the documents of records `r`: everything between INSERT and FROM. */
export function insertJobs(kind: DocumentKind, awaitedUntil: Sql): Sql {
  return sql`
    INSERT INTO ledger_jobs
      (id, organisation_id, kind, state, subscription_id, ${documentKinds[kind].id}, awaited_until)
    SELECT
      r.job_id, $1, ${literal(`create_${kind}`)},
      'ready',
      r.subscription_id, r.id, ${awaitedUntil}::timestamptz
  `;
}

/** The record of an invoice to issue. */
export function invoiceRecord(invoice: DocumentToIssue<InvoiceDraft>, position: number) {
  const { draft, ...ids } = invoice;
  const { subtotal, period } = draft;
  const days = { periodStart: period?.start, periodEnd: period?.end };
  return { ...draft, ...ids, ...days, position, subtotal: formatDecimal(subtotal) };
}

/**
 * The records of an invoice's lines in order, with new ids. The sheets of their facts are saved by
 * `saveSheets`. `amending`: the ledger has the invoice already.
 */
export function invoiceLineRecords(
  { id: invoiceId, subscriptionId }: Pick<DocumentToIssue<unknown>, "id" | "subscriptionId">,
  lines: readonly InvoiceLineDraft[],
  amending = false,
) {
  return lines.map(({ period, proration, ...line }, position) => ({
    ...line,
    ...(proration ?? noProration),
    id: newId(),
    invoiceId,
    position,
    amending,
    periodStart: period?.start,
    periodEnd: period?.end,
    quantity: decimalText(line.quantity),
    unitPrice: decimalText(line.unitPrice),
    amount: formatDecimal(line.amount),
    facts: factsText(line, subscriptionId),
  }));
}

const noProration = { fromUnits: null, toUnits: null, daysRemaining: null, daysInPeriod: null };

/** The record of a credit note to issue. */
export function noteRecord(note: DocumentToIssue<CreditNoteDraft>, position: number) {
  const { draft, ...ids } = note;
  const { subtotal, issueDate } = draft;
  const creditNoteDate = new Date(issueDate);
  return { ...draft, ...ids, creditNoteDate, position, subtotal: formatDecimal(subtotal) };
}

/** The records of a credit note's lines in order, with new ids. */
export function noteLineRecords(note: DocumentToIssue<CreditNoteDraft>) {
  return note.draft.lines.map((line, position) => ({
    ...line,
    id: newId(),
    creditNoteId: note.id,
    position,
    amount: formatDecimal(line.amount),
    effectiveDate: new Date(line.effectiveDate),
    reversedInvoiceId: line.reversedInvoiceId,
    facts: factsText(line, note.subscriptionId),
  }));
}

/** Decimal text, or null for null. */
export function decimalText(value: Decimal | null): string | null {
  return value === null ? null : formatDecimal(value);
}
