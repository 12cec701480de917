/**
 * Posts waiting invoices and credit notes: how each kind is created in the ledger, which document
 * that the ledger already has is ours, and what is recorded of it.
 */
import type {
  Ledger,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
  LedgerInvoice,
} from "../../../ledger/port/ledger.ts";
import {
  type ClaimedJobs,
  type CreditNoteToSend,
  groupSize,
  type InvoiceToSend,
} from "../../../store/ledger-jobs/claim-jobs.ts";
import type { NamedLine } from "../../../store/ledger-jobs/document-outcomes.ts";
import { adoptOrPost } from "./adopt-unknown.ts";
import { lineOf } from "./document-lines.ts";
import { addressesAtOnce, type GroupOutcome } from "./grouped-calls.ts";
import { attemptOf } from "./ledger-call.ts";
import {
  type CallSettings,
  type DocumentToSend,
  type FoundDocument,
  linkOf,
  type PostedKind,
  sourceUrlOf,
} from "./post-documents.ts";

/**
 * Sends ready invoices and looks up uncertain ones. A ledger without drafts gets each as approved
 * (DOCUMENT-1).
 */
export async function postInvoices(
  ledger: Ledger,
  { ready, uncertain }: ClaimedJobs<InvoiceToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const kind: PostedKind<InvoiceToSend, LedgerInvoice> = {
    ...settings,
    name: "invoice",
    create: (call, invoices) =>
      ledger.createInvoices(
        call,
        invoices.map((invoice) => ({
          ...draftOf(kind, invoice),
          status: invoice.firstStatus,
          dueDate: invoice.dueDate,
        })),
      ),
    lookUpAtOnce: groupSize,
    find: ledger.findInvoices,
    readContacts: (call, ids) => ledger.getMany(call, { kind: "contacts", ids }),
    idOf: ({ invoiceId }) => invoiceId,
    isEqual: ({ dueDate }, found) => found.dueDate === dueDate && isUntouched(found),
    done: (invoice, found) => ({
      ...doneOf(invoice, found),
      kind: "invoice_done",
      amountDue: found.amountDue,
      lines: namedLines(invoice, found),
    }),
  };
  const taken = (invoice: InvoiceToSend): InvoiceToSend =>
    settings.traits.documents.hasDrafts ? invoice : { ...invoice, firstStatus: "approved" };
  return adoptOrPost(kind, { ready: ready.map(taken), uncertain: uncertain.map(taken) });
}

/**
 * Sends ready credit notes, which are created approved (DOCUMENT-1), and looks up uncertain ones.
 * The credit of one that is ours may already be used: treated as another note, it would be created
 * and credited twice.
 */
export async function postCreditNotes(
  ledger: Ledger,
  claimed: ClaimedJobs<CreditNoteToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const kind: PostedKind<CreditNoteToSend, LedgerCreditNote> = {
    ...settings,
    name: "credit_note",
    create: (call, notes) =>
      ledger.createCreditNotes(
        call,
        notes.map((note) => draftOf(kind, note)),
      ),
    lookUpAtOnce: addressesAtOnce,
    find: ledger.findCreditNotes,
    readContacts: (call, ids) => ledger.getMany(call, { kind: "contacts", ids }),
    idOf: ({ creditNoteId }) => creditNoteId,
    isEqual: () => true,
    done: (note, found) => ({
      ...doneOf(note, found),
      kind: "credit_note_done",
      remainingCredit: found.remainingCredit,
      allocations: found.allocations,
    }),
  };
  return adoptOrPost(kind, claimed);
}

function draftOf<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  document: Document,
): LedgerCreditNoteDraft {
  const { number, reference, contactId, currency, issueDate, lines } = document;
  const { maxDescriptionLength } = kind.traits.documents;
  return {
    number,
    reference,
    contactId,
    currency,
    issueDate,
    lineAmounts: "exclusive",
    status: "approved",
    sourceUrl: sourceUrlOf(linkOf(kind, document), kind),
    lines: lines.map((line) => lineOf(line, maxDescriptionLength)),
  };
}

function doneOf(document: DocumentToSend, found: FoundDocument) {
  return {
    ...attemptOf(document),
    ledgerId: found.id,
    ledgerNumber: found.ledgerNumber,
    status: found.status,
    subtotal: found.subtotal,
    total: found.total,
    sent: found.sent,
    updatedAt: found.updatedAt,
  };
}

/** Whether there is no payment and no credit. An invoice over nothing is paid by itself. */
function isUntouched({ amountPaid, amountCredited }: LedgerInvoice): boolean {
  return [amountPaid, amountCredited].every((amount) => /^0(?:\.0*)?$/.test(amount));
}

/**
 * Names the lines by the ledger's order, which is the order in which they were sent. If lines were
 * added or removed there, none is known for sure.
 */
function namedLines(invoice: InvoiceToSend, found: LedgerInvoice): readonly NamedLine[] {
  if (invoice.lines.length !== found.lines.length) return [];
  return invoice.lines.flatMap(({ id }, index) => {
    const ledgerLineId = found.lines[index]?.ledgerLineId ?? "";
    return ledgerLineId === "" ? [] : [{ id, ledgerLineId }];
  });
}
