/** Subscriptions: their state, whether they renew, and the amount of the next renewal. */
import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import type { Interval } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { lineAmount, type PricedPlan, type PriceTerms } from "../catalogue/pricing/index.ts";
import { type Decimal, ZERO } from "../money/decimal.ts";

/**
 * The status of a subscription. `pending`: the start date is still to come in the subscription's
 * zone (STATE-1).
 */
export type SubscriptionStatus = "pending" | "active" | "complete" | "ended";

/**
 * A subscription. Dates are days in `timezone`, which never changes. `startDate` and `billingDay`
 * (1 to 31) are the anchor of its periods. `renewalDate` is the end of its current period.
 * `endDate` is set unless it renews for ever. `units` and `minimumUnits` are 0 on a flat fee.
 * `priceOverride` replaces the plan's price.
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

/** The part of a subscription that decides whether it renews. */
export type Renewing = Pick<
  Subscription,
  "status" | "renewalDate" | "endDate" | "cancelAtPeriodEnd"
>;

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
