/**
 * Tiered (graduated) pricing: the units inside each tier cost that tier's unit price. Each tier
 * that is reached adds its flat price.
 */
import { strict as assert } from "node:assert";
import {
  compare,
  type Decimal,
  decimalOf,
  isZero,
  minimum,
  subtract,
  ZERO,
} from "../../money/decimal.ts";
import type { PricedPart, PricingModel } from "./pricing-model.ts";

/** The sum over the tiers reached of units inside the tier × its unit price + its flat price. */
export const tiered: PricingModel = {
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
