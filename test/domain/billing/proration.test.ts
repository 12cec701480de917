/**
 * A change of units inside a period costs the difference in value for the days that are left,
 * rounded once. MONEY-4.
 */
import { describe, expect, it } from "vitest";
import { prorate } from "../../../src/domain/billing/proration.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { planOf, type TierText, termsOf, tiersOf } from "../catalogue/catalogue.ts";
import { shareOfDays } from "./share-of-days.ts";

const d = parseDecimal;
const june = { start: civilDate("2026-06-01"), end: civilDate("2026-07-01") };

describe("share of days", () => {
  it.each([
    ["25", 17, 31, "EUR", "13.7100"],
    ["-40", 17, 31, "EUR", "-21.9400"],
    ["100", 14, 31, "EUR", "45.1600"],
    ["200", 17, 31, "EUR", "109.6800"],
    ["599.95", 29, 31, "EUR", "561.2400"],
    ["100", 31, 31, "EUR", "100.0000"],
    ["300", 1, 30, "EUR", "10.0000"],
    ["10", 15, 30, "EUR", "5.0000"],
    ["50", 16, 31, "EUR", "25.8100"],
    ["100", 14, 31, "JPY", "45.0000"],
    ["100", 14, 31, "KWD", "45.1610"],
    ["0.01", 15, 30, "EUR", "0.0100"],
    ["-0.01", 15, 30, "EUR", "-0.0100"],
    ["0.01", 14, 30, "EUR", "0.0000"],
  ])("%s × %i ÷ %i in %s is %s", (value, daysRemaining, daysInPeriod, currency, amount) => {
    expect(formatDecimal(shareOfDays(d(value), { daysRemaining, daysInPeriod }, currency))).toBe(
      amount,
    );
  });
});

const stripe: TierText[] = [
  [5, "7"],
  [10, "6.5"],
  [null, "6"],
];

describe("a change of units", () => {
  it.each([
    // Worked cases 104, 106 and 90; the last is the whole period.
    ["tiered", 10, 13, "2026-06-16", {}, "9.0000", 15],
    ["per_unit", 5, 10, "2026-06-15", { discount: "10" }, "24.0000", 16],
    ["per_unit", 10, 20, "2026-06-16", { price: "1" }, "5.0000", 15],
    ["per_unit", 10, 13, "2026-06-01", {}, "30.0000", 30],
    ["per_unit", 10, 13, "2026-06-30", {}, "1.0000", 1],
    ["per_unit", 13, 10, "2026-06-16", {}, "-15.0000", 15],
    ["per_unit", 10, 10, "2026-06-16", {}, "0.0000", 15],
  ] as const)("%s %i to %i on %s %j: %s, %i days", (type, from, to, date, terms, amount, days) => {
    const plan = planOf(type, {
      price: d("10"),
      tiers: type === "tiered" ? tiersOf(...stripe) : [],
    });
    const change = { fromUnits: from, toUnits: to, period: june, effectiveDate: civilDate(date) };
    const proration = prorate(plan, termsOf(0, terms), change);
    expect(formatDecimal(proration.amount)).toBe(amount);
    expect(proration).toMatchObject({
      fromUnits: from,
      toUnits: to,
      daysRemaining: days,
      daysInPeriod: 30,
    });
  });

  it("tiered 10 to 13 for a whole period is 12 more on prices 5, 4 beyond ten", () => {
    const plan = planOf("tiered", { tiers: tiersOf([10, "5"], [null, "4"]) });
    const change = { fromUnits: 10, toUnits: 13, period: june, effectiveDate: june.start };
    expect(formatDecimal(prorate(plan, termsOf(0), change).amount)).toBe("12.0000");
  });

  it.each([
    [10, 11, "-12.0000"],
    [11, 13, "16.0000"],
    [10, 12, "-4.0000"],
    [5, 11, "38.0000"],
    [9, 10, "10.0000"],
  ])("volume %i to %i over a band is %s: the total can fall", (fromUnits, toUnits, amount) => {
    const plan = planOf("volume", { tiers: tiersOf([10, "10"], [null, "8"]) });
    const change = { fromUnits, toUnits, period: june, effectiveDate: june.start };
    expect(formatDecimal(prorate(plan, termsOf(0), change).amount)).toBe(amount);
  });

  it("counts the days of the actual period, leap or clamped", () => {
    const plan = planOf("per_unit", { price: d("50") });
    const change = { fromUnits: 0, toUnits: 1 };
    const clamped = { start: civilDate("2025-02-28"), end: civilDate("2025-03-31") };
    const leap = { start: civilDate("2012-02-01"), end: civilDate("2012-03-01") };
    expect(
      prorate(plan, termsOf(0), {
        ...change,
        period: clamped,
        effectiveDate: civilDate("2025-03-15"),
      }),
    ).toMatchObject({
      amount: d("25.81"),
      daysRemaining: 16,
      daysInPeriod: 31,
    });
    expect(
      prorate(plan, termsOf(0), {
        ...change,
        period: leap,
        effectiveDate: civilDate("2012-02-15"),
      }),
    ).toMatchObject({
      daysRemaining: 15,
      daysInPeriod: 29,
    });
  });

  it("the discount is taken off before the one rounding", () => {
    // 1.01 × 0.5 × 15 ÷ 30 = 0.2525; rounding the discounted 0.505 first would make it 0.26.
    const plan = planOf("per_unit", { price: d("1.01") });
    const change = {
      fromUnits: 0,
      toUnits: 1,
      period: june,
      effectiveDate: civilDate("2026-06-16"),
    };
    expect(formatDecimal(prorate(plan, termsOf(0, { discount: "50" }), change).amount)).toBe(
      "0.2500",
    );
  });

  it.each(["2026-05-31", "2026-07-01"])("on %s, outside the period, is impossible", (date) => {
    const change = { fromUnits: 1, toUnits: 2, period: june, effectiveDate: civilDate(date) };
    expect(() => prorate(planOf("per_unit"), termsOf(0), change)).toThrow(/outside/);
  });
});
