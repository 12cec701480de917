/**
 * Parses quantities and timestamps of usage events, each by its own grammar and without losing a
 * digit. Two texts mean the same if their parsed values are equal (USAGE-4, USAGE-8).
 */
import { daysInMonth } from "../calendar/civil-date.ts";

/**
 * A quantity above zero as text with exactly four places, up to 24 digits. Equal numbers have equal
 * texts.
 */
export type Quantity = string & { readonly kind: "Quantity" };

/** A point in time in microseconds since 1970, the precision of PostgreSQL. */
export type Instant = bigint;

/** The most characters of a quantity, also if it is sent as a number (USAGE-8). */
const maxQuantityLength = 20;

const quantityText = /^(0|[1-9][0-9]*)(?:\.([0-9]{1,4}))?$/;

/**
 * Returns the quantity of a text, or null if it is invalid. Valid is a plain number above zero
 * without sign, exponent or leading zero (USAGE-8).
 */
export function readQuantity(text: string): Quantity | null {
  if (text.length > maxQuantityLength) return null;
  const match = quantityText.exec(text);
  if (match === null) return null;
  const [, whole = "", fraction = ""] = match;
  const canonical = `${whole}.${fraction.padEnd(4, "0")}`;
  return canonical === "0.0000" ? null : (canonical as Quantity);
}

/**
 * `Date.UTC` reads the years 0 to 99 as 1900 to 1999. The calendar repeats after 400 years, this
 * many milliseconds.
 */
const msOf400Years = 146_097 * 86_400_000;

/**
 * Returns the instant of an RFC 3339 text, or null if it is invalid. It needs seconds and an
 * offset, a real day, and no `:60` or `24:00`. Up to nine decimals are allowed; those beyond the
 * microsecond are dropped (USAGE-8).
 */
export function readTimestamp(text: string): Instant | null {
  // Read by character: a batch has a hundred timestamps, and a regular expression takes four times
  // as long.
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2)];
  const [hour, minute, second] = [digits(text, 11, 2), digits(text, 14, 2), digits(text, 17, 2)];
  if (text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || text[16] !== ":") return null;
  if (
    (text[10] !== "T" && text[10] !== "t") ||
    !(year >= 0 && month >= 1 && month <= 12 && day >= 1)
  )
    return null;
  if (day > daysInMonth(year, month) || !(hour <= 23 && minute <= 59 && second <= 59)) return null;
  const fractionEnd = endOfFraction(text);
  const offsetMs = readOffset(text, fractionEnd);
  if (Number.isNaN(offsetMs)) return null;
  const ms = Date.UTC(year + 400, month - 1, day, hour, minute, second) - msOf400Years - offsetMs;
  return joined(ms, microseconds(text, fractionEnd));
}

/** The index at which the seconds end and their decimals begin. */
const secondsEnd = 19;

/**
 * Returns the index at which the decimals of the seconds end. Returns the end of the seconds if
 * there are none or too many.
 */
function endOfFraction(text: string): number {
  if (text[secondsEnd] !== ".") return secondsEnd;
  let end = secondsEnd + 1;
  while (isDigit(text.charCodeAt(end))) end += 1;
  const length = end - secondsEnd - 1;
  return length >= 1 && length <= 9 ? end : secondsEnd;
}

function microseconds(text: string, fractionEnd: number): number {
  let value = 0;
  for (let at = secondsEnd + 1; at <= secondsEnd + 6; at += 1) {
    value = value * 10 + (at < fractionEnd ? text.charCodeAt(at) - zero : 0);
  }
  return value;
}

/**
 * Returns milliseconds ahead of UTC, or NaN if the text does not end with an offset that begins at
 * `at`.
 */
function readOffset(text: string, at: number): number {
  const sign = text[at];
  if (sign === "Z" || sign === "z") return text.length === at + 1 ? 0 : Number.NaN;
  if ((sign !== "+" && sign !== "-") || text[at + 3] !== ":" || text.length !== at + 6)
    return Number.NaN;
  const [hours, minutes] = [digits(text, at + 1, 2), digits(text, at + 4, 2)];
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN;
  return (hours * 60 + minutes) * (sign === "-" ? -60_000 : 60_000);
}

const zero = 0x30;

function isDigit(code: number): boolean {
  return code >= zero && code <= zero + 9;
}

/** Returns the number of this many digits, or NaN if other characters are there. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at += 1) {
    const code = text.charCodeAt(at);
    if (!isDigit(code)) return Number.NaN;
    value = value * 10 + code - zero;
  }
  return value;
}

/** Returns the instant of a `Date`, which has whole milliseconds. */
export function instantOf(date: Date): Instant {
  return joined(date.getTime(), 0);
}

/**
 * Returns the `Date` of an instant without its last three digits: the millisecond that contains it.
 */
export function dateOf(instant: Instant): Date {
  return new Date(split(instant).ms);
}

/**
 * Formats the instant in UTC with six decimals, `2026-03-05T10:15:00.000000Z`, for the years 1 to
 * 9999.
 */
export function formatInstant(instant: Instant): string {
  const { ms, beyond } = split(instant);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(beyond).padStart(3, "0")}Z`;
}

/** The inverse of `split`. */
function joined(ms: number, beyond: number): Instant {
  const near = ms * 1000 + beyond;
  return Number.isSafeInteger(near) ? BigInt(near) : BigInt(ms) * 1000n + BigInt(beyond);
}

/** Returns whole milliseconds, and the 0 to 999 microseconds beyond them. */
function split(instant: Instant): { readonly ms: number; readonly beyond: number } {
  const near = Number(instant);
  // For the years 1684 to 2255 a number is exact, and computes five times as fast.
  if (Number.isSafeInteger(near)) {
    const ms = Math.floor(near / 1000);
    return { ms, beyond: near - ms * 1000 };
  }
  const beyond = ((instant % 1000n) + 1000n) % 1000n;
  return { ms: Number((instant - beyond) / 1000n), beyond: Number(beyond) };
}
