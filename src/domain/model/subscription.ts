/** Subscriptions as every rule reads them. */
import type { CivilDate } from "../calendar/civil-date.ts";
import type { Interval } from "../calendar/period.ts";
import type { PriceTerms } from "../catalogue/pricing/index.ts";
import type { Decimal } from "../money/decimal.ts";

/**
 * The status of a subscription. `pending`: the start date is still to come in the subscription's
 * zone (STATE-1).
 */
export type SubscriptionStatus = "pending" | "active" | "complete" | "ended";

/**
 * A subscription. Dates are days in `timezone`, which never changes. `startDate` and `billingDay`
 * (1 to 31) are the anchor of its periods. `renewalDate` is the end of its current period.
 * `endDate` is set unless it renews for ever. `units` and `minimumUnits` are 0 on a flat fee.
 * `priceOverride` replaces the plan's price. `unitChangeId` is the change that set the units;
 * absent if none has, or if it was not loaded.
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
  readonly unitChangeId?: string;
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
