/** The choice of one tier by the whole quantity, which volume and stairstep pricing share. */
import { strict as assert } from "node:assert";
import { compare, type Decimal, decimalOf } from "../../money/decimal.ts";
import type { Tier } from "../plan.ts";

/** The first tier whose inclusive bound the quantity does not pass; asserts that there is one. decisions §3 "Tier". */
export function tierReached(tiers: readonly Tier[], quantity: Decimal): Tier {
  const tier = tiers.find(({ upTo }) => upTo === null || compare(quantity, decimalOf(upTo)) <= 0);
  assert(tier, "a quantity above the last tier");
  return tier;
}
