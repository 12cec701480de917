/**
 * Volume pricing: the whole quantity costs the price of the tier that it reaches. The total can
 * therefore fall when the units rise (UNITS-5).
 */
import { strict as assert } from "node:assert";
import { isZero } from "../../money/decimal.ts";
import type { PricingModel } from "./pricing-model.ts";
import { tierReached } from "./tier-reached.ts";

/** Quantity × unit price of the tier reached + its flat price. Nothing to price costs nothing. */
export const volume: PricingModel = {
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
