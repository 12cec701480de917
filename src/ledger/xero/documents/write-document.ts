/** Writes documents and lines for Xero. */
import { decimalTextOf, scaledOf } from "../../port/decimal-text.ts";
import { type NumberToken, numberToken } from "../../port/exact-json.ts";
import type { LedgerCreditNoteDraft, LedgerLineDraft } from "../../port/ledger.ts";
import { exactLine } from "../../port/lines/exact-line.ts";
import { xeroTraits } from "../wire/connection.ts";

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

/** A line in Xero's names. LineAmount is never sent: Xero multiplies itself. */
export interface XeroLine {
  readonly Description: string;
  readonly Quantity: NumberToken;
  readonly UnitAmount: NumberToken;
  readonly AccountCode: string;
  readonly TaxType?: string;
}

// Amounts have at most four places. `unitdp=4` lets Xero keep them.
const places = 4;

/** Returns the line with quantity and unit amount whose product is exactly the amount. */
export function writeLine(line: LedgerLineDraft): XeroLine {
  const exact = exactLine(line, xeroTraits.documents.maxDescriptionLength);
  return {
    Description: exact.description,
    Quantity: numberToken(exact.quantity),
    UnitAmount: numberToken(exact.unitAmount),
    AccountCode: line.accountCode,
    ...(line.taxType === null ? {} : { TaxType: line.taxType }),
  };
}

/**
 * Returns an amount of the port as a number token: all its digits, at most four places, never an
 * exponent (XERO-3).
 */
export function writeAmount(text: string): NumberToken {
  return numberToken(decimalTextOf(scaledOf(text, places), places));
}
