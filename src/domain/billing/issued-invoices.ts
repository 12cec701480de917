/**
 * What an issued invoice still allows: whether it is ahead, unsent, paid on, or amendable. Whether
 * the next period is invoiced.
 */
import type { BillingState, IssuedInvoice } from "../model/billing-state.ts";
import type { DocumentStatus, InvoiceLineDraft } from "../model/invoice.ts";
import { equals, isZero } from "../money/decimal.ts";
import { presenceOf } from "./document-presence.ts";
import { willRenew } from "./due-date.ts";
import { tooMuch } from "./invoice-lines.ts";

/** Returns the renewal invoice that was issued ahead and keeps its place (DOCUMENT-7). */
export function issuedAhead({
  nextPeriod,
  invoices,
}: Pick<BillingState, "nextPeriod" | "invoices">): IssuedInvoice | null {
  if (nextPeriod === null) return null;
  return (
    invoices.find(
      ({ type, periodIndex }) => type === "renewal" && periodIndex === nextPeriod.index,
    ) ?? null
  );
}

/**
 * Whether the next period is invoiced: a renewal invoice was issued for it, and no end of ours
 * removed it. It stays invoiced if a person removes that invoice in the ledger (UNITS-7).
 */
export function isNextInvoiced(
  state: Pick<BillingState, "subscription" | "nextPeriod" | "invoices" | "endRemovedRenewal">,
): boolean {
  if (state.nextPeriod === null || !willRenew(state.subscription)) return false;
  return issuedAhead(state) !== null || !state.endRemovedRenewal;
}

/**
 * Whether these lines may be added to the invoice: it is a draft in the ledger, of our currency,
 * kind of amounts and contact, that can hold them (LEDGER-20, MONEY-8).
 */
export function takesLines(invoice: IssuedInvoice, lines: readonly InvoiceLineDraft[]): boolean {
  const { status, inLedger, isAltered, total } = invoice;
  return status === "draft" && inLedger && !isAltered && tooMuch(lines, total) === null;
}

/**
 * Returns why an invoice's plan line cannot be re-priced, as the end of a sentence; null if it can
 * (UNITS-8).
 */
export function notAmendable(invoice: IssuedInvoice): string | null {
  const { number, status, inLedger, isAltered, total, amountDue, isPlanLineKnown } = invoice;
  const presence = presenceOf(invoice);
  if (presence === "to_be_sent") return `invoice ${number} is still to be sent to the ledger`;
  if (presence === "nowhere" || !inLedger) return `invoice ${number} is not in the ledger`;
  if (status === "paid") return `invoice ${number} is paid`;
  if (!equals(total, amountDue)) return `invoice ${number} has a payment or credit on it`;
  if (isAltered)
    return `invoice ${number} has another currency, kind of amounts or contact in the ledger`;
  // A line that is sent without the ledger's id would be added a second time (LEDGER-13).
  return isPlanLineKnown ? null : `it is not known which line of invoice ${number} is the plan's`;
}

/** Whether the invoice has a payment or credit on it, which prevents its removal (END-3). */
export function hasMoney({
  status,
  total,
  amountDue,
}: Pick<IssuedInvoice, "status" | "total" | "amountDue">): boolean {
  return (status === "paid" && !isZero(total)) || !equals(total, amountDue);
}

/**
 * Whether the document is neither approved nor sent, so that it can be deleted instead of voided
 * (END-5).
 */
export function isUnsent({
  status,
  sent,
}: {
  readonly status: DocumentStatus;
  readonly sent: boolean;
}): boolean {
  return !sent && (status === "draft" || status === "awaiting_approval");
}
