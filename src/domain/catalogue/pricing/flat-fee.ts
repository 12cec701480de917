/** Flat fee: the price once a period, whatever is used. A flat fee plan has no units. Spec: Plan. */
import type { PricingModel } from "./pricing-model.ts";

/** price. */
export const flatFee: PricingModel = {
  hasUnits: false,
  tierPrices: "none",
  parts: ({ price }) => [{ quantity: null, price }],
};
