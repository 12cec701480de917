/** Every plan type prices its units exactly like the worked cases, with one rounding at the end. */
import { describe, expect, it } from "vitest";
import type { PlanType } from "../../../src/domain/catalogue/plan.ts";
import {
  describePrice,
  hasUnits,
  lineAmount,
  maximumUnits,
  partsValue,
  planValue,
  pricingModels,
  unitsToPrice,
} from "../../../src/domain/catalogue/pricing/index.ts";
import { formatDecimal, formatShort, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { planOf, type TierText, termsOf, tiersOf } from "./catalogue.ts";

const stripe: TierText[] = [
  [5, "7"],
  [10, "6.5"],
  [null, "6"],
];
const falling: TierText[] = [
  [5, "5"],
  [10, "4"],
  [15, "3"],
  [20, "2"],
  [null, "1"],
];
const steps: TierText[] = [
  [10, null, "50"],
  [20, null, "100"],
  [null, null, "150"],
];
const thousands: TierText[] = [
  [10_000, "0.001", "10"],
  [50_000, "0.0008", "10"],
  [100_000, "0.0006", "10"],
  [null, "0.0004", "10"],
];

describe("worked cases", () => {
  const cases: readonly [
    type: PlanType,
    tiers: readonly TierText[],
    values: Record<number, string>,
  ][] = [
    ["volume", stripe, { 1: "7", 5: "35", 6: "39", 20: "120", 25: "150" }],
    ["tiered", stripe, { 1: "7", 5: "35", 6: "41.5", 20: "127.5", 25: "157.5" }],
    ["volume", falling, { 1: "5", 5: "25", 6: "24", 20: "40", 25: "25" }],
    ["tiered", falling, { 6: "29", 20: "70", 25: "75" }],
    [
      "tiered",
      [
        [100, "0.10"],
        [500, "0.05"],
        [null, "0.02"],
      ],
      { 0: "0", 50: "5", 100: "10", 250: "17.5", 500: "30", 1000: "40" },
    ],
    [
      "tiered",
      [
        [50, "0.0075"],
        [null, "0.0025"],
      ],
      { 75: "0.4375" },
    ],
    ["stairstep", steps, { 0: "0", 1: "50", 10: "50", 11: "100", 20: "100", 21: "150" }],
    [
      "tiered",
      [
        [100, "1"],
        [null, "0.5"],
      ],
      { 150: "125" },
    ],
    [
      "volume",
      [
        [20, "10"],
        [null, "9"],
      ],
      { 20: "200", 21: "189" },
    ],
    [
      "stairstep",
      [
        [1000, null, "100"],
        [10_000, null, "500"],
        [null, null, "1000"],
      ],
      { 15000: "1000" },
    ],
    [
      "tiered",
      [
        [10, "2"],
        [20, "3"],
        [null, "5"],
      ],
      { 15: "35" },
    ],
    [
      "tiered",
      [
        [100, "0"],
        [200, "2"],
      ],
      { 130: "60" },
    ],
    [
      "tiered",
      [
        [10, "1.5"],
        [110, "1"],
        [1110, "0.5"],
      ],
      { 111: "115.5" },
    ],
    [
      "tiered",
      [
        [5, "2"],
        [null, "1"],
      ],
      { 13: "18" },
    ],
    ["volume", thousands, { 0: "0", 65000: "49" }],
    [
      "tiered",
      [
        [1000, "0.01"],
        [10_000, "0.008"],
        [null, "0.005"],
      ],
      { 15000: "107" },
    ],
    // A flat price of a graduated tier is paid once the tier is reached, and only then.
    [
      "tiered",
      [
        [10, "1", "100"],
        [null, "2", "50"],
      ],
      { 0: "0", 1: "101", 10: "110", 11: "162" },
    ],
  ];
  const rows = cases.flatMap(([type, tiers, values]) =>
    Object.entries(values).map(
      ([units, value]) => [type, JSON.stringify(tiers), Number(units), value] as const,
    ),
  );

  it.each(rows)("%s %s: V(%i) is %s", (type, tiers, units, value) => {
    expect(
      formatShort(
        planValue(planOf(type, { tiers: tiersOf(...JSON.parse(tiers)) }), termsOf(units)),
      ),
    ).toBe(value);
  });

  it.each([
    [1, "5", "5"],
    [5, "5", "25"],
    [25, "5", "125"],
    [0, "5", "0"],
    [7, "0.0033", "0.0231"],
    [13, "0.00123", "0.01599"],
    [7, "29.95", "209.65"],
    [10, "29.95", "299.5"],
  ])("per unit: %i at %s is %s", (units, price, value) => {
    expect(
      formatShort(planValue(planOf("per_unit", { price: parseDecimal(price) }), termsOf(units))),
    ).toBe(value);
  });

  it("a flat fee is its price, with nothing used too", () => {
    expect(lineAmount(planOf("flat_fee", { price: parseDecimal("49.9") }), termsOf(0))).toEqual(
      parseDecimal("49.90"),
    );
  });
});

describe("free units", () => {
  it.each([
    ["per_unit", 3, "0"],
    ["per_unit", 2, "0"],
    ["per_unit", 4, "5"],
    ["tiered", 3, "0"],
    ["tiered", 8, "35"],
    ["tiered", 9, "41.5"],
    ["volume", 3, "0"],
    ["volume", 8, "35"],
    ["volume", 9, "39"],
    ["stairstep", 3, "0"],
    ["stairstep", 13, "50"],
    ["stairstep", 14, "100"],
  ] as const)("%s with 3 free: %i units cost %s, by the band of the rest", (type, units, value) => {
    const tiers = { per_unit: [], tiered: stripe, volume: stripe, stairstep: steps }[type];
    const plan = planOf(type, { price: parseDecimal("5"), freeUnits: 3, tiers: tiersOf(...tiers) });
    expect(formatShort(planValue(plan, termsOf(units)))).toBe(value);
  });

  it("never make a quantity negative", () => {
    expect([unitsToPrice(2, 5), unitsToPrice(5, 5), unitsToPrice(9, 5)]).toEqual([0, 0, 4]);
  });
});

describe("terms", () => {
  const plan = planOf("per_unit", { price: parseDecimal("10") });

  it.each([
    [{ discount: "10" }, "27"],
    [{ discount: "33.3333" }, "20.00001"],
    [{ discount: "100" }, "0"],
    [{ price: "4.5" }, "13.5"],
    [{ price: "0" }, "0"],
    [{ price: "4.5", discount: "50" }, "6.75"],
  ])("3 at 10 under %j is exactly %s", (differs, value) => {
    expect(formatShort(planValue(plan, termsOf(3, differs)))).toBe(value);
  });

  it.each([
    ["EUR", "1.005", 1, "0", "1.0100"],
    ["EUR", "2.675", 1, "0", "2.6800"],
    ["EUR", "0.0033", 7, "0", "0.0200"],
    // 3 × 0.335 × 0.5 = 0.5025: one rounding gives 0.50. Rounding the discounted price first would
    // give 0.51.
    ["EUR", "0.335", 3, "50", "0.5000"],
    ["JPY", "100.5", 1, "0", "101.0000"],
    ["JPY", "33.3333", 3, "0", "100.0000"],
    ["KWD", "1.2345", 1, "0", "1.2350"],
  ])("%s %s × %i less %s %% is %s, rounded once", (...discounted) => {
    const [currency, price, units, discount, amount] = discounted;
    const priced = planOf("per_unit", { currency, price: parseDecimal(price) });
    expect(formatDecimal(lineAmount(priced, termsOf(units, { discount })))).toBe(amount);
  });

  it("units and prices at their limits stay exact", () => {
    const most = planOf("per_unit", { price: parseDecimal("999999999.9999") });
    expect(formatShort(planValue(most, termsOf(1_000_000_000, { discount: "0.0001" })))).toBe(
      "999998999999900000.1",
    );
  });
});

describe("maximum units", () => {
  it.each([
    [
      [
        [10, "1"],
        [20, "2"],
      ],
      0,
      20,
    ],
    [
      [
        [10, "1"],
        [20, "2"],
      ],
      5,
      25,
    ],
    [
      [
        [10, "1"],
        [null, "2"],
      ],
      5,
      null,
    ],
    [[], 5, null],
  ] as [
    TierText[],
    number,
    number | null,
  ][])("of %j with %i free are %s", (tiers, freeUnits, most) => {
    expect(maximumUnits(planOf("tiered", { tiers: tiersOf(...tiers), freeUnits }))).toBe(most);
  });

  it.each([
    "tiered",
    "volume",
    "stairstep",
  ] as const)("%s: more than the last tier is impossible to price", (type) => {
    const plan = planOf(type, { tiers: tiersOf([10, "1", "1"]) });
    expect(() => planValue(plan, termsOf(11))).toThrow(/above the last tier/);
  });
});

describe("description", () => {
  it.each([
    ["flat_fee", 0, {}, "49.0000", "49.0000"],
    ["flat_fee", 0, { discount: "12.5" }, "49.0000, less 12.5 %", "49.0000"],
    ["per_unit", 10, {}, "7 × 49.0000 (3 of 10 free)", "49.0000"],
    ["per_unit", 10, { price: "5" }, "7 × 5.0000 (3 of 10 free)", "5.0000"],
    ["per_unit", 2, {}, "0 × 49.0000 (2 of 2 free)", "49.0000"],
    ["tiered", 7, {}, "4 × 7.0000 (3 of 7 free)", "7.0000"],
    ["tiered", 10, { discount: "10" }, "5 × 7.0000 + 2 × 6.5000, less 10 % (3 of 10 free)", null],
    ["tiered", 0, {}, "nothing to price", null],
    ["volume", 10, {}, "7 × 6.5000 (3 of 10 free)", "6.5000"],
    ["stairstep", 14, {}, "100.0000 (3 of 14 free)", null],
  ] as const)("%s, %i units %j: %s", (type, units, differs, description, unitPrice) => {
    const tiers = { flat_fee: [], per_unit: [], tiered: stripe, volume: stripe, stairstep: steps }[
      type
    ];
    const freeUnits = type === "flat_fee" ? 0 : 3;
    const plan = planOf(type, { price: parseDecimal("49"), freeUnits, tiers: tiersOf(...tiers) });
    const described = describePrice(plan, termsOf(units, differs));
    expect(described.description).toBe(description);
    expect(described.unitPrice && formatDecimal(described.unitPrice)).toBe(unitPrice);
  });

  it("a volume tier with a flat price has two prices", () => {
    const described = describePrice(
      planOf("volume", { tiers: tiersOf(...thousands) }),
      termsOf(65_000),
    );
    expect(described).toEqual({ description: "65000 × 0.0006 + 10.0000", unitPrice: null });
  });
});

describe("metered quantities", () => {
  it.each([
    ["per_unit", "1.5", "7.5"],
    ["tiered", "5.5", "38.25"],
    ["volume", "5.0001", "32.50065"],
    ["stairstep", "10.0001", "100"],
    ["stairstep", "0.0001", "50"],
  ] as const)("%s prices %s with its decimals: %s", (type, quantity, value) => {
    const tiers = { per_unit: [], tiered: stripe, volume: stripe, stairstep: steps }[type];
    const prices = { price: parseDecimal("5"), tiers: tiersOf(...tiers) };
    expect(formatShort(partsValue(pricingModels[type].parts(prices, parseDecimal(quantity))))).toBe(
      value,
    );
  });
});

it("only flat fee plans have no units", () => {
  const types = Object.keys(pricingModels) as PlanType[];
  expect(types.filter((type) => !hasUnits(type))).toEqual(["flat_fee"]);
});
