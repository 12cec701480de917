/**
 * Xero's arithmetic of a document: line amounts and tax are rounded to two places for each line,
 * then summed. Quantity × UnitAmount is rounded half away from zero here. Xero's rounding is not
 * documented.
 */
import {
  decimalTextOf,
  divideRounded,
  scaledOf,
} from "../../../../src/ledger/port/decimal-text.ts";

/** How amounts contain tax, in Xero's words. */
export type LineAmountTypes = "Exclusive" | "Inclusive" | "NoTax";

/**
 * The input of a line's amounts. `percent` is the tax rate. `taxAmount` replaces the computed tax.
 */
interface LineInput {
  readonly quantity: string;
  readonly unitAmount: string;
  readonly percent: string;
  readonly taxAmount: string | null;
}

/** A line's amounts with two places. */
interface LineAmounts {
  readonly lineAmount: string;
  readonly taxAmount: string;
}

/** A document's amounts with two places. */
interface DocumentAmounts {
  readonly subTotal: string;
  readonly totalTax: string;
  readonly total: string;
}

// Quantities, unit amounts and rates have four places. Results have two.
const inputPlaces = 4;
const amountPlaces = 2;
const fromProduct = 10n ** BigInt(2 * inputPlaces - amountPlaces);
const wholePercent = 100n * 10n ** BigInt(inputPlaces);

/** Returns the amount and tax of one line. */
export function lineAmountsOf(line: LineInput, types: LineAmountTypes): LineAmounts {
  const product = scaledOf(line.quantity, inputPlaces) * scaledOf(line.unitAmount, inputPlaces);
  const amount = divideRounded(product, fromProduct);
  const tax =
    line.taxAmount === null
      ? taxOf(amount, line.percent, types)
      : scaledOf(line.taxAmount, amountPlaces);
  return {
    lineAmount: decimalTextOf(amount, amountPlaces),
    taxAmount: decimalTextOf(tax, amountPlaces),
  };
}

/** Returns the subtotal without tax, the tax, and the total with tax. */
export function documentAmountsOf(
  lines: readonly LineAmounts[],
  types: LineAmountTypes,
): DocumentAmounts {
  const sum = (texts: readonly string[]) =>
    texts.reduce((total, text) => total + scaledOf(text, amountPlaces), 0n);
  const amount = sum(lines.map(({ lineAmount }) => lineAmount));
  const tax = sum(lines.map(({ taxAmount }) => taxAmount));
  const subTotal = types === "Inclusive" ? amount - tax : amount;
  return {
    subTotal: decimalTextOf(subTotal, amountPlaces),
    totalTax: decimalTextOf(tax, amountPlaces),
    total: decimalTextOf(subTotal + tax, amountPlaces),
  };
}

function taxOf(amount: bigint, percent: string, types: LineAmountTypes): bigint {
  const rate = scaledOf(percent, inputPlaces);
  if (types === "NoTax") return 0n;
  return divideRounded(amount * rate, types === "Inclusive" ? wholePercent + rate : wholePercent);
}
