/**
 * Reads what clients write in an event: quantities and timestamps, each by a grammar of its own and without losing a digit. Two texts
 * mean the same where what is read of them is equal. decisions §3 "Usage".
 */
import { daysInMonth } from "./civil-date.ts";

/** A quantity above zero as text with exactly four places: the same number is the same text. Up to 24 digits. */
export type Quantity = string & { readonly kind: "Quantity" };

/** A point of time in microseconds since 1970, as fine as PostgreSQL keeps it. */
export type Instant = bigint;

/** Spec: Usage event, `quantity`; decisions §3: also as a number of no more characters. */
const longestQuantity = 20;

const quantityText = /^(0|[1-9][0-9]*)(?:\.([0-9]{1,4}))?$/;

/** The quantity of a text, null where it is none: a plain number above zero without sign, exponent or leading zero. Spec: Usage event. */
export function readQuantity(text: string): Quantity | null {
  if (text.length > longestQuantity) return null;
  const match = quantityText.exec(text);
  if (match === null) return null;
  const [, whole = "", fraction = ""] = match;
  const canonical = `${whole}.${fraction.padEnd(4, "0")}`;
  return canonical === "0.0000" ? null : (canonical as Quantity);
}

const timestampText =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/;

/** `Date.UTC` reads the years 0 to 99 as 1900 to 1999; 400 years later the calendar is the same, this much later. */
const msOf400Years = 146_097 * 86_400_000;

/**
 * The instant of an RFC 3339 text, null where it is none: with seconds and an offset, no `:60`, no `24:00`, days as the calendar has
 * them, up to nine decimals, of which those beyond the microsecond are dropped. decisions §3 "Usage".
 */
export function readTimestamp(text: string): Instant | null {
  const match = timestampText.exec(text);
  if (match === null) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6])];
  const [offsetHour, offsetMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return null;
  const offsetMs = (offsetHour * 60 + offsetMinute) * 60_000;
  const localMs = Date.UTC(year + 400, month - 1, day, hour, minute, second) - msOf400Years;
  const ms = match[8] === "-" ? localMs + offsetMs : localMs - offsetMs;
  return BigInt(ms) * 1000n + BigInt((match[7] ?? "").slice(0, 6).padEnd(6, "0"));
}

/** The instant of a `Date`, which has whole milliseconds. */
export function instantOf(date: Date): Instant {
  return BigInt(date.getTime()) * 1000n;
}

/** The `Date` of an instant, without its last three digits: the millisecond that it lies in. */
export function dateOf(instant: Instant): Date {
  return new Date(Number((instant - microsecondsOf(instant)) / 1000n));
}

/** The instant in UTC with six decimals, `2026-03-05T10:15:00.000000Z`; of the years 1 to 9999. */
export function formatInstant(instant: Instant): string {
  const beyondMs = String(microsecondsOf(instant)).padStart(3, "0");
  return `${dateOf(instant).toISOString().slice(0, -1)}${beyondMs}Z`;
}

/** 0 to 999, also before 1970. */
function microsecondsOf(instant: Instant): bigint {
  const rest = instant % 1000n;
  return rest < 0n ? rest + 1000n : rest;
}
