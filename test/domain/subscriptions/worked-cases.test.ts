/**
 * The worked cases of pricing, proration, sequences and periods that no other test has, by their
 * numbers. Those of the models and the civil dates are in `pricing`, `proration`, `period`,
 * `civil-date` and `decimal.test.ts`.
 */
import { describe, expect, it } from "vitest";
import {
  addDays,
  civilDate,
  daysBetween,
  startOfDay,
  todayIn,
} from "../../../src/domain/calendar/civil-date.ts";
import { daysInPeriod, periodAt, periodContaining } from "../../../src/domain/calendar/period.ts";
import { lineAmount, planValue } from "../../../src/domain/catalogue/pricing/index.ts";
import type { BillingState } from "../../../src/domain/model/billing-state.ts";
import {
  add,
  formatDecimal,
  formatShort,
  parseDecimal,
} from "../../../src/domain/money/decimal.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
} from "../../../src/domain/subscriptions/change-units.ts";
import { shareOfDays } from "../billing/share-of-days.ts";
import { planOf, termsOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  afterChange,
  changeTo,
  refusalOf,
  type StateOrder,
  stateOf,
  volumeSeats,
} from "./billing-state-builder.ts";

// Left out, because this service does not have their models:
// - 35 to 37 and 53: packages, which sell only whole blocks of units.
// - 92 over 30 days and 93: months of a fixed length. A period has the days of the calendar.
// - 96 from 14 February with billing day 31: a start date lies on its billing day.
// - The zone changed in mid-life: it is fixed.
// An inclusive end of a period, 27 February 23:59:59, is the half-open 28 February here.

const d = parseDecimal;
const monthly = { unit: "month", count: 1 } as const;
const anchor = (start: string, billingDay = Number(start.slice(8))) => ({
  start: civilDate(start),
  billingDay,
});

describe("pricing", () => {
  it.each([
    [21, 6, "30"],
    [22, 20, "100"],
  ])("case %i: %i units at 5 are %s", (_, units, value) => {
    expect(formatShort(planValue(planOf("per_unit", { price: d("5") }), termsOf(units)))).toBe(
      value,
    );
  });

  // "Top tier" is what this service calls volume.
  it.each([
    ["tiered", "739.4"],
    ["volume", "279.8"],
  ] as const)("case 76: 150 blocks and 2048 megabytes, %s, are %s together", (type, value) => {
    const blocks = planOf(type, { tiers: tiersOf([100, "1"], [null, "0.5"]) });
    const megabytes = planOf(type, { tiers: tiersOf([1024, "0.5"], [null, "0.1"]) });
    expect(
      formatShort(add(planValue(blocks, termsOf(150)), planValue(megabytes, termsOf(2048)))),
    ).toBe(value);
  });

  it.each([
    ["0.125", "0.1300"],
    ["1.005", "1.0100"],
    ["2.675", "2.6800"],
  ])("case 110: %s is billed as %s", (price, amount) => {
    expect(formatDecimal(lineAmount(planOf("per_unit", { price: d(price) }), termsOf(1)))).toBe(
      amount,
    );
  });
});

/**
 * A requested change of units: from how many to how many at a price, on a day of the period that
 * contains it.
 */
function charged(order: StateOrder, units: number, from: string): string {
  const { invoice } = decideUnitsChange(
    stateOf({ today: from, ...order }),
    changeTo(units, { from }),
  );
  return invoice === null ? "nothing" : formatDecimal(invoice.subtotal);
}
const at = (price: string) => planOf("per_unit", { price: d(price) });
const january = { startDate: "2026-01-01", index: 0 };

describe("proration", () => {
  it.each<[number, string, StateOrder, units: number, from: string, amount: string]>([
    [
      85,
      "25 added for 17 of 31 days",
      { ...january, plan: at("25"), units: 0 },
      1,
      "2026-01-15",
      "13.7100",
    ],
    [
      87,
      "a change on the first day",
      { ...january, plan: at("100"), units: 1 },
      2,
      "2026-01-01",
      "100.0000",
    ],
    [87, "300 to 600 for 1 of 30 days", { plan: at("300"), units: 1 }, 2, "2026-06-30", "10.0000"],
    [89, "20 to 50 for 15 of 30 days", { plan: at("10"), units: 2 }, 5, "2026-06-16", "15.0000"],
    [90, "10 to 20 halfway", { plan: at("10"), units: 1 }, 2, "2026-06-16", "5.0000"],
    [
      91,
      "100 for 14 of 31 days",
      { ...january, plan: at("100"), units: 0 },
      1,
      "2026-01-18",
      "45.1600",
    ],
    [
      91,
      "200 for 17 of 31 days",
      { ...january, plan: at("200"), units: 0 },
      1,
      "2026-01-15",
      "109.6800",
    ],
    [93, "5 of 31 days", { ...january, plan: at("31"), units: 0 }, 1, "2026-01-27", "5.0000"],
    [
      93,
      "2 of 28 days",
      { ...january, plan: at("28"), units: 0, index: 1 },
      1,
      "2026-02-27",
      "2.0000",
    ],
    [
      93,
      "29 of 29 days",
      { startDate: "2020-02-01", index: 0, plan: at("29"), units: 0 },
      1,
      "2020-02-01",
      "29.0000",
    ],
    [
      94,
      "599.95 for 29 of 31 days",
      monthEnd("2012-01-31", 1, "599.95"),
      1,
      "2012-03-02",
      "561.2400",
    ],
    [97, "a unit at 10 added mid-June", { plan: at("10"), units: 0 }, 1, "2026-06-16", "5.0000"],
    [
      104,
      "tiered 10 to 13",
      { plan: planOf("tiered", { tiers: tiersOf([10, "5"], [null, "4"]) }) },
      13,
      "2026-06-01",
      "12.0000",
    ],
    [
      106,
      "5 to 10 at 10 less 10 %, 16 of 30 days",
      { plan: at("10"), units: 5, subscription: { discountPercent: d("10") } },
      10,
      "2026-06-15",
      "24.0000",
    ],
    [
      108,
      "50 for 16 of 31 days of a clamped period",
      monthEnd("2025-01-31", 1, "50"),
      1,
      "2025-03-15",
      "25.8100",
    ],
  ])("case %i: %s", (_, __, order, units, from, amount) => {
    expect(charged(order, units, from)).toBe(amount);
  });

  it("cases 85, 87: 40 fewer for 17 of 31 days are 21.94 less, 0 on the last boundary", () => {
    const days = { daysRemaining: 17, daysInPeriod: 31 };
    expect(formatDecimal(shareOfDays(d("-40"), days, "EUR"))).toBe("-21.9400");
    expect(refusalOf(stateOf(), changeTo(12, { from: "2026-07-01" }))[0]).toBe(
      "effective_date_out_of_period",
    );
  });

  it("case 92: a month of 100 and 14 of 31 days are 145.16 together", () => {
    const part = charged({ ...january, plan: at("100"), units: 0 }, 1, "2026-01-18");
    expect(formatDecimal(add(d("100"), d(part)))).toBe("145.1600");
  });

  it("case 93: 21 to 29 April, both included, are 9 of 30 days", () => {
    const april = periodAt(anchor("2021-04-01"), monthly, 0);
    expect([
      daysBetween(civilDate("2021-04-21"), civilDate("2021-04-30")),
      daysInPeriod(april),
    ]).toEqual([9, 30]);
  });

  it.each([
    ["2012-02-01", "2012-02-15", 14, 29],
    ["2011-02-01", "2011-02-14", 13, 28],
  ])("case 96: from %s to %s are %i of %i days", (start, to, days, all) => {
    const february = periodAt(anchor(start), monthly, 0);
    expect([daysBetween(february.start, civilDate(to)), daysInPeriod(february)]).toEqual([
      days,
      all,
    ]);
  });

  it("case 100: 10 to 15 to 20 at 10 are 50 and 50 more", () => {
    expect(
      outcomes({ plan: at("10") }, [
        changeTo(15, { from: "2026-06-01" }),
        changeTo(20, { from: "2026-06-01" }),
      ]),
    ).toEqual(["15 [15] charge 50.0000", "20 [20] charge 50.0000"]);
  });
});

/** A period between month ends, with no units so far. */
function monthEnd(startDate: string, index: number, price: string): StateOrder {
  return { startDate, billingDay: 31, index, plan: at(price), units: 0 };
}

/** Each change as the cases write it: units, billed units in brackets, and what was issued. */
function outcomes(order: StateOrder, requests: readonly UnitsChangeRequest[]): string[] {
  let state: BillingState = stateOf(order);
  return requests.map((request) => {
    const [code] = refusalOf(state, request);
    if (code !== "accepted") return code;
    const decision = decideUnitsChange(state, request);
    state = afterChange(state, decision);
    const { invoice, joined, creditNote } = decision;
    const charge = invoice?.subtotal ?? joined?.added[0]?.amount;
    const issued = charge
      ? ` charge ${formatDecimal(charge)}`
      : creditNote
        ? ` credit ${formatDecimal(creditNote.subtotal)}`
        : "";
    return `${state.subscription.units} [${state.period.billedUnits}]${issued}`;
  });
}

describe("sequences on volume 1 to 10 at 10, from 11 on at 8", () => {
  const whole = (units: number) => changeTo(units, { from: "2026-06-01" });
  const unprorated = (units: number) => changeTo(units);

  it.each<
    [string, units: number, requests: readonly UnitsChangeRequest[], outcomes: readonly string[]]
  >([
    [
      "10, 11, 10, 11",
      10,
      [whole(11), unprorated(10), whole(11)],
      ["11 [11] credit 12.0000", "10 [11]", "11 [11]"],
    ],
    ["10, 8, 11", 10, [unprorated(8), whole(11)], ["8 [10]", "11 [11] credit 12.0000"]],
    [
      "10, 11, 13",
      10,
      [whole(11), whole(13)],
      ["11 [11] credit 12.0000", "13 [13] charge 16.0000"],
    ],
    [
      "5, 10 without proration, 11",
      5,
      [unprorated(10), whole(11), unprorated(11)],
      ["10 [5]", "proration_unavailable", "11 [5]"],
    ],
    [
      "10, 12 without proration",
      10,
      [unprorated(12), whole(12)],
      ["proration_required", "12 [12] credit 4.0000"],
    ],
    [
      "10, 8, 9 without proration, 12",
      10,
      [unprorated(8), unprorated(9), whole(12)],
      ["8 [10]", "9 [10]", "12 [12] credit 4.0000"],
    ],
  ])("%s", (_, units, requests, expected) => {
    expect(outcomes({ plan: volumeSeats, units }, requests)).toEqual(expected);
  });
});

describe("periods", () => {
  it("from 31 January 2022 the first ends with 27 February, the second begins on the 28th", () => {
    const { start, end } = periodAt(anchor("2022-01-31"), monthly, 0);
    expect([start, end, addDays(end, -1)]).toEqual(["2022-01-31", "2022-02-28", "2022-02-27"]);
  });

  it("from 31 January have boundaries on 29 February in a leap year only", () => {
    const second = (year: number) => periodAt(anchor(`${year}-01-31`), monthly, 1).start;
    expect([2023, 2024, 2100, 2400].map(second)).toEqual([
      "2023-02-28",
      "2024-02-29",
      "2100-02-28",
      "2400-02-29",
    ]);
  });

  it("of bill day 31 in 2012 are billed at the full price each", () => {
    const plan = at("29.95");
    for (const k of [0, 1, 2, 3]) {
      const { start, end } = periodAt(anchor("2012-03-31"), monthly, k);
      const share = {
        daysRemaining: daysBetween(start, end),
        daysInPeriod: daysInPeriod({ start, end }),
      };
      expect(formatDecimal(shareOfDays(lineAmount(plan, termsOf(1)), share, "EUR"))).toBe(
        "29.9500",
      );
    }
  });

  it("from a start in the gap of the clocks are paid through the 8th, for 25 months more", () => {
    const days = Array.from({ length: 27 }, (_, k) => periodAt(anchor("2015-03-08"), monthly, k));
    expect(days.slice(0, 2).map(({ end }) => end)).toEqual(["2015-04-08", "2015-05-08"]);
    expect(days.every(({ start }) => start.endsWith("-08"))).toBe(true);
    expect(
      todayIn("America/Los_Angeles", startOfDay("America/Los_Angeles", civilDate("2015-03-08"))),
    ).toBe("2015-03-08");
  });

  it("an end on 1 December in Los Angeles leaves no part of a period over", () => {
    const created = todayIn("America/Los_Angeles", new Date("2015-11-01T07:01:00Z"));
    const end = todayIn(
      "America/Los_Angeles",
      startOfDay("America/Los_Angeles", civilDate("2015-12-01")),
    );
    expect(periodContaining(anchor(created), monthly, end)).toMatchObject({ index: 1, start: end });
  });
});
