/**
 * Flat fee: the price once a period, independent of use. A flat fee plan has no units
 * (CATALOGUE-1).
 */
import type { PricingModel } from "./pricing-model.ts";

/** The price, once. */
export const flatFee: PricingModel = {
  hasUnits: false,
  tierPrices: "none",
  parts: ({ price }) => [{ quantity: null, price }],
};
