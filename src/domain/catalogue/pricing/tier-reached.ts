/** The choice of one tier by the whole quantity, shared by volume and stairstep pricing. */
import { strict as assert } from "node:assert";
import { compare, type Decimal, decimalOf } from "../../money/decimal.ts";
import type { Tier } from "../plan.ts";

/**
 * Returns the first tier whose inclusive bound the quantity does not exceed. Asserts that one
 * exists (CATALOGUE-4).
 */
export function tierReached(tiers: readonly Tier[], quantity: Decimal): Tier {
  const tier = tiers.find(({ upTo }) => upTo === null || compare(quantity, decimalOf(upTo)) <= 0);
  assert(tier, "a quantity above the last tier");
  return tier;
}
