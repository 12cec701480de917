/** Civil dates are real days, months clamp, and days begin and end by the zone's own clocks. */
import { describe, expect, it } from "vitest";
import {
  addDays,
  addMonths,
  civilDate,
  compareDates,
  daysBetween,
  isTimezone,
  laterDate,
  parseCivilDate,
  startOfDay,
  todayIn,
} from "../../../src/domain/calendar/civil-date.ts";

describe("text", () => {
  it.each([
    "0001-01-01",
    "9999-12-31",
    "2024-02-29",
    "2000-02-29",
    "2026-11-30",
  ])("%s is a date", (text) => {
    expect(parseCivilDate(text)).toBe(text);
  });

  it.each([
    "0000-01-01",
    "2025-02-29",
    "1900-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-04-31",
    "2026-01-00",
    "2026-1-1",
    "2026-01-01T00:00:00Z",
    " 2026-01-01",
    "2026-01-01\n",
    "-2026-01-01",
    "12026-01-01",
    "20260101",
    "２026-01-01",
    "",
  ])("%j is not", (text) => {
    expect(parseCivilDate(text)).toBeNull();
    expect(() => civilDate(text)).toThrow(/not a date/);
  });
});

describe("arithmetic", () => {
  it.each([
    ["2025-01-31", 1, "2025-02-28"],
    ["2024-01-31", 1, "2024-02-29"],
    ["2024-02-29", 1, "2024-03-29"],
    ["2025-02-28", 1, "2025-03-28"],
    ["2024-02-29", 12, "2025-02-28"],
    ["2024-02-29", 48, "2028-02-29"],
    ["2025-12-31", 6, "2026-06-30"],
    ["2026-01-31", -2, "2025-11-30"],
    ["0001-02-01", -1, "0001-01-01"],
  ])("%s and %d months is %s", (date, months, expected) => {
    expect(addMonths(civilDate(date), months)).toBe(expected);
  });

  it.each([
    ["2024-02-28", 1, "2024-02-29"],
    ["2025-02-28", 1, "2025-03-01"],
    ["2026-01-01", -1, "2025-12-31"],
    ["0099-12-31", 1, "0100-01-01"],
    ["0001-01-01", 3_652_058, "9999-12-31"],
  ])("%s and %d days is %s, and the days between say so", (date, days, expected) => {
    expect(addDays(civilDate(date), days)).toBe(expected);
    expect(daysBetween(civilDate(date), civilDate(expected))).toBe(days);
  });

  it.each([
    ["2024-03-09", "2024-03-11", 2],
    ["2024-11-02", "2024-11-04", 2],
    ["2024-04-06", "2024-04-08", 2],
    ["2023-12-30", "2024-01-02", 3],
  ])("%s to %s is %i days, whatever clocks did in between", (from, to, days) => {
    expect(daysBetween(civilDate(from), civilDate(to))).toBe(days);
  });

  it("the calendar ends with the year 9999", () => {
    expect(() => addDays(civilDate("9999-12-31"), 1)).toThrow(/not a date/);
    expect(() => addMonths(civilDate("0001-01-01"), -1)).toThrow(/not a date/);
  });

  it("later dates compare as later", () => {
    const [early, late] = [civilDate("0999-12-31"), civilDate("2026-01-01")];
    expect([
      compareDates(early, late),
      compareDates(late, early),
      compareDates(late, late),
    ]).toEqual([-1, 1, 0]);
    expect(laterDate(early, late)).toBe(late);
  });
});

describe("zones", () => {
  it.each([
    "Europe/Paris",
    "Asia/Kolkata",
    "Asia/Calcutta",
    "Europe/Kyiv",
    "US/Pacific",
    "UTC",
    "GMT",
    "Etc/GMT+5",
    "EST",
  ])("%s is a zone", (name) => {
    expect(isTimezone(name)).toBe(true);
    expect(todayIn(name, new Date("2026-06-15T12:00:00Z"))).toBe("2026-06-15");
  });

  it.each([
    "+05:00",
    "-0300",
    "UTC+1",
    "GMT+5",
    "europe/paris",
    "EUROPE/PARIS",
    "asia/kolkata",
    "Asia/KOLKATA",
    "IST",
    "JST",
    "US/Pacific-New",
    "SystemV/PST8",
    "Factory",
    "Etc/Unknown",
    "Mars/Olympus",
    "local",
    "",
    "Z",
    "__proto__",
  ])("%j is not", (name) => {
    expect(isTimezone(name)).toBe(false);
    expect(() => todayIn(name, new Date(0))).toThrow(/not a time zone/);
  });

  it.each([
    ["America/Los_Angeles", "2015-11-01T07:01:00Z", "2015-11-01"],
    ["America/Los_Angeles", "2015-11-01T06:59:59.999Z", "2015-10-31"],
    ["America/Los_Angeles", "2015-12-01T07:59:59Z", "2015-11-30"],
    ["America/Los_Angeles", "2015-12-01T08:00:00Z", "2015-12-01"],
    ["America/New_York", "2023-04-01T03:59:00Z", "2023-03-31"],
    ["America/New_York", "2023-04-01T04:00:00Z", "2023-04-01"],
    ["Pacific/Kiritimati", "2026-01-01T10:00:00Z", "2026-01-02"],
    ["Pacific/Pago_Pago", "2026-01-01T10:59:59Z", "2025-12-31"],
    ["Asia/Kathmandu", "2026-01-01T18:15:00Z", "2026-01-02"],
    ["UTC", "1969-12-31T23:59:59.999Z", "1969-12-31"],
  ])("in %s it is at %s the day %s", (zone, instant, today) => {
    expect(todayIn(zone, new Date(instant))).toBe(today);
  });

  it.each([
    ["Asia/Kolkata", "2026-09-01", "2026-08-31T18:30:00.000Z"],
    ["America/Los_Angeles", "2026-09-01", "2026-09-01T07:00:00.000Z"],
    ["Europe/Rome", "2026-09-01", "2026-08-31T22:00:00.000Z"],
    ["America/New_York", "2024-03-01", "2024-03-01T05:00:00.000Z"],
    ["America/New_York", "2024-03-10", "2024-03-10T05:00:00.000Z"],
    ["America/New_York", "2024-03-11", "2024-03-11T04:00:00.000Z"],
    ["America/New_York", "2024-11-04", "2024-11-04T05:00:00.000Z"],
    ["Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00.000Z"],
  ])("in %s the day %s begins at %s", (zone, date, instant) => {
    expect(startOfDay(zone, civilDate(date)).toISOString()).toBe(instant);
  });

  it.each([
    // Clocks go from 00:00 to 01:00: the day begins at one o'clock.
    ["Africa/Cairo", "2024-04-26", "2024-04-25T22:00:00.000Z"],
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z"],
    ["Asia/Beirut", "2022-03-27", "2022-03-26T22:00:00.000Z"],
    // Clocks go back over midnight: the day begins when they first show it, or when they show it
    // finally.
    ["America/Havana", "2024-11-03", "2024-11-03T04:00:00.000Z"],
    ["America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00.000Z"],
    ["America/St_Johns", "2010-11-07", "2010-11-07T02:30:00.000Z"],
    // Samoa went over the date line and had no 30 December 2011.
    ["Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00.000Z"],
    ["Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00.000Z"],
  ])("in %s the day %s, with clocks changed at midnight, begins at %s", (zone, date, instant) => {
    expect(startOfDay(zone, civilDate(date)).toISOString()).toBe(instant);
  });
});
