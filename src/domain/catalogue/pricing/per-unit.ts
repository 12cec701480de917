/** Per unit: every unit costs the same. */
import type { PricingModel } from "./pricing-model.ts";

/** quantity × price. */
export const perUnit: PricingModel = {
  hasUnits: true,
  tierPrices: "none",
  parts: ({ price }, quantity) => [{ quantity, price }],
};
