/**
 * Exact arithmetic on decimal text by bigint: a text is a whole number of its last place. Ledger
 * adapters read and write amounts with it. Rounding is half away from zero (MONEY-1, MONEY-2).
 */
import { strict as assert } from "node:assert";

// Digits with an optional fraction and exponent: every JSON number and all our decimal text.
const decimalPattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Returns true if the functions of this file can read the text as a decimal. */
export function isDecimalText(text: string): boolean {
  return decimalPattern.test(text);
}

/**
 * Returns the text's value times 10^places. If the text has more places, it is rounded half away
 * from zero. Accepts exponents (`1E-05`), because other systems write them. Throws if the text is
 * not a decimal.
 */
export function scaledOf(text: string, places: number): bigint {
  const match = decimalPattern.exec(text);
  assert(match, "not a decimal");
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = BigInt(whole + fraction);
  const shift = places - fraction.length + Number(exponent);
  const magnitude =
    shift >= 0 ? digits * 10n ** BigInt(shift) : divideRounded(digits, 10n ** BigInt(-shift));
  return sign === "-" ? -magnitude : magnitude;
}

/**
 * Returns `numerator / denominator` as a whole number, rounded half away from zero. The denominator
 * must be above zero.
 */
export function divideRounded(numerator: bigint, denominator: bigint): bigint {
  const magnitude = numerator < 0n ? -numerator : numerator;
  const rounded = (2n * magnitude + denominator) / (2n * denominator);
  return numerator < 0n ? -rounded : rounded;
}

/** Returns `scaled` / 10^places as decimal text with all places (`10.9500`), never an exponent. */
export function decimalTextOf(scaled: bigint, places: number): string {
  const magnitude = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
  const cut = magnitude.length - places;
  const text = places === 0 ? magnitude : `${magnitude.slice(0, cut)}.${magnitude.slice(cut)}`;
  return scaled < 0n ? `-${text}` : text;
}

/**
 * Returns the same value without trailing zeros or exponent (`10.9500` becomes `10.95`, `3.0000`
 * becomes `3`).
 */
export function shortDecimalText(text: string, places: number): string {
  const full = decimalTextOf(scaledOf(text, places), places);
  return full.includes(".") ? full.replace(/\.?0+$/, "") : full;
}
