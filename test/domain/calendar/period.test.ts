/** Periods are counted from the anchor, so a clamped day returns. DATES-1. */
import { describe, expect, it } from "vitest";
import {
  addDays,
  civilDate,
  startOfDay,
  todayIn,
} from "../../../src/domain/calendar/civil-date.ts";
import {
  daysInPeriod,
  invoiceCreateDays,
  isInvoiceWindow,
  liesOnBillingDay,
  periodAt,
  periodContaining,
} from "../../../src/domain/calendar/period.ts";

const every = (count: number) => ({ unit: "month", count }) as const;
const anchor = (start: string, billingDay = Number(start.slice(8))) => ({
  start: civilDate(start),
  billingDay,
});

describe("boundaries", () => {
  it.each([
    ["2025-01-31", 31, 1, ["2025-01-31", "2025-02-28", "2025-03-31", "2025-04-30", "2025-05-31"]],
    ["2024-01-31", 31, 1, ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]],
    ["2012-03-31", 31, 1, ["2012-03-31", "2012-04-30", "2012-05-31", "2012-06-30", "2012-07-31"]],
    ["2024-02-29", 29, 1, ["2024-02-29", "2024-03-29", "2024-04-29"]],
    ["2025-02-28", 28, 1, ["2025-02-28", "2025-03-28", "2025-04-28"]],
    ["2025-02-28", 31, 1, ["2025-02-28", "2025-03-31", "2025-04-30"]],
    ["2025-02-28", 30, 1, ["2025-02-28", "2025-03-30", "2025-04-30", "2025-05-30"]],
    ["2024-02-29", 29, 12, ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]],
    ["2025-12-31", 31, 6, ["2025-12-31", "2026-06-30", "2026-12-31"]],
    ["2015-03-08", 8, 1, ["2015-03-08", "2015-04-08", "2015-05-08"]],
    ["2025-11-30", 30, 3, ["2025-11-30", "2026-02-28", "2026-05-30", "2026-08-30"]],
  ])("from %s on day %i every %i months are %j", (start, billingDay, count, boundaries) => {
    const periods = boundaries
      .slice(1)
      .map((_, k) => periodAt(anchor(start, billingDay), every(count), k));
    expect(periods.map((period) => period.start)).toEqual(boundaries.slice(0, -1));
    expect(periods.map((period) => period.end)).toEqual(boundaries.slice(1));
  });

  it.each([
    ["2023-01-31", [28, 31, 30, 31, 30, 31]],
    ["2024-01-30", [30, 30, 31, 30, 31, 30]],
  ])("from %s give periods of %j days", (start, days) => {
    expect(days.map((_, k) => daysInPeriod(periodAt(anchor(start), every(1), k)))).toEqual(days);
  });

  it.each([
    ["2025-02-28", 31, true],
    ["2024-02-28", 31, false],
    ["2024-02-29", 31, true],
    ["2025-04-30", 31, true],
    ["2025-04-29", 31, false],
    ["2025-04-15", 15, true],
    ["2025-04-15", 14, false],
  ])("%s lies on billing day %i, clamped to its month: %s", (date, day, lies) => {
    expect(liesOnBillingDay(civilDate(date), day)).toBe(lies);
  });

  it("an anchor off its billing day is impossible", () => {
    expect(() => periodAt(anchor("2024-02-28", 31), every(1), 0)).toThrow(/not on day 31/);
  });
});

describe("the period of a day", () => {
  it.each([
    ["2025-01-31", 1, "2025-08-13", 6, "2025-07-31", "2025-08-31"],
    ["2025-01-31", 1, "2025-09-30", 8, "2025-09-30", "2025-10-31"],
    ["2024-01-31", 1, "2024-02-15", 0, "2024-01-31", "2024-02-29"],
    ["2024-01-31", 1, "2024-02-29", 1, "2024-02-29", "2024-03-31"],
    ["2024-01-31", 1, "2024-03-31", 2, "2024-03-31", "2024-04-30"],
    ["2024-02-29", 12, "2027-02-27", 2, "2026-02-28", "2027-02-28"],
    ["2024-02-29", 12, "2027-02-28", 3, "2027-02-28", "2028-02-29"],
  ])("from %s every %i months, %s is in period %i: %s to %s", (...periodCase) => {
    const [start, count, date, index, from, to] = periodCase;
    expect(periodContaining(anchor(start), every(count), civilDate(date))).toEqual({
      index,
      start: from,
      end: to,
    });
  });

  it("there is none before the anchor", () => {
    expect(periodContaining(anchor("2025-01-31"), every(1), civilDate("2025-01-30"))).toBeNull();
  });

  it.each([
    ["2023-04-01T03:59:00Z", 0],
    ["2023-04-01T04:00:00Z", 1],
    ["2023-05-01T03:59:59Z", 1],
    ["2023-05-01T04:00:00Z", 2],
  ])("in New York, usage at %s falls in period %i by its local date", (instant, index) => {
    const day = todayIn("America/New_York", new Date(instant));
    expect(periodContaining(anchor("2023-03-01"), every(1), day)?.index).toBe(index);
  });

  it("a period begins with its first day, also if clocks change on the boundary", () => {
    for (const zone of [
      "America/New_York",
      "Africa/Cairo",
      "Pacific/Apia",
      "Australia/Lord_Howe",
    ]) {
      for (let k = 0; k < 36; k += 1) {
        const { start } = periodAt(anchor("2022-01-31"), every(1), k);
        const begins = startOfDay(zone, start);
        expect(todayIn(zone, begins)).toBe(start);
        expect(todayIn(zone, new Date(begins.getTime() - 1))).toBe(addDays(start, -1));
      }
    }
  });
});

describe("the invoice window", () => {
  it.each([
    ["2026-03-17", false],
    ["2026-03-18", true],
    ["2026-03-31", true],
    ["2026-04-01", false],
  ])("of 14 days before 1 April, on %s: %s", (today, inside) => {
    expect(isInvoiceWindow(civilDate("2026-04-01"), 14, civilDate(today))).toBe(inside);
  });

  it("of 0 days never opens", () => {
    expect(isInvoiceWindow(civilDate("2026-04-01"), 0, civilDate("2026-03-31"))).toBe(false);
    expect(isInvoiceWindow(civilDate("2026-04-01"), 0, civilDate("2026-04-01"))).toBe(false);
  });

  it.each([
    [1, 14, 14],
    [1, 25, 25],
    [1, 60, 25],
    [3, 60, 60],
    [3, 80, 62],
    [12, 337, 337],
    [12, 363, 337],
  ])("every %i months with a setting of %i days, is %i days long", (count, setting, days) => {
    expect(
      invoiceCreateDays(periodAt(anchor("2026-01-01"), every(count), 0), every(count), setting),
    ).toBe(days);
  });
});
