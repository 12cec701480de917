/**
 * The amount of a change of units in every model, currency and price, and how its line explains the
 * amount.
 */
import { describe, expect, it } from "vitest";
import { describeProration, prorate } from "../../../src/domain/billing/proration.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { PlanType } from "../../../src/domain/catalogue/plan.ts";
import type { BillingState } from "../../../src/domain/model/billing-state.ts";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { planOf, type TierText, termsOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  afterChange,
  changeTo,
  type StateOrder,
  seats,
  stateOf,
  unitsSummary,
  volumeSeats,
} from "./billing-state-builder.ts";

const d = parseDecimal;
const stripe: TierText[] = [
  [5, "7"],
  [10, "6.5"],
  [null, "6"],
];
const steps: TierText[] = [
  [10, null, "50"],
  [20, null, "100"],
  [null, null, "150"],
];
const tiers = { flat_fee: [], per_unit: [], tiered: stripe, volume: stripe, stairstep: steps };

/** What a plan differs in, and the price and discount of the subscription. */
interface Terms {
  readonly price?: string;
  readonly freeUnits?: number;
  readonly currency?: string;
  readonly override?: string;
  readonly discount?: string;
}

function orderOf(type: PlanType, terms: Terms): StateOrder {
  const { price = "10", override, discount = "0", ...differs } = terms;
  const plan = planOf(type, { price: d(price), tiers: tiersOf(...tiers[type]), ...differs });
  const priceOverride = override === undefined ? null : d(override);
  return { plan, subscription: { priceOverride, discountPercent: d(discount) } };
}

describe("ten to twelve units for half a month", () => {
  it.each<[type: PlanType, terms: Terms, amount: string, difference: string]>([
    ["per_unit", {}, "10.0000", "(120 − 100)"],
    ["per_unit", { freeUnits: 3 }, "10.0000", "(90 − 70)"],
    ["per_unit", { freeUnits: 11 }, "5.0000", "(10 − 0)"],
    ["per_unit", { discount: "12.5" }, "8.7500", "(105 − 87.5)"],
    ["per_unit", { override: "4.5" }, "4.5000", "(54 − 45)"],
    [
      "per_unit",
      { override: "0.0101", discount: "33.3333" },
      "0.0100",
      "(0.0808000404 − 0.067333367)",
    ],
    ["per_unit", { price: "0.0099" }, "0.0100", "(0.1188 − 0.099)"],
    ["per_unit", { price: "33", currency: "JPY" }, "33.0000", "(396 − 330)"],
    ["per_unit", { price: "32.5", currency: "JPY" }, "33.0000", "(390 − 325)"],
    ["per_unit", { price: "1.2345", currency: "KWD" }, "1.2350", "(14.814 − 12.345)"],
    ["tiered", { price: "0" }, "6.0000", "(79.5 − 67.5)"],
    ["tiered", { price: "0", freeUnits: 6 }, "6.7500", "(41.5 − 28)"],
    ["volume", { price: "0" }, "3.5000", "(72 − 65)"],
    ["stairstep", { price: "0" }, "25.0000", "(100 − 50)"],
  ])("%s %j is %s: %s × 15 ÷ 30", (type, terms, amount, difference) => {
    const decision = decideUnitsChange(
      stateOf(orderOf(type, terms)),
      changeTo(12, { from: "2026-06-16" }),
    );
    const description = `10 to 12 seats, 15 of 30 days: ${difference} × 15 ÷ 30`;
    expect(unitsSummary(decision)).toEqual({
      units: 12,
      periods: ["5: 12 billed"],
      invoice: [`${amount} for 2026-06-16 to 2026-07-01: ${description}`],
    });
  });

  it.each<[guarantee: string, type: PlanType, terms: Terms]>([
    ["free units", "per_unit", { freeUnits: 12 }],
    ["a discount of all", "per_unit", { discount: "100" }],
    ["a price of 0", "per_unit", { override: "0" }],
    ["an amount that rounds to 0", "per_unit", { price: "0.0049" }],
    ["yen that round to 0", "per_unit", { price: "0.4", currency: "JPY" }],
    ["dinars that round to 0", "per_unit", { price: "0.0004", currency: "KWD" }],
    ["the same step", "stairstep", { price: "0", freeUnits: 2 }],
  ])("issues nothing and leaves the billed units if it costs nothing: %s", (_, type, terms) => {
    const decision = decideUnitsChange(
      stateOf(orderOf(type, terms)),
      changeTo(12, { from: "2026-06-16" }),
    );
    expect(unitsSummary(decision)).toEqual({ units: 12, periods: ["5: 10 billed"] });
  });
});

it("what rounds to 0 step by step is charged once it is worth a cent together", () => {
  let state: BillingState = stateOf(orderOf("per_unit", { price: "0.0049" }));
  const bills = [11, 12, 13].map((units) => {
    const decision = decideUnitsChange(state, changeTo(units, { from: "2026-06-16" }));
    state = afterChange(state, decision);
    return unitsSummary(decision);
  });
  const description = "10 to 13 seats, 15 of 30 days: (0.0637 − 0.049) × 15 ÷ 30";
  expect(bills).toEqual([
    { units: 11, periods: ["5: 10 billed"] },
    { units: 12, periods: ["5: 10 billed"] },
    {
      units: 13,
      periods: ["5: 13 billed"],
      invoice: [`0.0100 for 2026-06-16 to 2026-07-01: ${description}`],
    },
  ]);
});

it("what rounds to 0 of a credit leaves the billed units too", () => {
  const plan = planOf("volume", { tiers: tiersOf([10, "0.001"], [null, "0.0008"]) });
  const request = changeTo(11, { from: "2026-06-16" });
  expect(unitsSummary(decideUnitsChange(stateOf({ plan }), request))).toEqual({
    units: 11,
    periods: ["5: 10 billed"],
  });
});

describe("the words of a proration", () => {
  const june = { start: civilDate("2026-06-01"), end: civilDate("2026-07-01") };
  const plan = planOf("per_unit", { price: d("10") });
  it.each([
    [
      "several units",
      plan,
      {},
      10,
      12,
      "2026-06-16",
      "10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30",
    ],
    [
      "the first unit of all",
      plan,
      {},
      0,
      1,
      "2026-06-16",
      "0 to 1 seat, 15 of 30 days: (10 − 0) × 15 ÷ 30",
    ],
    [
      "a second unit",
      plan,
      {},
      1,
      2,
      "2026-06-16",
      "1 to 2 seats, 15 of 30 days: (20 − 10) × 15 ÷ 30",
    ],
    ["one day", plan, {}, 0, 1, "2026-06-30", "0 to 1 seat, 1 of 30 days: (10 − 0) × 1 ÷ 30"],
    [
      "a whole period",
      plan,
      {},
      1,
      2,
      "2026-06-01",
      "1 to 2 seats, 30 of 30 days: (20 − 10) × 30 ÷ 30",
    ],
    [
      "a credit, its values turned",
      volumeSeats,
      {},
      10,
      11,
      "2026-06-16",
      "10 to 11 seats, 15 of 30 days: (100 − 88) × 15 ÷ 30",
    ],
    [
      "a discounted fraction",
      plan,
      { discount: "33.3333" },
      1,
      2,
      "2026-06-16",
      "1 to 2 seats, 15 of 30 days: (13.33334 − 6.66667) × 15 ÷ 30",
    ],
    [
      "the smallest price at the largest discount",
      plan,
      { price: "0.0001", discount: "99.9999" },
      0,
      1,
      "2026-06-16",
      "0 to 1 seat, 15 of 30 days: (0.0000000001 − 0) × 15 ÷ 30",
    ],
    [
      "the largest of all",
      plan,
      { price: "999999999.9999" },
      1,
      1_000_000,
      "2026-06-16",
      "1 to 1000000 seats, 15 of 30 days: (999999999999900 − 999999999.9999) × 15 ÷ 30",
    ],
  ] as const)("of %s", (_, priced, differs, fromUnits, toUnits, date, description) => {
    const terms = termsOf(0, differs);
    const change = { fromUnits, toUnits, period: june, effectiveDate: civilDate(date) };
    expect(
      describeProration({ plan: priced, terms, proration: prorate(priced, terms, change) }),
    ).toBe(description);
  });

  it("name the units as the plan does", () => {
    const labelled = { ...plan, unitLabels: { singular: "child", plural: "children" } };
    const words = (fromUnits: number, toUnits: number) => {
      const change = { fromUnits, toUnits, period: june, effectiveDate: june.start };
      const proration = prorate(labelled, termsOf(0), change);
      return describeProration({ plan: labelled, terms: termsOf(0), proration }).split(",")[0];
    };
    expect([words(0, 1), words(1, 2)]).toEqual(["0 to 1 child", "1 to 2 children"]);
  });
});

describe("periods of other lengths", () => {
  it.each([
    ["a leap February", "2028-01-31", 1, 1, "2028-02-29", "10.0000", "31 of 31 days"],
    [
      "clamped from the 31st to the 28th",
      "2026-01-31",
      1,
      0,
      "2026-02-14",
      "5.0000",
      "14 of 28 days",
    ],
    ["a quarter", "2026-01-01", 3, 1, "2026-06-30", "0.1100", "1 of 91 days"],
    ["a year", "2027-03-01", 12, 0, "2028-02-29", "0.0300", "1 of 366 days"],
  ])("count the days that they have: %s", (_, startDate, count, index, from, amount, days) => {
    const plan = { ...seats, interval: { unit: "month", count } as const };
    const state = stateOf({ plan, startDate, index, today: from });
    const line = decideUnitsChange(state, changeTo(11, { from })).invoice?.lines[0];
    expect(line && formatDecimal(line.amount)).toBe(amount);
    expect(line?.description).toContain(days);
  });
});
