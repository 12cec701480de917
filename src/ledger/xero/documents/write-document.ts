/** The members that invoices and credit notes share when they are sent to Xero. */
import type { LedgerCreditNoteDraft } from "../../port/ledger.ts";
import { writeLine } from "./write-line.ts";

const firstStatuses = {
  draft: "DRAFT",
  awaiting_approval: "SUBMITTED",
  approved: "AUTHORISED",
} as const;
/** Xero's names for the kinds of amounts. */
export const lineAmountTypes = {
  exclusive: "Exclusive",
  inclusive: "Inclusive",
  none: "NoTax",
} as const;

/**
 * The query of every call about documents. Without it Xero rounds unit amounts to two places
 * (XERO-1).
 */
export const unitPlaces = { unitdp: "4" } as const;

/**
 * Returns the members of a new document in Xero's names, without type, number and the members of
 * invoices only. An invoice's draft has all members of a credit note's.
 */
export function writeDocument(draft: LedgerCreditNoteDraft): object {
  return {
    ...(draft.reference === "" ? {} : { Reference: draft.reference }),
    // Any other member would change the contact (XERO-4).
    Contact: { ContactID: draft.contactId },
    CurrencyCode: draft.currency,
    Date: draft.issueDate,
    LineAmountTypes: lineAmountTypes[draft.lineAmounts],
    Status: firstStatuses[draft.status],
    LineItems: draft.lines.map(writeLine),
  };
}
