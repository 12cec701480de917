/**
 * 200,000 quantities and as many timestamps, good, bad and hostile, compared with a second reader
 * that walks over the characters and counts days, without expressions and without `Date`. USAGE-8.
 */
import { describe, expect, test } from "vitest";
import { formatInstant, readQuantity, readTimestamp } from "../../src/domain/usage/parse.ts";
import { UsageEventSchema } from "../../src/gen/proto/billing/v1/usage_pb.ts";
import { patternOf } from "../../src/transport/rpc/validation/validate.ts";

/** Of 59 faults put into the readers one by one, the last one shows after some 124,000 texts. */
const count = 200_000;

/** Numbers from 0 to below `end`, the same ones in every run (mulberry32). */
function randomNumbers(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
}

const strange = [
  "",
  " ",
  "\n",
  "\0",
  ".",
  ",",
  "/",
  ":",
  "-",
  "+",
  "e",
  "E",
  "T",
  "t",
  "Z",
  "z",
  "0",
  "1",
  "9",
  "６",
  "٣",
  "²",
  "😀",
];

/** The text as it is, or with a character put in, taken out or replaced. */
function disturb(text: string, below: (end: number) => number): string {
  if (below(4) > 0) return text;
  const at = below(text.length + 1);
  return text.slice(0, at) + (strange[below(strange.length)] ?? "") + text.slice(at + below(2));
}

function isDigits(text: string): boolean {
  for (let at = 0; at < text.length; at += 1)
    if (text.charCodeAt(at) < 48 || text.charCodeAt(at) > 57) return false;
  return text !== "";
}

/** Ten-thousandths of the number, null if the text is none. */
function ownQuantity(text: string): bigint | null {
  const [whole = "", places, ...more] = text.split(".");
  if (text.length > 20 || more.length > 0 || !isDigits(whole)) return null;
  if (whole.startsWith("0") && whole !== "0") return null;
  if (places !== undefined && (!isDigits(places) || places.length > 4)) return null;
  const value = BigInt(whole) * 10_000n + BigInt(`${places ?? ""}0000`.slice(0, 4));
  return value > 0n ? value : null;
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isLeap(year: number): boolean {
  return year % 400 === 0 || (year % 4 === 0 && year % 100 !== 0);
}

/** Days before 1 January of the year, in the calendar carried back to the year 0. */
function daysBefore(year: number): number {
  if (year === 0) return 0;
  const past = year - 1;
  return year * 365 + Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400) + 1;
}

/** The positions and lengths of year, month, day, hour, minute and second. */
const numbers = [
  [0, 4],
  [5, 2],
  [8, 2],
  [11, 2],
  [14, 2],
  [17, 2],
] as const;

/** Microseconds since 1970, null if the text is no timestamp. */
function ownTimestamp(text: string): bigint | null {
  // The separators between the numbers, then the numbers.
  const separators = `${text[4]}${text[7]}${text[10]}${text[13]}${text[16]}`;
  if (separators !== "--T::" && separators !== "--t::") return null;
  for (const [from, length] of numbers) if (!isDigits(text.slice(from, from + length))) return null;
  let at = 19;
  let fraction = "";
  if (text[at] === ".") {
    for (at += 1; isDigits(text[at] ?? ""); at += 1) fraction += text[at];
    if (fraction === "" || fraction.length > 9) return null;
  }
  const offset = text.slice(at);
  let offsetMinutes = 0;
  if (offset !== "Z" && offset !== "z") {
    if (
      (!offset.startsWith("+") && !offset.startsWith("-")) ||
      offset[3] !== ":" ||
      offset.length !== 6
    )
      return null;
    if (!isDigits(offset.slice(1, 3)) || !isDigits(offset.slice(4))) return null;
    const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(4))];
    if (hours >= 24 || minutes >= 60) return null;
    offsetMinutes = (hours * 60 + minutes) * (offset.startsWith("-") ? -1 : 1);
  }
  const part = (from: number, length: number) => Number(text.slice(from, from + length));
  const [year, month, day] = [part(0, 4), part(5, 2), part(8, 2)];
  const [hour, minute, second] = [part(11, 2), part(14, 2), part(17, 2)];
  const length = (monthDays[month - 1] ?? 0) + (month === 2 && isLeap(year) ? 1 : 0);
  if (day < 1 || day > length || hour >= 24 || minute >= 60 || second >= 60) return null;
  let days = daysBefore(year) - daysBefore(1970) + day - 1;
  for (let before = 1; before < month; before += 1)
    days += (monthDays[before - 1] ?? 0) + (before === 2 && isLeap(year) ? 1 : 0);
  const minutes = BigInt(days) * 1440n + BigInt(hour * 60 + minute - offsetMinutes);
  return (minutes * 60n + BigInt(second)) * 1_000_000n + BigInt(`${fraction}000000`.slice(0, 6));
}

/**
 * Holds two readings of every text against each other, and says how many texts were good: neither
 * all nor none.
 */
function compareReadings<T>(
  texts: () => string,
  read: (text: string) => T,
  own: (text: string) => T,
): number {
  let good = 0;
  for (let index = 0; index < count; index += 1) {
    const text = texts();
    const [ours, theirs] = [read(text), own(text)];
    if (theirs !== null) good += 1;
    if (ours !== theirs) expect({ text, read: ours }).toEqual({ text, read: theirs });
  }
  return good;
}

describe("200,000 of each:", () => {
  const digits = (length: number, below: (end: number) => number) =>
    Array.from({ length }, () => (below(3) === 0 ? "0" : below(10))).join("");

  test("quantities keep their numbers, and the contract's pattern takes just those", () => {
    const below = randomNumbers(20_261_121);
    const texts = () => {
      const whole = below(4) === 0 ? "0" : digits(below(below(3) === 0 ? 23 : 6), below);
      return disturb(below(2) === 0 ? whole : `${whole}.${digits(below(6), below)}`, below);
    };
    const pattern = new RegExp(patternOf(UsageEventSchema.field.quantity), "u");
    const read = (text: string) => {
      const quantity = readQuantity(text);
      if ((pattern.test(text) && text.length <= 20) !== (quantity !== null))
        expect.fail(`the pattern disagrees on ${text}`);
      // Four places always, so that equal numbers are equal texts.
      return quantity === null ? null : BigInt(quantity.replace(/\.(?=\d{4}$)/, ""));
    };
    const good = compareReadings(texts, read, ownQuantity);
    expect(good).toBeGreaterThan(count / 4);
    expect(good).toBeLessThan((count * 3) / 4);
  });

  test("timestamps keep their instants to the microsecond, written as they are read", () => {
    const below = randomNumbers(7);
    const two = (end: number) => String(below(end)).padStart(2, "0");
    const texts = () => {
      // Mostly days of the calendar and times of the clock, sometimes just beyond them.
      const century = 100 * below(24);
      const anyYear = below(3) === 0 ? below(10_000) : 1890 + below(220);
      const year = String(below(20) === 0 ? century : anyYear).padStart(4, "0");
      const month = two(below(20) === 0 ? 15 : 13);
      const date = `${year}-${month}-${below(4) === 0 ? "29" : two(below(20) === 0 ? 33 : 29)}`;
      const hour = two(below(20) === 0 ? 26 : 24);
      const minute = two(below(20) === 0 ? 62 : 60);
      const second = two(below(20) === 0 ? 62 : 60);
      const time = `${hour}:${minute}:${second}`;
      const fraction =
        below(2) === 0 ? "" : `.${digits(below(20) === 0 ? below(12) : 1 + below(9), below)}`;
      const ahead = () => {
        const sign = below(2) === 0 ? "+" : "-";
        return `${sign}${two(below(20) === 0 ? 26 : 24)}:${two(below(20) === 0 ? 62 : 60)}`;
      };
      const offset = below(2) === 0 ? "Z" : ahead();
      return disturb(`${date}${below(10) === 0 ? "t" : "T"}${time}${fraction}${offset}`, below);
    };
    const good = compareReadings(texts, readTimestamp, ownTimestamp);
    expect(good).toBeGreaterThan(count / 4);
    expect(good).toBeLessThan((count * 9) / 10);
    for (let index = 0; index < 10_000; index += 1) {
      const instant = readTimestamp(texts());
      // Years before 1 and beyond 9999 are reached by offsets alone.
      if (
        instant === null ||
        instant < -62_135_596_800_000_000n ||
        instant >= 253_402_300_800_000_000n
      )
        continue;
      expect(ownTimestamp(formatInstant(instant))).toBe(instant);
    }
  });
});
