/** A meter's price in a plan is refused, with its path, unless it prices every quantity. */
import { describe, expect, it } from "vitest";
import {
  checkMeteredPlan,
  checkMeterPrice,
  maximumMeters,
} from "../../../src/domain/catalogue/meter.ts";
import type { PlanType } from "../../../src/domain/catalogue/plan.ts";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { planOf, type TierText, tiersOf } from "./catalogue.ts";

function paramOf(check: () => void): string | null {
  try {
    check();
  } catch (error) {
    if (error instanceof Refusal && error.code === "invalid_parameter") return error.param;
    throw error;
  }
  return "none";
}

const meter = (
  id: string,
  type: PlanType = "per_unit",
  tiers: readonly TierText[] = [],
  price = "0",
) => ({
  id,
  name: "API calls",
  unitLabel: "call",
  revenueAccount: null,
  taxType: null,
  type,
  price: parseDecimal(price),
  tiers: tiersOf(...tiers),
});

describe("the price of a meter", () => {
  it.each([
    ["per_unit", [], "0.002"],
    ["per_unit", [], "0"],
    [
      "tiered",
      [
        [1, "7", "3"],
        [null, "0"],
      ],
      "0",
    ],
    ["volume", [[null, "6"]], "0"],
    [
      "stairstep",
      [
        [5, null, "0"],
        [null, null, "50"],
      ],
      "0",
    ],
  ] as [
    PlanType,
    TierText[],
    string,
  ][])("%s %j at %s prices every quantity", (type, tiers, price) => {
    expect(paramOf(() => checkMeterPrice(meter("a", type, tiers, price), "meters.0"))).toBe("none");
  });

  it.each([
    ["per_unit", [], "-0.002", "price"],
    ["tiered", [[null, "1"]], "-1", "price"],
    ["tiered", [[null, "1"]], "1", "price"],
    ["volume", [[null, "1"]], "0.0001", "price"],
    ["stairstep", [[null, null, "1"]], "1", "price"],
    ["per_unit", [[null, "1"]], "1", "tiers"],
    ["flat_fee", [], "1", "type"],
    ["tiered", [], "0", "tiers"],
    [
      "volume",
      [
        [5, "1"],
        [5, "1"],
        [null, "1"],
      ],
      "0",
      "tiers.1.up_to",
    ],
    [
      "tiered",
      [
        [null, "1"],
        [null, "1"],
      ],
      "0",
      "tiers.0.up_to",
    ],
    [
      "tiered",
      [
        [5, null, "1"],
        [null, "1"],
      ],
      "0",
      "tiers.0.unit_price",
    ],
    [
      "volume",
      [
        [5, "1", "-1"],
        [null, "1"],
      ],
      "0",
      "tiers.0.flat_price",
    ],
    [
      "stairstep",
      [
        [5, null, "2"],
        [null, null, "1"],
      ],
      "0",
      "tiers.1.flat_price",
    ],
    // Usage cannot be refused for being too much.
    ["tiered", [[5, "1"]], "0", "tiers.0.up_to"],
    [
      "volume",
      [
        [5, "1"],
        [9, "1"],
      ],
      "0",
      "tiers.1.up_to",
    ],
    [
      "stairstep",
      [
        [5, null, "1"],
        [9, null, "2"],
      ],
      "0",
      "tiers.1.up_to",
    ],
  ] as [
    PlanType,
    TierText[],
    string,
    string,
  ][])("%s %j at %s is refused at %s", (type, tiers, price, param) => {
    expect(paramOf(() => checkMeterPrice(meter("a", type, tiers, price), "meters.3"))).toBe(
      `meters.3.${param}`,
    );
  });
});

describe("a plan with meters", () => {
  const plan = (...meters: readonly ReturnType<typeof meter>[]) => ({
    ...planOf("flat_fee", { price: ZERO }),
    meters,
  });
  const several = (count: number) =>
    Array.from({ length: count }, (_, index) => meter(`meter-${index}`));

  it("has up to twenty, each once, and each price is validated at its position", () => {
    expect(paramOf(() => checkMeteredPlan(plan()))).toBe("none");
    expect(paramOf(() => checkMeteredPlan(plan(...several(maximumMeters))))).toBe("none");
    expect(maximumMeters).toBe(20);
    expect(paramOf(() => checkMeteredPlan(plan(...several(21))))).toBe("meters");
    expect(paramOf(() => checkMeteredPlan(plan(meter("a"), meter("b"), meter("a"))))).toBe(
      "meters.2.meter",
    );
    expect(paramOf(() => checkMeteredPlan(plan(meter("a"), meter("b", "tiered"))))).toBe(
      "meters.1.tiers",
    );
  });

  it("is refused for its own prices before those of its meters", () => {
    const faulty = { ...planOf("tiered"), meters: [meter("a", "tiered")] };
    expect(paramOf(() => checkMeteredPlan(faulty))).toBe("tiers");
  });
});
