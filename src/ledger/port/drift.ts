/** Compares what gives a document's amounts their meaning with what ours mean (LEDGER-20). */
import type { LedgerInvoice, LedgerMeaning } from "./documents.ts";
import type { LedgerFailure } from "./failures.ts";

/**
 * Returns the refusal of a change of an invoice whose amounts mean something else in the ledger, or
 * null. `isMerged`: our contact was merged into the invoice's. What the ledger did not report is
 * not compared.
 */
export function refusedDrift(
  invoice: Pick<LedgerInvoice, "number" | "contactId" | "currency" | "lineAmounts">,
  meaning: LedgerMeaning,
  isMerged: boolean,
): LedgerFailure | null {
  const { currency, lineAmounts } = invoice;
  const differing = [
    ...(currency === meaning.currency ? [] : [`its currency is ${currency}`]),
    ...(lineAmounts === null || lineAmounts === meaning.lineAmounts
      ? []
      : [`its amounts are ${taxWords[lineAmounts]}`]),
    ...(hasContact(invoice, meaning) || isMerged ? [] : ["it is for another contact"]),
  ];
  if (differing.length === 0) return null;
  const message = `Invoice ${invoice.number} was changed in the ledger: ${differing.join(", ")}.`;
  return { kind: "refused", reason: "drift", messages: [message] };
}

/** Whether the document's contact is ours, without a merge. */
export function hasContact(
  { contactId }: Pick<LedgerInvoice, "contactId">,
  meaning: LedgerMeaning,
): boolean {
  return contactId.toLowerCase() === meaning.contactId.toLowerCase();
}

const taxWords = {
  exclusive: "without tax",
  inclusive: "inclusive of tax",
  none: "without any tax",
} as const satisfies Record<LedgerMeaning["lineAmounts"], string>;
