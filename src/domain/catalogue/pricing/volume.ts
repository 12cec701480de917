/**
 * Volume: the whole quantity costs the price of the tier that it reaches, so the total can fall when the units rise.
 */
import { strict as assert } from "node:assert";
import { isZero } from "../../money/decimal.ts";
import type { PricingModel } from "./pricing-model.ts";
import { tierReached } from "./tier-reached.ts";

/** quantity × unit price of the tier reached + its flat price; nothing for nothing to price. */
export const volume: PricingModel = {
  hasUnits: true,
  tierPrices: "unit",
  parts({ tiers }, quantity) {
    if (isZero(quantity)) return [];
    const { unitPrice, flatPrice } = tierReached(tiers, quantity);
    assert(unitPrice !== null, "a tier without a unit price");
    const units = { quantity, price: unitPrice };
    return flatPrice === null || isZero(flatPrice) ? [units] : [units, { quantity: null, price: flatPrice }];
  },
};
