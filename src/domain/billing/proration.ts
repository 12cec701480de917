/**
 * Computes what a change of units inside a period costs: the difference in value for the remaining
 * days (UNITS-1).
 */

import { strict as assert } from "node:assert";
import { type CivilDate, compareDates, daysBetween } from "../calendar/civil-date.ts";
import { daysInPeriod, type Period } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { type PricedPlan, type PriceTerms, planValue } from "../catalogue/pricing/index.ts";
import type { ProrationParts } from "../model/invoice.ts";
import { minorUnitDigits } from "../money/currency.ts";
import {
  type Decimal,
  decimalOf,
  formatShort,
  isNegative,
  multiply,
  roundQuotient,
  subtract,
} from "../money/decimal.ts";

/**
 * A prorated amount, rounded once to the minor unit. Above 0 is a charge, below 0 a credit, 0
 * issues no document.
 */
export interface Proration extends ProrationParts {
  readonly amount: Decimal;
}

/**
 * The change and the period that decide a proration. `fromUnits` are the period's billed units
 * (MONEY-6).
 */
interface ProratedChange {
  readonly fromUnits: number;
  readonly toUnits: number;
  readonly period: Pick<Period, "start" | "end">;
  readonly effectiveDate: CivilDate;
}

/**
 * Computes (V(to) − V(from)) × days remaining ÷ days in the period. V is exact and after discount,
 * and the result is rounded once. The days run from the effective date, a day of the period, to its
 * end (UNITS-1, MONEY-6).
 */
export function prorate(
  plan: PricedPlan & Pick<Plan, "currency">,
  terms: Omit<PriceTerms, "units">,
  { fromUnits, toUnits, period, effectiveDate }: ProratedChange,
): Proration {
  assert(
    compareDates(period.start, effectiveDate) <= 0 && compareDates(effectiveDate, period.end) < 0,
    `${effectiveDate} is outside ${period.start} to ${period.end}`,
  );
  const valueAt = (units: number) => planValue(plan, { ...terms, units });
  const difference = subtract(valueAt(toUnits), valueAt(fromUnits));
  const days = {
    daysRemaining: daysBetween(effectiveDate, period.end),
    daysInPeriod: daysInPeriod(period),
  };
  return { amount: shareOfDays(difference, days, plan.currency), fromUnits, toUnits, ...days };
}

/**
 * The input of `describeProration`: the units' names and the price terms, in addition to the change
 * itself.
 */
interface DescribedProration {
  readonly plan: PricedPlan & Pick<Plan, "unitLabels">;
  readonly terms: Omit<PriceTerms, "units">;
  readonly proration: Proration;
}

/**
 * Describes the arithmetic of a proration: `10 to 12 seats, 15 of 30 days: (60 − 50) × 15 ÷ 30`.
 * Both values are those of a whole period after discount. On a credit they are swapped, so that the
 * printed amount is above 0.
 */
export function describeProration({ plan, terms, proration }: DescribedProration): string {
  const { fromUnits, toUnits, daysRemaining, daysInPeriod: days } = proration;
  const [minuend, subtrahend] = isNegative(proration.amount)
    ? [fromUnits, toUnits]
    : [toUnits, fromUnits];
  const value = (units: number) => formatShort(planValue(plan, { ...terms, units }));
  const { singular, plural } = plan.unitLabels;
  const units = `${fromUnits} to ${toUnits} ${toUnits === 1 ? singular : plural}`;
  const share = `${daysRemaining} of ${days} days`;
  const difference = `(${value(minuend)} − ${value(subtrahend)})`;
  return `${units}, ${share}: ${difference} × ${daysRemaining} ÷ ${days}`;
}

/**
 * Computes value × days remaining ÷ days in the period, rounded once, half away from zero, to the
 * currency's minor unit.
 */
export function shareOfDays(
  value: Decimal,
  days: Pick<ProrationParts, "daysRemaining" | "daysInPeriod">,
  currency: string,
): Decimal {
  return roundQuotient(
    multiply(value, decimalOf(days.daysRemaining)),
    decimalOf(days.daysInPeriod),
    minorUnitDigits(currency),
    "half_away_from_zero",
  );
}
