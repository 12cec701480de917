/** A plan that could not be priced is refused, with the path of what is wrong. */
import { describe, expect, it } from "vitest";
import {
  checkPlanPrices,
  type Plan,
  type PlanType,
  tierBounds,
} from "../../../src/domain/catalogue/plan.ts";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { planOf, type TierText, tiersOf } from "./catalogue.ts";

function paramOfFault(type: PlanType, differs: Partial<Plan>): string | null {
  try {
    checkPlanPrices(planOf(type, differs));
  } catch (error) {
    if (error instanceof Refusal && error.code === "invalid_parameter") return error.param;
    throw error;
  }
  return "none";
}

describe("tier bounds", () => {
  it("begin at 1, then after the previous bound, both ends included", () => {
    expect(tierBounds(tiersOf([5, "7"], [10, "6.5"], [null, "6"]))).toEqual([
      { from: 1, upTo: 5 },
      { from: 6, upTo: 10 },
      { from: 11, upTo: null },
    ]);
    expect(tierBounds([])).toEqual([]);
  });
});

describe("tiers", () => {
  it.each([
    [
      "tiered",
      [
        [5, "7"],
        [10, "0", "3"],
        [null, "9", null],
      ],
    ],
    ["tiered", [[1, "7"]]],
    [
      "volume",
      [
        [5, "7"],
        [10, "6.5"],
      ],
    ],
    [
      "stairstep",
      [
        [5, null, "0"],
        [10, null, "50"],
        [null, null, "50"],
      ],
    ],
    ["flat_fee", []],
    ["per_unit", []],
  ] as [PlanType, TierText[]][])("%s %j can be priced", (type, tiers) => {
    expect(paramOfFault(type, { tiers: tiersOf(...tiers) })).toBe("none");
  });

  it.each([
    ["tiered", [], "tiers"],
    ["flat_fee", [[null, "1"]], "tiers"],
    ["per_unit", [[null, "1"]], "tiers"],
    ["tiered", [[0, "1"]], "tiers.0.up_to"],
    ["tiered", [[1.5, "1"]], "tiers.0.up_to"],
    [
      "tiered",
      [
        [5, "1"],
        [5, "1"],
      ],
      "tiers.1.up_to",
    ],
    [
      "volume",
      [
        [5, "1"],
        [4, "1"],
      ],
      "tiers.1.up_to",
    ],
    [
      "volume",
      [
        [null, "1"],
        [10, "1"],
      ],
      "tiers.0.up_to",
    ],
    ["volume", [[5, null, "1"]], "tiers.0.unit_price"],
    [
      "tiered",
      [
        [5, "1"],
        [null, "-1"],
      ],
      "tiers.1.unit_price",
    ],
    ["tiered", [[5, "1", "-0.01"]], "tiers.0.flat_price"],
    ["stairstep", [[5, null, null]], "tiers.0.flat_price"],
    ["stairstep", [[5, "1", "1"]], "tiers.0.unit_price"],
    ["stairstep", [[5, null, "-1"]], "tiers.0.flat_price"],
    [
      "stairstep",
      [
        [5, null, "10"],
        [null, null, "9.99"],
      ],
      "tiers.1.flat_price",
    ],
  ] as [PlanType, TierText[], string][])("%s %j is refused at %s", (type, tiers, param) => {
    expect(paramOfFault(type, { tiers: tiersOf(...tiers) })).toBe(param);
  });
});

describe("the plan's own members", () => {
  const tiers = tiersOf([10, "1"], [20, "2"]);
  it.each([
    ["tiered", { tiers, price: parseDecimal("1") }, "price"],
    ["tiered", { tiers, allowsPriceOverride: true }, "allows_price_override"],
    ["tiered", { tiers, minimumUnits: 21 }, "minimum_units"],
    ["tiered", { tiers, minimumUnits: 21, freeUnits: 1 }, "none"],
    ["per_unit", { price: parseDecimal("-0.01") }, "price"],
    ["per_unit", { price: ZERO, allowsPriceOverride: true }, "none"],
    ["per_unit", { minimumUnits: -1 }, "minimum_units"],
    ["per_unit", { freeUnits: 0.5 }, "free_units"],
    ["flat_fee", { minimumUnits: 1 }, "minimum_units"],
    ["flat_fee", { freeUnits: 1 }, "free_units"],
    ["flat_fee", { interval: { unit: "month", count: 0 } }, "interval.count"],
    ["flat_fee", { interval: { unit: "month", count: 1201 } }, "interval.count"],
    ["flat_fee", { interval: { unit: "month", count: 1200 } }, "none"],
  ] as [
    PlanType,
    Partial<Plan>,
    string,
  ][])("%s, case %#: %o is at fault in %s", (type, differs, param) => {
    expect(paramOfFault(type, differs)).toBe(param);
  });
});
