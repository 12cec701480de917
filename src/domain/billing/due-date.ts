/** When something is due for a subscription the next time (PERIOD-4). */
import { addDays, type CivilDate } from "../calendar/civil-date.ts";
import { invoiceCreateDays, type Period } from "../calendar/period.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import type { Renewing, Subscription } from "../model/subscription.ts";
import { willRenew } from "./renewal-value.ts";

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
