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

const timestampText =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-]\d\d):(\d\d))$/;

/**
 * Returns the instant of an RFC 3339 text, or null if it is invalid. It needs seconds and an
 * offset, a real day, and no `:60` or `24:00`. Up to nine decimals are allowed; those beyond the
 * microsecond are dropped (USAGE-8).
 */
export function readTimestamp(text: string): Instant | null {
  const match = timestampText.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  const [fraction = "", hours = "+00", minutes = "00"] = match.slice(7);
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  if (!isDay || hour > 23 || minute > 59 || second > 59) return null;
  const [ahead, rest] = [Math.abs(Number(hours)), Number(minutes)];
  if (ahead > 23 || rest > 59) return null;
  const offsetMs = (ahead * 60 + rest) * (hours.startsWith("-") ? -60_000 : 60_000);
  const ms = Date.UTC(year + 400, month - 1, day, hour, minute, second) - msOf400Years - offsetMs;
  return BigInt(ms) * 1000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

/** Returns the instant of a `Date`, which has whole milliseconds. */
export function instantOf(date: Date): Instant {
  return BigInt(date.getTime()) * 1000n;
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

/** Returns whole milliseconds, and the 0 to 999 microseconds beyond them. */
function split(instant: Instant): { readonly ms: number; readonly beyond: number } {
  const beyond = ((instant % 1000n) + 1000n) % 1000n;
  return { ms: Number((instant - beyond) / 1000n), beyond: Number(beyond) };
}
