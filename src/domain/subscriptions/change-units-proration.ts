/**
 * What a change of units comes to against what its periods were billed for, before it is known whether it is allowed. Spec: Change
 * units, rules 1, 4 and 5; decisions §5.
 */
import { strict as assert } from "node:assert";
import { type Proration, prorate } from "../billing/proration.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import { compare, type Decimal, isNegative, ZERO } from "../money/decimal.ts";
import { type PeriodState, type IssuedInvoice, issuedAhead } from "./billing-state.ts";
import type { UnitsChangeFacts, UnitsChangeRequest } from "./change-units.ts";

/** A change measured against what was billed. */
export interface MeasuredChange {
  /** The invoice that bills the next period, raised ahead; null outside the invoice window. */
  readonly renewalInvoice: IssuedInvoice | null;
  /** The rest of the current period, above its billed units; null where it is not asked for or nothing is above them. */
  readonly proration: Proration | null;
  /**
   * Whether a credit would be raised (volume plans): the new total is above the billed units of the current period, or with `separate`
   * of the next one, and a whole period of it costs less than what was billed.
   */
  readonly isCredit: boolean;
  /** Whether the new total is above the billed units of the current period: at or below them nothing is charged. Rule 4. */
  readonly isAboveBilled: boolean;
}

/** The change, measured: of a decrease, and while pending, nothing is. decisions §5 "Billed units". */
export function measureChange(facts: UnitsChangeFacts, request: UnitsChangeRequest): MeasuredChange {
  const { subscription, period } = facts;
  const { effectiveDate: from } = request;
  const isAboveBilled = isAbove(period, facts, request) && subscription.status === "active";
  const whole = isAboveBilled ? prorateFrom(period.start, period, facts, request).amount : ZERO;
  return {
    renewalInvoice: issuedAhead(facts),
    proration: isAboveBilled && request.prorate && from !== null ? prorateFrom(from, period, facts, request) : null,
    isCredit: isNegative(whole) || isNextCredit(facts, request, whole),
    isAboveBilled,
  };
}

/** Whether the new total is no decrease and above what the period was billed for. */
export function isAbove(
  { billedUnits }: PeriodState,
  { subscription }: UnitsChangeFacts,
  { units }: Pick<UnitsChangeRequest, "units">,
): boolean {
  assert(billedUnits !== null, "a plan with units has billed units");
  return units >= subscription.units && units > billedUnits;
}

/** What an increase comes to in a period from a day of it on, measured from the period's billed units. */
export function prorateFrom(
  effectiveDate: CivilDate,
  period: PeriodState,
  { plan, subscription }: UnitsChangeFacts,
  { units: toUnits }: Pick<UnitsChangeRequest, "units">,
): Proration {
  const { billedUnits: fromUnits } = period;
  assert(fromUnits !== null, "a plan with units has billed units");
  return prorate(plan, subscription, { fromUnits, toUnits, period, effectiveDate });
}

/**
 * Whether the next period's difference, billed separately, is a credit. Not where the current period's charge would be refused with
 * `prorate: true`: then no request form would be left. Spec: Change units, rule 5; decisions §5.
 */
function isNextCredit(facts: UnitsChangeFacts, request: UnitsChangeRequest, whole: Decimal): boolean {
  const { nextPeriod, period } = facts;
  if (request.document !== "separate" || nextPeriod === null || !isAbove(nextPeriod, facts, request)) return false;
  if (period.prorationClosed && compare(whole, ZERO) > 0) return false;
  return isNegative(prorateFrom(nextPeriod.start, nextPeriod, facts, request).amount);
}
