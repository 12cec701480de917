/** Writes a line for Xero. */
import { decimalTextOf, scaledOf } from "../../port/decimal-text.ts";
import { type NumberToken, numberToken } from "../../port/exact-json.ts";
import type { LedgerLineDraft } from "../../port/ledger.ts";
import { exactLine } from "../../port/lines/exact-line.ts";
import { xeroTraits } from "../wire/connection.ts";

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
