/** The pricing models: prices and a quantity in, priced parts out. No model rounds. */
import { assert } from "../../assert.ts";
import {
  compare,
  type Decimal,
  decimalOf,
  isZero,
  minimum,
  multiply,
  subtract,
  sum,
  ZERO,
} from "../../money/decimal.ts";
import type { Plan, PlanType, Tier } from "../plan.ts";

/** The prices that a model reads: one price, or a table of tiers with rising bounds. */
interface Prices {
  readonly price: Decimal;
  readonly tiers: readonly Tier[];
}

/** One term of the arithmetic: `quantity` × `price`, or `price` once if `quantity` is null. */
export interface PricedPart {
  readonly quantity: Decimal | null;
  readonly price: Decimal;
}

/** The operation of an explanation that a model is. */
export type PriceOperation =
  | "price_once"
  | "price_each"
  | "tier_walk"
  | "volume_band"
  | "stairstep";

/** One way to price a quantity. */
export interface PricingModel {
  readonly operation: PriceOperation;
  /** Whether a subscription to such a plan has a number of units. */
  readonly hasUnits: boolean;
  /**
   * The price that each tier must have: per unit (a flat price may be added), one for the whole
   * step, or no tiers.
   */
  readonly tierPrices: "none" | "unit" | "step";
  /**
   * Returns the terms whose exact sum is the price of the quantity, which is 0 or more, without
   * free units. A quantity has up to four places, because metered quantities are priced here too.
   * An empty list means nothing to price, but a flat fee always has one term.
   */
  readonly parts: (prices: Prices, quantity: Decimal) => readonly PricedPart[];
}

/**
 * Flat fee: the price once a period, independent of use. A flat fee plan has no units
 * (CATALOGUE-1).
 */
const flatFee: PricingModel = {
  operation: "price_once",
  hasUnits: false,
  tierPrices: "none",
  parts: ({ price }) => [{ quantity: null, price }],
};

/** Per unit: every unit costs the same. */
const perUnit: PricingModel = {
  operation: "price_each",
  hasUnits: true,
  tierPrices: "none",
  parts: ({ price }, quantity) => [{ quantity, price }],
};

/**
 * Tiered (graduated): the units inside each tier cost that tier's unit price. Each tier that is
 * reached adds its flat price.
 */
const tiered: PricingModel = {
  operation: "tier_walk",
  hasUnits: true,
  tierPrices: "unit",
  parts({ tiers }, quantity) {
    const parts: PricedPart[] = [];
    let below: Decimal = ZERO;
    for (const { upTo, unitPrice, flatPrice } of tiers) {
      if (compare(quantity, below) <= 0) break;
      assert(unitPrice !== null, "a tier without a unit price");
      const upper = upTo === null ? quantity : minimum(quantity, decimalOf(upTo));
      parts.push({ quantity: subtract(upper, below), price: unitPrice });
      if (flatPrice !== null && !isZero(flatPrice))
        parts.push({ quantity: null, price: flatPrice });
      below = upper;
    }
    assert(compare(quantity, below) <= 0, "a quantity above the last tier");
    return parts;
  },
};

/**
 * Volume: the whole quantity costs the unit price of the tier that it reaches, plus its flat price.
 * The total can therefore fall when the units rise (UNITS-5). Nothing to price costs nothing.
 */
const volume: PricingModel = {
  operation: "volume_band",
  hasUnits: true,
  tierPrices: "unit",
  parts({ tiers }, quantity) {
    if (isZero(quantity)) return [];
    const { unitPrice, flatPrice } = tierReached(tiers, quantity);
    assert(unitPrice !== null, "a tier without a unit price");
    const units = { quantity, price: unitPrice };
    return flatPrice === null || isZero(flatPrice)
      ? [units]
      : [units, { quantity: null, price: flatPrice }];
  },
};

/**
 * Stairstep: the step that the quantity reaches has one price for the whole quantity (CATALOGUE-5).
 * Nothing to price costs nothing.
 */
const stairstep: PricingModel = {
  operation: "stairstep",
  hasUnits: true,
  tierPrices: "step",
  parts({ tiers }, quantity) {
    if (isZero(quantity)) return [];
    const { flatPrice } = tierReached(tiers, quantity);
    assert(flatPrice !== null, "a step without a price");
    return [{ quantity: null, price: flatPrice }];
  },
};

/**
 * Returns the first tier whose inclusive bound the quantity does not exceed. Asserts that one
 * exists (CATALOGUE-4).
 */
function tierReached(tiers: readonly Tier[], quantity: Decimal): Tier {
  const tier = tiers.find(({ upTo }) => upTo === null || compare(quantity, decimalOf(upTo)) <= 0);
  assert(tier, "a quantity above the last tier");
  return tier;
}

/** The model of every plan type. A new type is a model and a line in this table. */
export const pricingModels = {
  flat_fee: flatFee,
  per_unit: perUnit,
  tiered,
  volume,
  stairstep,
} as const satisfies Record<PlanType, PricingModel>;

/** The part of a plan that decides a price. */
export type PricedPlan = Pick<Plan, "type" | "price" | "freeUnits" | "tiers">;

/**
 * Returns the units that cost something: total less free, at least 0. Tier bounds are compared with
 * this number (MONEY-3).
 */
export function unitsToPrice(units: number, freeUnits: number): number {
  return Math.max(0, units - freeUnits);
}

/** Returns the exact sum of a model's parts. */
export function partsValue(parts: readonly PricedPart[]): Decimal {
  return sum(
    parts.map(({ quantity, price }) => (quantity === null ? price : multiply(quantity, price))),
  );
}
