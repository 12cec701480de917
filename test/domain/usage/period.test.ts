/** The period of usage: days of the subscription's zone from its anchor, also if clocks change. */
import { describe, expect, test } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { formatInstant, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { type PeriodTerms, periodOf } from "../../../src/domain/usage/period.ts";

const auckland = terms("Pacific/Auckland", "2026-03-01");

function terms(
  timezone: string,
  start: string,
  billingDay = Number(start.slice(8)),
  count = 1,
): PeriodTerms {
  return { timezone, startDate: civilDate(start), billingDay, interval: { unit: "month", count } };
}

/** The index of the period of an instant, null before the first. */
function indexOf(of: PeriodTerms, timestamp: string): number | null {
  const instant = readTimestamp(timestamp);
  if (instant === null) throw new Error(`not a timestamp: ${timestamp}`);
  const period = periodOf(of, instant);
  if (period !== null) expect(period.startsAt <= instant && instant < period.endsAt).toBe(true);
  return period?.index ?? null;
}

describe("the period of an instant", () => {
  test.each<[string, PeriodTerms, string, number | null]>([
    ["the microsecond before the first day", auckland, "2026-02-28T23:59:59.999999+13:00", null],
    ["the beginning of the first day", auckland, "2026-03-01T00:00:00+13:00", 0],
    [
      "the last microsecond of the first period, in daylight time",
      auckland,
      "2026-03-31T23:59:59.999999+13:00",
      0,
    ],
    ["the beginning of the second", auckland, "2026-04-01T00:00:00+13:00", 1],
    ["the beginning of the third, in standard time", auckland, "2026-05-01T00:00:00+12:00", 2],
    ["a day that is another one in UTC", auckland, "2026-03-31T11:30:00Z", 1],
    ["a year later", auckland, "2027-03-15T00:00:00Z", 12],
    ["a clamped boundary", terms("UTC", "2026-01-31", 31), "2026-02-27T23:59:59Z", 0],
    ["the day of a clamped boundary", terms("UTC", "2026-01-31", 31), "2026-02-28T00:00:00Z", 1],
    ["the day before the unclamped one", terms("UTC", "2026-01-31", 31), "2026-03-30T23:00:00Z", 1],
    ["the unclamped day", terms("UTC", "2026-01-31", 31), "2026-03-31T00:00:00Z", 2],
    ["the third month of a quarter", terms("UTC", "2026-01-15", 15, 3), "2026-04-14T23:59:59Z", 0],
    [
      "the first day of the next quarter",
      terms("UTC", "2026-01-15", 15, 3),
      "2026-04-15T00:00:00Z",
      1,
    ],
    ["a year 1", terms("UTC", "2026-01-15"), "0001-01-01T00:00:00Z", null],
    ["a year 0", terms("UTC", "2026-01-15"), "0000-01-01T00:00:00Z", null],
  ])("%s", (_, of, timestamp, index) => {
    expect(indexOf(of, timestamp)).toBe(index);
  });

  test("begins when the clocks have jumped over its midnight", () => {
    // Chile's clocks went from 24:00 on the 4th to 01:00 on the 5th.
    const santiago = terms("America/Santiago", "2026-08-06", 6);
    expect(indexOf(santiago, "2026-09-06T03:59:59.999999Z")).toBe(0);
    expect(indexOf(santiago, "2026-09-06T04:00:00Z")).toBe(1);
  });

  test("goes on if the previous evening comes once more after its midnight", () => {
    // Newfoundland's clocks went back from 00:01 on 29 October 2006 to 23:01 on the 28th.
    const stJohns = terms("America/St_Johns", "2006-09-29", 29);
    expect(indexOf(stJohns, "2006-10-29T02:29:59.999999Z")).toBe(0);
    expect(indexOf(stJohns, "2006-10-29T02:30:30Z")).toBe(1);
    expect(indexOf(stJohns, "2006-10-29T03:00:00Z")).toBe(1);
    expect(indexOf(stJohns, "2006-10-29T04:30:00Z")).toBe(1);
  });

  test("is the same however many other instants are queried in between", () => {
    const asked = ["2026-03-01T00:00:00+13:00", "2026-05-01T00:00:00+12:00"];
    const before = asked.map((timestamp) => indexOf(auckland, timestamp));
    const day = 86_400_000_000n;
    const first = readTimestamp("1970-01-01T00:00:00Z") ?? 0n;
    const zones = ["UTC", "Europe/Paris", "Asia/Kolkata", "America/New_York"];
    for (let index = 0; index < 6_000; index += 1) {
      const start = formatInstant(first + BigInt(index) * day).slice(0, 10);
      periodOf(terms(zones[index % 4] ?? "", start), first + BigInt(index + 400) * day);
    }
    expect(asked.map((timestamp) => indexOf(auckland, timestamp))).toEqual(before);
  });
});
