/**
 * Exact decimal numbers on bigint, for money and metered quantities. Only `roundQuotient` rounds,
 * half away from zero, so that an amount is rounded exactly once (MONEY-1, MONEY-2).
 */
import { assert } from "../assert.ts";

/**
 * The number `unscaled / 10^scale`; `scale` is zero or more. It is a plain object, so it can be
 * logged, stored and compared field by field. Values of different scale can be the same number: use
 * `compare`.
 */
export interface Decimal {
  readonly unscaled: bigint;
  readonly scale: number;
}

/** The decimal places of every decimal text of the API (OBJECT-2). */
const textPlaces = 4;

/** The number 0. */
export const ZERO: Decimal = { unscaled: 0n, scale: 0 };

const decimalText = /^-?\d+(?:\.\d+)?$/;

/**
 * Parses the decimal text of a trusted source (database, ledger, validated request), with as many
 * places as were written. A sign is allowed, an exponent is not. Client input is narrower and
 * validated at the transport.
 */
export function parseDecimal(text: string): Decimal {
  // No captures: amounts of lists are parsed by the thousand, and captures double the time.
  assert(decimalText.test(text), `not a decimal: ${JSON.stringify(text)}`);
  const point = text.indexOf(".");
  if (point === -1) return { unscaled: BigInt(text), scale: 0 };
  const unscaled = BigInt(text.slice(0, point) + text.slice(point + 1));
  return { unscaled, scale: text.length - point - 1 };
}

/**
 * Formats four places (`19.9900`), the form of every decimal in the API. Asserts that no place is
 * lost (OBJECT-2).
 */
export function formatDecimal(value: Decimal): string {
  const unscaled =
    value.scale === textPlaces ? value.unscaled : rescale(value, textPlaces).unscaled;
  const digits = magnitude(unscaled)
    .toString()
    .padStart(textPlaces + 1, "0");
  const point = digits.length - textPlaces;
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * Formats the shortest text of the same number: no trailing zeros, no bare point (`10`, `12.5`).
 * For prose only.
 */
export function formatShort(value: Decimal): string {
  const digits = magnitude(value.unscaled)
    .toString()
    .padStart(value.scale + 1, "0");
  const point = digits.length - value.scale;
  const fraction = digits.slice(point).replace(/0+$/, "");
  const sign = value.unscaled < 0n ? "-" : "";
  return `${sign}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Returns the decimal of a whole number. A `number` must be a safe integer. */
export function decimalOf(integer: number | bigint): Decimal {
  assert(
    typeof integer === "bigint" || Number.isSafeInteger(integer),
    `not a whole number: ${integer}`,
  );
  return { unscaled: BigInt(integer), scale: 0 };
}

/** Returns left + right, exact. */
export function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return { unscaled: widen(left, scale) + widen(right, scale), scale };
}

/** Returns left − right, exact. */
export function subtract(left: Decimal, right: Decimal): Decimal {
  return add(left, negate(right));
}

/** Returns the same number with the other sign; 0 stays 0. */
export function negate(value: Decimal): Decimal {
  return { unscaled: -value.unscaled, scale: value.scale };
}

/** Returns left × right, exact. The number of places is the sum of both. */
export function multiply(left: Decimal, right: Decimal): Decimal {
  return { unscaled: left.unscaled * right.unscaled, scale: left.scale + right.scale };
}

/** Returns the exact sum, 0 for an empty list. */
export function sum(values: Iterable<Decimal>): Decimal {
  let total = ZERO;
  for (const value of values) total = add(total, value);
  return total;
}

/**
 * Negative if left < right, 0 if they are the same number, positive if left > right. Usable in
 * `sort`.
 */
export function compare(left: Decimal, right: Decimal): -1 | 0 | 1 {
  const scale = Math.max(left.scale, right.scale);
  const difference = widen(left, scale) - widen(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether both are the same number, whatever their scales. */
export function equals(left: Decimal, right: Decimal): boolean {
  return compare(left, right) === 0;
}

/** Whether the number is below zero. */
export function isNegative(value: Decimal): boolean {
  return value.unscaled < 0n;
}

/** Whether the number is zero. */
export function isZero(value: Decimal): boolean {
  return value.unscaled === 0n;
}

/** Returns the smaller of the two numbers. */
export function minimum(left: Decimal, right: Decimal): Decimal {
  return compare(left, right) <= 0 ? left : right;
}

/**
 * Returns numerator ÷ denominator to `places` places: the exact quotient, rounded once, half away
 * from zero. This is the only division and the only rounding of the service. Multiply before
 * dividing, and round a line once (MONEY-2).
 */
export function roundQuotient(numerator: Decimal, denominator: Decimal, places: number): Decimal {
  assert(denominator.unscaled !== 0n, "division by zero");
  assert(Number.isInteger(places) && places >= 0, `not a number of places: ${places}`);
  const scale = Math.max(numerator.scale, denominator.scale);
  const dividend = widen(numerator, scale) * power(places);
  const divisor = widen(denominator, scale);
  return { unscaled: divide(dividend, divisor), scale: places };
}

/** Returns the number rounded once to `places` places, half away from zero. */
export function round(value: Decimal, places: number): Decimal {
  return roundQuotient(value, { unscaled: 1n, scale: 0 }, places);
}

function divide(dividend: bigint, divisor: bigint): bigint {
  const quotient = magnitude(dividend) / magnitude(divisor);
  const remainder = magnitude(dividend) % magnitude(divisor);
  const sign = dividend < 0n === divisor < 0n ? 1n : -1n;
  return sign * (2n * remainder >= magnitude(divisor) ? quotient + 1n : quotient);
}

/** Returns the same number at another scale. Asserts that no digit is lost. */
function rescale(value: Decimal, scale: number): Decimal {
  if (scale >= value.scale) return { unscaled: widen(value, scale), scale };
  const factor = power(value.scale - scale);
  assert(
    value.unscaled % factor === 0n,
    `more than ${scale} places: ${value.unscaled}e-${value.scale}`,
  );
  return { unscaled: value.unscaled / factor, scale };
}

function widen(value: Decimal, scale: number): bigint {
  return value.unscaled * power(scale - value.scale);
}

function power(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
