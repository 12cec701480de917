/**
 * What a change of units inside a period costs: the difference in value for the days that are left. Spec: units, rule
 * 1.
 */
import { strict as assert } from "node:assert";
import { type CivilDate, compareDates, daysBetween } from "../calendar/civil-date.ts";
import { daysInPeriod, type Period } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { type PricedPlan, type PriceTerms, planValue } from "../catalogue/pricing/index.ts";
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

/** The figures of a proration, as a line shows them. Days are whole and half-open. decisions §3 "Invoice". */
export interface ProrationParts {
  readonly fromUnits: number;
  readonly toUnits: number;
  readonly daysRemaining: number;
  readonly daysInPeriod: number;
}

/**
 * A prorated amount, rounded once to the minor unit: above 0 a charge, below 0 a credit, 0 no document. decisions §5.
 */
export interface Proration extends ProrationParts {
  readonly amount: Decimal;
}

/** What of the period and the change decides a proration. `fromUnits` are the period's billed units. decisions §5. */
export interface ProratedChange {
  readonly fromUnits: number;
  readonly toUnits: number;
  readonly period: Pick<Period, "start" | "end">;
  readonly effectiveDate: CivilDate;
}

/**
 * (V(to) − V(from)) × days remaining ÷ days in the period, with V exact and after discount, rounded once. The days run
 * from the effective date, a day of the period, to its end. Spec: units, rule 1; decisions §5.
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
  const days = { daysRemaining: daysBetween(effectiveDate, period.end), daysInPeriod: daysInPeriod(period) };
  return { amount: shareOfDays(difference, days, plan.currency), fromUnits, toUnits, ...days };
}

/** What a described proration is of: the units' names and the price terms, beside the change itself. */
export interface DescribedProration {
  readonly plan: PricedPlan & Pick<Plan, "unitLabels">;
  readonly terms: Omit<PriceTerms, "units">;
  readonly proration: Proration;
}

/**
 * How a proration comes about, in words: `10 to 12 seats, 15 of 30 days: (60 − 50) × 15 ÷ 30`, where both values are
 * those of a whole period after discount. Of a credit the values are turned, so that the amount printed is above 0.
 */
export function describeProration({ plan, terms, proration }: DescribedProration): string {
  const { fromUnits, toUnits, daysRemaining, daysInPeriod: days } = proration;
  const [minuend, subtrahend] = isNegative(proration.amount) ? [fromUnits, toUnits] : [toUnits, fromUnits];
  const value = (units: number) => formatShort(planValue(plan, { ...terms, units }));
  const units = `${fromUnits} to ${toUnits} ${toUnits === 1 ? plan.unitLabels.singular : plan.unitLabels.plural}`;
  return `${units}, ${daysRemaining} of ${days} days: (${value(minuend)} − ${value(subtrahend)}) × ${daysRemaining} ÷ ${days}`;
}

/** value × days remaining ÷ days in the period, rounded once, half away from zero, to the currency's minor unit. */
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
