/**
 * When something is due for a subscription the next time (PERIOD-4), whether it renews, and the
 * amount of the next renewal.
 */
import { addDays, type CivilDate, compareDates } from "../calendar/civil-date.ts";
import { invoiceCreateDays, type Period } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { lineAmount, type PricedPlan, type PriceTerms } from "../catalogue/pricing/index.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import type { Renewing, Subscription } from "../model/subscription.ts";
import { type Decimal, ZERO } from "../money/decimal.ts";

/**
 * The facts that decide the next due date. `nextPeriod` is null until its invoice is issued ahead.
 */
interface DueDateFacts {
  readonly organisation: Pick<OrganisationSettings, "setupMode" | "invoiceCreateDays">;
  readonly subscription: Renewing & Pick<Subscription, "startDate" | "interval">;
  readonly period: Pick<Period, "start" | "end">;
  readonly nextPeriod: object | null;
}

/**
 * Returns the next due date of the subscription: its start, the first day of its invoice window, or
 * its renewal date. Null once it is over. The date may be past (PERIOD-4).
 */
export function nextDueDate({
  organisation,
  subscription,
  period,
  nextPeriod,
}: DueDateFacts): CivilDate | null {
  const { status, startDate, renewalDate, interval } = subscription;
  if (isOver({ status })) return null;
  if (status === "pending") return startDate;
  if (nextPeriod !== null || organisation.setupMode || !willRenew(subscription)) return renewalDate;
  return addDays(renewalDate, -invoiceCreateDays(period, interval, organisation.invoiceCreateDays));
}

/** Whether the subscription has ended or is complete. */
export function isOver({ status }: Pick<Subscription, "status">): boolean {
  return status === "ended" || status === "complete";
}

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
