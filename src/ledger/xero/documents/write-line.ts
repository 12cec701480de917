/**
 * Writes a line for Xero. It sends only exact products, because Xero does not document how it
 * rounds Quantity × UnitAmount.
 */
import { decimalTextOf, scaledOf, shortDecimalText } from "../../port/decimal-text.ts";
import { type NumberToken, numberToken } from "../../port/exact-json.ts";
import type { LedgerLineDraft } from "../../port/ledger.ts";
import { cutText } from "../../port/texts.ts";
import { xeroTraits } from "../wire/connection.ts";

/** A line in Xero's names. LineAmount is never sent: Xero multiplies itself. */
export interface XeroLine {
  readonly Description: string;
  readonly Quantity: NumberToken;
  readonly UnitAmount: NumberToken;
  readonly AccountCode: string;
  readonly TaxType?: string;
}

// Quantities, unit amounts and amounts have at most four places. `unitdp=4` lets Xero keep them.
const places = 4;

const maxDescription = xeroTraits.documents.maxDescriptionLength;

/**
 * Returns quantity and unit amount if their product is exactly the amount. Otherwise returns 1 ×
 * amount, with the arithmetic in the description (`Seats (2.5 × 10.333 = 25.83)`).
 */
export function writeLine(line: LedgerLineDraft): XeroLine {
  const isExact =
    scaledOf(line.quantity, places) * scaledOf(line.unitAmount, places) ===
    scaledOf(line.amount, 2 * places);
  const sum = `${short(line.quantity)} × ${short(line.unitAmount)} = ${short(line.amount)}`;
  return {
    Description: isExact
      ? cutText(line.description, maxDescription)
      : describe(line.description, sum),
    Quantity: writeAmount(isExact ? line.quantity : "1"),
    UnitAmount: writeAmount(isExact ? line.unitAmount : line.amount),
    AccountCode: line.accountCode,
    ...(line.taxType === null ? {} : { TaxType: line.taxType }),
  };
}

function describe(description: string, sum: string): string {
  const tail = ` (${sum})`;
  return cutText(description, maxDescription - tail.length) + tail;
}

function short(text: string): string {
  return shortDecimalText(text, places);
}

/**
 * Returns an amount of the port as a number token: all its digits, at most four places, never an
 * exponent (XERO-3).
 */
export function writeAmount(text: string): NumberToken {
  return numberToken(decimalTextOf(scaledOf(text, places), places));
}
