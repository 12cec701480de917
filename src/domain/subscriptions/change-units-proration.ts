/**
 * Measures a change of units against what its periods were billed for, before the change is known
 * to be allowed (UNITS-1, UNITS-4, UNITS-5).
 */
import { assert } from "../assert.ts";
import { billedByOf } from "../billing/billed-by.ts";
import { isNextInvoiced, issuedAhead } from "../billing/issued-invoices.ts";
import { type Proration, prorate } from "../billing/proration.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import type { BillingState, IssuedInvoice, PeriodState } from "../model/billing-state.ts";
import { compare, type Decimal, isNegative, ZERO } from "../money/decimal.ts";
import type { UnitsChangeRequest } from "./change-units.ts";

/** A change measured against what was billed. */
export interface MeasuredChange {
  /** Whether the subscription is in its invoice window (UNITS-7). */
  readonly isNextInvoiced: boolean;
  /** The renewal invoice of the next period; null if it is removed or was not issued. */
  readonly renewalInvoice: IssuedInvoice | null;
  /**
   * The charge for the rest of the current period above its billed units. Null if it was not
   * requested or the units are not above the billed ones.
   */
  readonly proration: Proration | null;
  /**
   * Whether a credit would be issued (volume plans). The new total is above the billed units of the
   * current period, or with `separate` of the next one. A whole period of it costs less than what
   * was billed (UNITS-5).
   */
  readonly isCredit: boolean;
  /**
   * Whether the new total is above the billed units of the current period. At or below them nothing
   * is charged (UNITS-4).
   */
  readonly isAboveBilled: boolean;
}

/** Measures the change. A decrease and a change while pending have no proration (MONEY-5). */
export function measureChange(facts: BillingState, request: UnitsChangeRequest): MeasuredChange {
  const { subscription, period } = facts;
  const { effectiveDate: from } = request;
  const isAboveBilled = isAbove(period, facts, request) && subscription.status === "active";
  const whole = isAboveBilled ? prorateFrom(period.start, period, facts, request).amount : ZERO;
  return {
    isNextInvoiced: isNextInvoiced(facts),
    renewalInvoice: issuedAhead(facts),
    proration:
      isAboveBilled && request.prorate && from !== null
        ? prorateFrom(from, period, facts, request)
        : null,
    isCredit: isNegative(whole) || isNextCredit(facts, request, whole),
    isAboveBilled,
  };
}

/** Whether the new total is no decrease and above the period's billed units. */
export function isAbove(
  { billedUnits }: PeriodState,
  { subscription }: BillingState,
  { units }: Pick<UnitsChangeRequest, "units">,
): boolean {
  assert(billedUnits !== null, "a plan with units has billed units");
  return units >= subscription.units && units > billedUnits;
}

/**
 * Prorates an increase in a period from a day on, measured from the period's billed units
 * (MONEY-6).
 */
export function prorateFrom(
  effectiveDate: CivilDate,
  period: PeriodState,
  { plan, subscription }: BillingState,
  { units: toUnits, changeId }: Pick<UnitsChangeRequest, "units" | "changeId">,
): Proration {
  const { billedUnits: fromUnits } = period;
  assert(fromUnits !== null, "a plan with units has billed units");
  const step = { fromUnits, toUnits, period, effectiveDate, changeId };
  return prorate(plan, subscription, { ...step, billedBy: billedByOf(period) });
}

/**
 * Whether the next period's difference, billed separately, is a credit. False if the current
 * period's charge would be refused with `prorate: true`, because no form of the request would then
 * remain (UNITS-5).
 */
function isNextCredit(facts: BillingState, request: UnitsChangeRequest, whole: Decimal): boolean {
  const { nextPeriod, period } = facts;
  if (
    request.document !== "separate" ||
    nextPeriod === null ||
    !isAbove(nextPeriod, facts, request)
  )
    return false;
  if (period.prorationClosed && compare(whole, ZERO) > 0) return false;
  return isNegative(prorateFrom(nextPeriod.start, nextPeriod, facts, request).amount);
}
