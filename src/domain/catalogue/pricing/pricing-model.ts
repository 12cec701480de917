/** The shape that every pricing model has: prices and a quantity in, priced parts out. No model rounds. */
import type { Decimal } from "../../money/decimal.ts";
import type { Tier } from "../plan.ts";

/** The prices that a model reads: one price, or a table of tiers whose bounds rise. */
export interface Prices {
  readonly price: Decimal;
  readonly tiers: readonly Tier[];
}

/** One term of the arithmetic: `quantity` × `price`, or `price` once where `quantity` is null. */
export interface PricedPart {
  readonly quantity: Decimal | null;
  readonly price: Decimal;
}

/** One way to price a quantity. */
export interface PricingModel {
  /** Whether a subscription to such a plan has a number of units. */
  readonly hasUnits: boolean;
  /**
   * The price that each tier must have: per unit (a flat one may join it), one for the whole step, or no tiers at all.
   */
  readonly tierPrices: "none" | "unit" | "step";
  /**
   * The terms whose exact sum is the price of the quantity (0 or more, with free units already taken off). A quantity
   * has up to four places: metered ones are priced here too. None for nothing to price, but a flat fee is always one.
   */
  readonly parts: (prices: Prices, quantity: Decimal) => readonly PricedPart[];
}
