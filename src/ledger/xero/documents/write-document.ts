/** What invoices and credit notes have in common on their way to Xero. Facts: facts-ledger sections 1.3 and 1.4. */
import type { LedgerCreditNoteDraft } from "../../port/ledger.ts";
import { writeLine } from "./write-line.ts";

const firstStatuses = { draft: "DRAFT", awaiting_approval: "SUBMITTED", approved: "AUTHORISED" } as const;
/** How Xero names the kinds of amounts. */
export const lineAmountTypes = { exclusive: "Exclusive", inclusive: "Inclusive", none: "NoTax" } as const;

/** The query of every call about documents: without it Xero rounds unit amounts to two places. */
export const unitPlaces = { unitdp: "4" } as const;

/**
 * The members of a new document in Xero's names; type, number and what only an invoice has are not among them. An
 * invoice's draft has all that a credit note's has.
 */
export function writeDocument(draft: LedgerCreditNoteDraft): object {
  return {
    ...(draft.reference === "" ? {} : { Reference: draft.reference }),
    // Any other member of the contact would change the contact.
    Contact: { ContactID: draft.contactId },
    CurrencyCode: draft.currency,
    Date: draft.issueDate,
    LineAmountTypes: lineAmountTypes[draft.lineAmounts],
    Status: firstStatuses[draft.status],
    LineItems: draft.lines.map(writeLine),
  };
}
