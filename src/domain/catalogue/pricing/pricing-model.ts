/**
 * The interface of every pricing model: prices and a quantity in, priced parts out. No model
 * rounds.
 */
import type { Decimal } from "../../money/decimal.ts";
import type { Tier } from "../plan.ts";

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

/** One way to price a quantity. */
export interface PricingModel {
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
