/**
 * Civil dates agree with the calendar of `Date.UTC`, and days of every zone with its own clocks.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDays,
  addMonths,
  type CivilDate,
  calendarDay,
  civilDate,
  compareDates,
  daysBetween,
  daysInMonth,
  isTimezone,
  parseCivilDate,
  startOfDay,
  timezoneNames,
  todayIn,
} from "../../src/domain/calendar/civil-date.ts";
import { someDate } from "./arbitraries.ts";

const msPerDay = 86_400_000;
const pad = (value: number, width: number) => String(value).padStart(width, "0");

/** The oracle: midnight of the day in UTC, also of the years below 100. */
const utc = (date: CivilDate) => Date.parse(`${date}T00:00:00Z`);
const ofUtc = (instant: number) => new Date(instant).toISOString().slice(0, 10);

const anyDate = fc
  .integer({
    min: utc(civilDate("0001-01-01")) / msPerDay,
    max: utc(civilDate("9999-12-31")) / msPerDay,
  })
  .map((day) => civilDate(ofUtc(day * msPerDay)));

describe("the calendar", () => {
  it("has exactly the days that Date.UTC has", () => {
    const upTo = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(upTo(9999), upTo(14), upTo(33), (y, m, d) => {
        const text = `${pad(y, 4)}-${pad(m, 2)}-${pad(d, 2)}`;
        const instant = new Date(0);
        instant.setUTCFullYear(y, m - 1, d);
        const real =
          y >= 1 && instant.getUTCFullYear() === y && instant.toISOString().slice(0, 10) === text;
        expect(parseCivilDate(text)).toBe(real ? text : null);
      }),
    );
  });

  it("counts and adds days as Date.UTC does", () => {
    fc.assert(
      fc.property(anyDate, anyDate, (from, to) => {
        const days = (utc(to) - utc(from)) / msPerDay;
        expect(daysBetween(from, to)).toBe(days);
        expect(addDays(from, days)).toBe(to);
        expect(compareDates(from, to)).toBe(Math.sign(-days) + 0);
      }),
    );
  });

  it("adds months to the same day, or to the last of a shorter month", () => {
    fc.assert(
      fc.property(someDate, fc.integer({ min: -600, max: 600 }), (date, months) => {
        const [from, to] = [calendarDay(date), calendarDay(addMonths(date, months))];
        expect(to.year * 12 + to.month).toBe(from.year * 12 + from.month + months);
        expect(to.day).toBe(Math.min(from.day, daysInMonth(to.year, to.month)));
      }),
    );
  });
});

describe("zones", () => {
  const names = [...Intl.supportedValuesOf("timeZone"), ...timezoneNames];
  const someZone = fc.constantFrom(...names);

  it("every name of the database is one, written in no other way", () => {
    for (const name of names) {
      expect(isTimezone(name), name).toBe(true);
      expect(isTimezone(name.toLowerCase()), name).toBe(false);
    }
  });

  it("today is what the zone's calendars show", () => {
    const instants = fc.integer({ min: 0, max: 4_102_444_800_000 });
    fc.assert(
      fc.property(someZone, instants, (timeZone, instant) => {
        const shown = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(
          instant,
        );
        expect(todayIn(timeZone, new Date(instant))).toBe(shown);
      }),
    );
  });

  it("a day begins at the first instant that is not before it", () => {
    fc.assert(
      fc.property(someZone, someDate, (zone, date) => {
        const begins = startOfDay(zone, date);
        expect(compareDates(todayIn(zone, begins), date)).toBeGreaterThanOrEqual(0);
        expect(compareDates(todayIn(zone, new Date(begins.getTime() - 1)), date)).toBe(-1);
      }),
    );
  });

  it("days follow each other by 23 to 25 hours, unless a zone crossed the date line", () => {
    fc.assert(
      fc.property(someZone, someDate, (zone, date) => {
        const hours =
          (startOfDay(zone, addDays(date, 1)).getTime() - startOfDay(zone, date).getTime()) /
          3_600_000;
        expect(hours === 0 || hours === 48 || (hours >= 21 && hours <= 27), `${hours} hours`).toBe(
          true,
        );
      }),
    );
  });
});
