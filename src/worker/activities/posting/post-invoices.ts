/**
 * Posts waiting invoices in the ledger's form, and recognises those that the ledger already has.
 */
import type { Ledger, LedgerInvoice, LedgerInvoiceDraft } from "../../../ledger/port/ledger.ts";
import {
  type ClaimedJobs,
  groupSize,
  type InvoiceToSend,
} from "../../../store/ledger-jobs/claim-jobs.ts";
import type { NamedLine, PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import { adoptOrPost } from "./adopt-unknown.ts";
import { attemptOf, type GroupOutcome } from "./ledger-call.ts";
import { type CallSettings, lineOf, sameAmounts, sourceUrlOf } from "./post-documents.ts";

/** Sends ready invoices and looks up uncertain ones. */
export async function postInvoices(
  ledger: Ledger,
  claimed: ClaimedJobs<InvoiceToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const { hasDrafts } = settings.traits.documents;
  const kind = {
    name: "invoice",
    create: ledger.createInvoices,
    lookUpAtOnce: groupSize,
    find: ledger.findInvoices,
    idOf: ({ invoiceId }) => invoiceId,
    linkOf,
    draftOf: (invoice) => draftOf(invoice, settings),
    isOurs,
    readContacts: (call, ids) => ledger.getMany(call, { kind: "contacts", ids }),
    done,
  } as const satisfies Parameters<
    typeof adoptOrPost<InvoiceToSend, LedgerInvoiceDraft, LedgerInvoice>
  >[0];
  return adoptOrPost(kind, hasDrafts ? claimed : approved(claimed), settings);
}

/** The invoices as a ledger without drafts takes them: each is created approved (DOCUMENT-1). */
function approved({ ready, uncertain }: ClaimedJobs<InvoiceToSend>): ClaimedJobs<InvoiceToSend> {
  const withStatus = (invoice: InvoiceToSend) => ({
    ...invoice,
    firstStatus: "approved" as const,
  });
  return { ready: ready.map(withStatus), uncertain: uncertain.map(withStatus) };
}

/**
 * Whether a found invoice is ours. A link to us proves it, and a link elsewhere disproves it.
 * Without a link it must be as requested, without money on it, and possibly sent before (a first
 * attempt was not). Its contact is compared by the caller. POSTING-2.
 */
function isOurs(invoice: InvoiceToSend, found: LedgerInvoice): boolean {
  if (found.sourceUrl !== null) return found.sourceUrl.endsWith(linkOf(invoice));
  return (
    invoice.attempts > 1 &&
    found.currency === invoice.currency &&
    found.reference === invoice.reference &&
    found.issueDate === invoice.issueDate &&
    found.dueDate === invoice.dueDate &&
    found.subtotal === invoice.subtotal &&
    sameAmounts(invoice.lines, found.lines) &&
    isUntouched(found)
  );
}

/** Whether there is no payment and no credit. An invoice over nothing is paid by itself. */
function isUntouched({ amountPaid, amountCredited }: LedgerInvoice): boolean {
  return [amountPaid, amountCredited].every((amount) => /^0(?:\.0*)?$/.test(amount));
}

function done(invoice: InvoiceToSend, found: LedgerInvoice): PostingOutcome {
  return {
    ...attemptOf(invoice),
    kind: "invoice_done",
    ledgerId: found.id,
    ledgerNumber: found.ledgerNumber,
    status: found.status,
    subtotal: found.subtotal,
    total: found.total,
    amountDue: found.amountDue,
    sent: found.sent,
    updatedAt: found.updatedAt,
    lines: namedLines(invoice, found),
  };
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

/**
 * Returns the path of the link without the host, because our public address may change between two
 * attempts.
 */
function linkOf({ invoiceId }: InvoiceToSend): string {
  return `/v1/invoices/${invoiceId}`;
}

function draftOf(invoice: InvoiceToSend, settings: CallSettings): LedgerInvoiceDraft {
  const { maxDescriptionLength } = settings.traits.documents;
  return {
    number: invoice.number,
    reference: invoice.reference,
    contactId: invoice.contactId,
    currency: invoice.currency,
    issueDate: invoice.issueDate,
    dueDate: invoice.dueDate,
    lineAmounts: "exclusive",
    status: invoice.firstStatus,
    sourceUrl: sourceUrlOf(linkOf(invoice), settings),
    lines: invoice.lines.map((line) => lineOf(line, maxDescriptionLength)),
  };
}
