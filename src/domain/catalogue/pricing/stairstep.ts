/**
 * Stairstep: the step that the quantity reaches has one price for the whole quantity (CATALOGUE-5).
 */
import { strict as assert } from "node:assert";
import { isZero } from "../../money/decimal.ts";
import type { PricingModel } from "./pricing-model.ts";
import { tierReached } from "./tier-reached.ts";

/** The flat price of the tier reached. Nothing to price costs nothing. */
export const stairstep: PricingModel = {
  hasUnits: true,
  tierPrices: "step",
  parts({ tiers }, quantity) {
    if (isZero(quantity)) return [];
    const { flatPrice } = tierReached(tiers, quantity);
    assert(flatPrice !== null, "a step without a price");
    return [{ quantity: null, price: flatPrice }];
  },
};
