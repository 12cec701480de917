/** Per unit: every unit costs the same. */
import type { PricingModel } from "./pricing-model.ts";

/** Quantity × price. */
export const perUnit: PricingModel = {
  hasUnits: true,
  tierPrices: "none",
  parts: ({ price }, quantity) => [{ quantity, price }],
};
