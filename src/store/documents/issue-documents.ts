/**
 * Issues documents inside the transaction of the change. One statement reserves each number and
 * writes the job that posts the document (POSTING-1, INVARIANT-2). One subscription costs as much
 * as a chunk. SQL, because numbers are claims of a counter, and one statement writes many rows.
 */
import type { CreditNoteDraft } from "../../domain/model/credit-note.ts";
import type { InvoiceDraft } from "../../domain/model/invoice.ts";
import { columnSet, type RecordsOf } from "../database/column-set.ts";
import type { Transaction } from "../database/pool.ts";
import { type Shape, uuid } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import type { DocumentKind } from "./document-kinds.ts";
import {
  type DocumentToIssue,
  insertDocuments,
  insertJobs,
  insertLines,
  invoiceColumns,
  invoiceLineColumns,
  invoiceLineRecords,
  invoiceRecord,
  jobColumns,
  noteColumns,
  noteLineColumns,
  noteLineRecords,
  noteRecord,
} from "./document-writes.ts";
import { type LinesToWrite, saveSheets } from "./line-facts.ts";

/** An invoice to issue, and the deferred lines that it bills. */
interface InvoiceToIssue extends DocumentToIssue<InvoiceDraft> {
  readonly deferredIds?: readonly string[];
}

/** Documents to issue, and other lines that the transaction writes. */
interface DocumentsToIssue {
  readonly invoices: readonly InvoiceToIssue[];
  readonly creditNotes: readonly DocumentToIssue<CreditNoteDraft>[];
  readonly others?: readonly LinesToWrite[];
}

/**
 * `createdAt` is the organisation's now. A caller waits for the ledger until `awaitedUntil` (null:
 * no caller waits).
 */
export interface Issuing {
  readonly createdAt: Date;
  readonly awaitedUntil: Date | null;
}

/** Declares what issues documents of a kind. The first use creates a counter. */
function issuing<const D extends Shape, const L extends Shape>(
  kind: DocumentKind,
  documentColumns: D,
  lineColumns: L,
) {
  const documents = columnSet<D & typeof jobColumns>({ ...documentColumns, ...jobColumns }, 6);
  const lines = columnSet(lineColumns, documents.next);
  const records = documents.source(sql`r`);
  const issue = command({
    name: `issue_${kind}s`,
    text: sql`
WITH counter AS (
  INSERT INTO document_counters AS d (organisation_id, kind, next) VALUES ($1, $2, 1 + $3)
  ON CONFLICT (organisation_id, kind) DO UPDATE SET next = d.next + $3
  RETURNING d.next - $3 AS first
), document AS (
  ${insertDocuments(kind, documentColumns, sql`$4`)}
  FROM ${records} JOIN subscriptions s ON s.organisation_id = $1 AND s.id = r.subscription_id
    JOIN organisations o ON o.id = $1, counter k
  ORDER BY r.position
), line AS (
  ${insertLines(kind, lineColumns)} FROM ${lines.source(sql`r`)}
)
${insertJobs(kind, sql`$5`)} FROM ${records} ORDER BY r.position`,
  });
  return (
    client: Transaction,
    organisationId: string,
    issued: RecordsOf<D & typeof jobColumns>,
    written: RecordsOf<L>,
    { createdAt, awaitedUntil }: Issuing,
  ) => {
    const values = [organisationId, kind, issued.length, createdAt, awaitedUntil];
    return issue(client, ...values, ...documents.arrays(issued), ...lines.arrays(written));
  };
}

const issueInvoices = issuing("invoice", invoiceColumns, invoiceLineColumns);
const issueNotes = issuing("credit_note", noteColumns, noteLineColumns);

/** Most invoices of one statement. Twice as many cost as much each, and the statement twice. */
const maxInvoicesOfStatement = 100;

const deferredSet = columnSet({ id: uuid, invoiceId: uuid }, 2);

const billDeferred = command({
  name: "bill_deferred_lines",
  text: sql`
    UPDATE deferred_lines d
    SET invoice_id = r.invoice_id
    FROM ${deferredSet.source(sql`r`)}
    WHERE d.organisation_id = $1 AND d.id = r.id AND d.invoice_id IS NULL
  `,
});

/**
 * Issues documents in the given order, invoices before credit notes: credit is allocated to
 * invoices with later numbers (DOCUMENT-4). A note's credit is held for these (UNITS-5). A
 * reversal's credit goes first to the invoices that it reverses (END-7). It throws if another
 * transaction has billed one of the deferred lines meanwhile.
 */
export async function issueDocuments(
  client: Transaction,
  organisationId: string,
  { invoices, creditNotes, others = [] }: DocumentsToIssue,
  issuing: Issuing,
): Promise<void> {
  const written = [...invoices, ...creditNotes].map(({ subscriptionId, draft: { lines } }) => ({
    subscriptionId,
    lines,
  }));
  await saveSheets(client, organisationId, [...written, ...others]);
  for (let at = 0; at < invoices.length; at += maxInvoicesOfStatement) {
    const some = invoices.slice(at, at + maxInvoicesOfStatement);
    const lines = some.flatMap((invoice) => invoiceLineRecords(invoice, invoice.draft.lines));
    await issueInvoices(client, organisationId, some.map(invoiceRecord), lines, issuing);
  }
  const deferred = invoices.flatMap(({ id: invoiceId, deferredIds = [] }) =>
    deferredIds.map((id) => ({ id, invoiceId })),
  );
  if (deferred.length > 0) {
    const billed = await billDeferred(client, organisationId, ...deferredSet.arrays(deferred));
    if (billed !== deferred.length) throw new Error("a deferred line is not as it was loaded");
  }
  if (creditNotes.length === 0) return;
  const lines = creditNotes.flatMap(noteLineRecords);
  await issueNotes(client, organisationId, creditNotes.map(noteRecord), lines, issuing);
}
