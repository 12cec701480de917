/** Subscriptions: their state, whether they renew, and what the next renewal bills. */
import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import type { Interval } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { lineAmount, type PricedPlan, type PriceTerms } from "../catalogue/pricing/index.ts";
import { type Decimal, ZERO } from "../money/decimal.ts";

/** Spec: States; decisions §4. `pending`: the start date is still to come in the subscription's zone. */
export type SubscriptionStatus = "pending" | "active" | "complete" | "ended";

/**
 * A subscription. Dates are days in `timezone`, fixed for life; `startDate` and `billingDay` (1 to 31) are the anchor
 * of its periods; `renewalDate` is the end of its current period; `endDate` is set where it will not renew for ever;
 * `units` and `minimumUnits` are 0 on a flat fee; `priceOverride` stands in for the plan's price. Spec: Subscription;
 * decisions §3.
 */
export interface Subscription extends PriceTerms {
  readonly id: string;
  readonly customerId: string;
  readonly customerCode: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly currency: string;
  readonly interval: Interval;
  readonly timezone: string;
  readonly startDate: CivilDate;
  readonly billingDay: number;
  readonly renewalDate: CivilDate;
  readonly endDate: CivilDate | null;
  readonly units: number;
  readonly minimumUnits: number;
  readonly discountPercent: Decimal;
  readonly priceOverride: Decimal | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly endAfterCycles: number | null;
  readonly label: string;
  readonly invoiceReference: string;
  readonly createdAt: Date;
}

/** What of a subscription decides whether it renews. */
export type Renewing = Pick<Subscription, "status" | "renewalDate" | "endDate" | "cancelAtPeriodEnd">;

/**
 * Whether another period follows the current one: not where it is over, set to end, or in its final cycle. decisions
 * §4.
 */
export function willRenew({ status, renewalDate, endDate, cancelAtPeriodEnd }: Renewing): boolean {
  if (status === "complete" || status === "ended" || cancelAtPeriodEnd) return false;
  return endDate === null || compareDates(renewalDate, endDate) < 0;
}

/**
 * What the next renewal bills at the current units: plan price after discount, rounded; without deferred lines and
 * usage; 0 where it will not renew. decisions §5.
 */
export function renewalValue(subscription: Renewing & PriceTerms, plan: PricedPlan & Pick<Plan, "currency">): Decimal {
  return willRenew(subscription) ? lineAmount(plan, subscription) : ZERO;
}
