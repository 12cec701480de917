/**
 * A line of which the ledger makes exactly our amount. Only exact products are sent, because
 * ledgers do not document how they round quantity × unit amount.
 */
import { decimalTextOf, scaledOf, shortDecimalText } from "../decimal-text.ts";
import type { LedgerLineDraft } from "../ledger.ts";
import { cutText } from "../texts.ts";

/** The content of a line as it is sent. Quantity and unit amount have four places. */
export interface ExactLine {
  readonly description: string;
  readonly quantity: string;
  readonly unitAmount: string;
}

// Quantities, unit amounts and amounts have at most four places.
const places = 4;

/**
 * Returns quantity and unit amount if their product is exactly the amount. Otherwise returns 1 ×
 * amount, with the arithmetic in the description (`Seats (2.5 × 10.333 = 25.83)`).
 * `takesQuantity`: whether the ledger keeps this quantity as it is.
 */
export function exactLine(
  line: LedgerLineDraft,
  maxDescription: number,
  takesQuantity: (quantity: string) => boolean = () => true,
): ExactLine {
  const { description, quantity, unitAmount, amount } = line;
  const isExact =
    scaledOf(quantity, places) * scaledOf(unitAmount, places) === scaledOf(amount, 2 * places);
  if (isExact && takesQuantity(quantity)) {
    return {
      description: cutText(description, maxDescription),
      quantity: full(quantity),
      unitAmount: full(unitAmount),
    };
  }
  const tail = ` (${short(quantity)} × ${short(unitAmount)} = ${short(amount)})`;
  return {
    description: cutText(description, maxDescription - tail.length) + tail,
    quantity: full("1"),
    unitAmount: full(amount),
  };
}

function full(text: string): string {
  return decimalTextOf(scaledOf(text, places), places);
}

function short(text: string): string {
  return shortDecimalText(text, places);
}
