/** Whether a subscription renews, and the amount of the next renewal. */
import { compareDates } from "../calendar/civil-date.ts";
import type { Plan } from "../catalogue/plan.ts";
import { lineAmount, type PricedPlan, type PriceTerms } from "../catalogue/pricing/index.ts";
import type { Renewing } from "../model/subscription.ts";
import { type Decimal, ZERO } from "../money/decimal.ts";

/**
 * Whether another period follows the current one. False if it is over, set to end, or in its final
 * cycle.
 */
export function willRenew({ status, renewalDate, endDate, cancelAtPeriodEnd }: Renewing): boolean {
  if (status === "complete" || status === "ended" || cancelAtPeriodEnd) return false;
  return endDate === null || compareDates(renewalDate, endDate) < 0;
}

/**
 * Returns what the next renewal bills at the current units: plan price after discount, rounded,
 * without deferred lines and usage. 0 if it will not renew (OBJECT-12).
 */
export function renewalValue(
  subscription: Renewing & PriceTerms,
  plan: PricedPlan & Pick<Plan, "currency">,
): Decimal {
  return willRenew(subscription) ? lineAmount(plan, subscription) : ZERO;
}
