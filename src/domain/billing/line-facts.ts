/** The facts by which lines are reckoned and explained, of the plan, charge or usage they bill. */
import type { Charge, Plan } from "../catalogue/plan.ts";
import { hasUnits, type PricedPlan, type PriceTerms } from "../catalogue/pricing/index.ts";
import type { ChargeFacts, PlanFacts, ProrationFacts, UsageFacts } from "../explanation/facts.ts";
import { meterSheet, planSheet } from "../explanation/price-sheet.ts";
import { planRule } from "../explanation/rules.ts";
import type { Subscription } from "../model/subscription.ts";
import type { OpenUsage } from "../model/usage.ts";
import { type Decimal, formatShort, isZero } from "../money/decimal.ts";

/** A plan whose price can be named as the source of an amount. */
export type SourcedPlan = PricedPlan & Pick<Plan, "id" | "currency">;

/** Price terms. `unitChangeId`: the change that set the units; absent if none is known. */
export interface SourcedTerms extends PriceTerms {
  readonly unitChangeId?: string;
}

/** Returns the subscription with the units of a change. `changeId` is absent in a preview. */
export function withUnits(
  { unitChangeId: _, ...subscription }: Subscription,
  { units, changeId }: { readonly units: number; readonly changeId?: string },
): Subscription {
  return { ...subscription, units, ...(changeId !== undefined && { unitChangeId: changeId }) };
}

/** Returns the facts of a whole period of the plan. */
export function factsOfPlan(plan: SourcedPlan, terms: SourcedTerms): PlanFacts {
  const isCounted = hasUnits(plan.type);
  return {
    r: planRule(plan.type),
    s: planSheet(plan, terms.priceOverride),
    ...(isCounted && { u: terms.units }),
    ...discountOf(terms),
    ...(isCounted && terms.unitChangeId !== undefined && { c: terms.unitChangeId }),
  };
}

/** Returns the facts of a one-off charge. */
export function factsOfCharge(
  charge: Charge,
  quantity: number,
  priceOverride: Decimal | null,
): ChargeFacts {
  const price = formatShort(priceOverride ?? charge.price);
  const facts: ChargeFacts = { r: "charge/1", q: quantity, m: price, g: charge.id };
  return priceOverride === null ? facts : { ...facts, a: 1 };
}

/** The members of a proration that its facts have in addition to price and discount. */
type ProratedFacts = Pick<ProrationFacts, "f" | "t" | "p" | "e"> & {
  readonly x: number | undefined;
  readonly c: string | undefined;
  readonly b: string | undefined;
};

/** Returns the facts of a proration. */
export function factsOfProration(
  plan: SourcedPlan,
  terms: Omit<PriceTerms, "units">,
  { x, c, b, ...change }: ProratedFacts,
): ProrationFacts {
  return {
    r: "proration/1",
    s: planSheet(plan, terms.priceOverride),
    ...change,
    ...discountOf(terms),
    ...(x !== undefined && { x }),
    ...(c !== undefined && { c }),
    ...(b !== undefined && { b }),
  };
}

/** Returns the facts of usage on a bill. */
export function factsOfUsage(
  planId: string,
  { meter, quantity, before, priced, events, bill, period }: OpenUsage,
): UsageFacts {
  return {
    r: "usage/1",
    s: meterSheet(planId, meter),
    q: formatShort(quantity),
    b: formatShort(before),
    k: formatShort(priced),
    n: Number(events),
    i: bill,
    x: period.index,
  };
}

function discountOf({
  discountPercent,
}: Pick<PriceTerms, "discountPercent">): Pick<PlanFacts, "d"> {
  return isZero(discountPercent) ? {} : { d: formatShort(discountPercent) };
}
