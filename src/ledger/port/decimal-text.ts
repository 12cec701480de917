/**
 * Decimal text as a whole number of its last place, on bigint: what ledgers need to read and write amounts without a
 * float. Rounding is half away from zero, the same direction as everywhere else in billing.
 */
import { strict as assert } from "node:assert";

// Digits with an optional fraction and exponent: everything that a JSON number can be, and every decimal text of ours.
const decimalPattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** True where the text is a decimal that the functions here can read. */
export function isDecimalText(text: string): boolean {
  return decimalPattern.test(text);
}

/**
 * The text's value times 10^places, rounded half away from zero where the text has more places.
 * Takes exponents (`1E-05`), because other systems write them. Fails on text that is no decimal.
 */
export function scaledOf(text: string, places: number): bigint {
  const match = decimalPattern.exec(text);
  assert(match, "not a decimal");
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = BigInt(whole + fraction);
  const shift = places - fraction.length + Number(exponent);
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : divideRounded(digits, 10n ** BigInt(-shift));
  return sign === "-" ? -magnitude : magnitude;
}

/** `numerator / denominator` as a whole number, half away from zero. The denominator is above zero. */
export function divideRounded(numerator: bigint, denominator: bigint): bigint {
  const magnitude = numerator < 0n ? -numerator : numerator;
  const rounded = (2n * magnitude + denominator) / (2n * denominator);
  return numerator < 0n ? -rounded : rounded;
}

/** The decimal text of `scaled` / 10^places, with all places (`10.9500`), never an exponent. */
export function decimalTextOf(scaled: bigint, places: number): string {
  const magnitude = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
  const cut = magnitude.length - places;
  const text = places === 0 ? magnitude : `${magnitude.slice(0, cut)}.${magnitude.slice(cut)}`;
  return scaled < 0n ? `-${text}` : text;
}

/** The same value without trailing zeros or exponent (`10.9500` becomes `10.95`, `3.0000` becomes `3`). */
export function shortDecimalText(text: string, places: number): string {
  const full = decimalTextOf(scaledOf(text, places), places);
  return full.includes(".") ? full.replace(/\.?0+$/, "") : full;
}
