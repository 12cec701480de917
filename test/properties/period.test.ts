/**
 * Periods follow each other without gap or overlap, on the billing day of every month, wherever the
 * process runs.
 */
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDays,
  calendarDay,
  compareDates,
  daysInMonth,
} from "../../src/domain/calendar/civil-date.ts";
import {
  type Anchor,
  daysInPeriod,
  isInvoiceWindow,
  onBillingDay,
  periodAt,
  periodContaining,
} from "../../src/domain/calendar/period.ts";
import { someDate } from "./arbitraries.ts";

const someAnchor: fc.Arbitrary<Anchor> = fc
  .tuple(someDate, fc.integer({ min: 1, max: 31 }))
  .map(([date, billingDay]) => ({ start: onBillingDay(date, billingDay), billingDay }));
const someInterval = fc
  .integer({ min: 1, max: 24 })
  .map((count) => ({ unit: "month" as const, count }));
const someIndex = fc.integer({ min: 0, max: 400 });
const monthly = { unit: "month", count: 1 } as const;

describe("periods", () => {
  it("rise and meet: one's end is the next one's start", () => {
    fc.assert(
      fc.property(someAnchor, someInterval, someIndex, (anchor, interval, k) => {
        const [period, next] = [periodAt(anchor, interval, k), periodAt(anchor, interval, k + 1)];
        expect(compareDates(period.start, period.end)).toBe(-1);
        expect(period.end).toBe(next.start);
        expect(periodAt(anchor, interval, 0).start).toBe(anchor.start);
      }),
    );
  });

  it("begin on the billing day, or on the last day of a shorter month", () => {
    fc.assert(
      fc.property(someAnchor, someInterval, someIndex, (anchor, interval, k) => {
        const { year, month, day } = calendarDay(periodAt(anchor, interval, k).start);
        expect(day).toBe(Math.min(anchor.billingDay, daysInMonth(year, month)));
      }),
    );
  });

  it("of twelve months in a row have 365 or 366 days together, as many as one of a year", () => {
    fc.assert(
      fc.property(someAnchor, fc.integer({ min: 0, max: 30 }), (anchor, year) => {
        const months = Array.from({ length: 12 }, (_, month) =>
          periodAt(anchor, monthly, year * 12 + month),
        );
        const days = months.reduce((total, period) => total + daysInPeriod(period), 0);
        expect([365, 366]).toContain(days);
        expect(daysInPeriod(periodAt(anchor, { unit: "month", count: 12 }, year))).toBe(days);
      }),
    );
  });

  it("each day from the anchor on falls in exactly one", () => {
    fc.assert(
      fc.property(
        someAnchor,
        someInterval,
        fc.integer({ min: 0, max: 20_000 }),
        (anchor, interval, days) => {
          const date = addDays(anchor.start, days);
          const period = periodContaining(anchor, interval, date);
          if (!period) throw new Error("in no period");
          expect(period).toEqual(periodAt(anchor, interval, period.index));
          expect(compareDates(period.start, date)).toBeLessThanOrEqual(0);
          expect(compareDates(date, period.end)).toBe(-1);
        },
      ),
    );
  });
});

describe("the invoice window", () => {
  it("is the create days before the renewal date, no day more", () => {
    fc.assert(
      fc.property(
        someDate,
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 1, max: 80 }),
        (date, days, before) => {
          expect(isInvoiceWindow(date, days, addDays(date, -before))).toBe(before <= days);
          expect(isInvoiceWindow(date, days, addDays(date, before - 1))).toBe(false);
        },
      ),
    );
  });
});

describe("the process's own zone", () => {
  const folder = new URL("../../src/domain/", import.meta.url);
  const program = `
    const { addDays, civilDate, startOfDay, todayIn } =
      await import("${folder}calendar/civil-date.ts");
    const { periodAt } = await import("${folder}calendar/period.ts");
    const anchor = { start: civilDate("2024-01-31"), billingDay: 31 };
    for (let k = 0; k < 40; k += 1) {
      const { start, end } = periodAt(anchor, { unit: "month", count: 1 }, k);
      const begins = startOfDay("Africa/Cairo", start);
      console.log(start, end, addDays(start, 55), begins.toISOString(), todayIn("America/New_York",
        begins));
    }`;
  const printedIn = (zone: string) => {
    const run = spawnSync(
      process.execPath,
      ["--no-warnings", "--input-type=module", "-e", program],
      {
        env: { ...process.env, TZ: zone },
        encoding: "utf8",
      },
    );
    expect(run.stderr).toBe("");
    return run.stdout;
  };

  it("changes nothing", () => {
    const printed = printedIn("UTC");
    expect(printed.split("\n")).toHaveLength(41);
    for (const zone of ["America/Los_Angeles", "Pacific/Kiritimati", "Africa/Cairo"])
      expect(printedIn(zone)).toBe(printed);
  });
});
