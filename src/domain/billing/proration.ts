/**
 * Computes what a change of units inside a period costs: the difference in value for the remaining
 * days (UNITS-1).
 */

import { assert } from "../assert.ts";
import { type CivilDate, compareDates, daysBetween } from "../calendar/civil-date.ts";
import { daysInPeriod, type Period } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { type PricedPlan, type PriceTerms, planValue } from "../catalogue/pricing/index.ts";
import type { ProrationFacts } from "../explanation/facts.ts";
import { amountOf } from "../explanation/named-facts.ts";
import type { ProrationParts } from "../model/invoice.ts";
import { type Decimal, formatShort, isNegative } from "../money/decimal.ts";
import { factsOfProration, type SourcedPlan } from "./line-facts.ts";

/**
 * A prorated amount, rounded once to the minor unit. Above 0 is a charge, below 0 a credit, 0
 * issues no document.
 */
export interface Proration extends ProrationParts {
  readonly amount: Decimal;
  readonly facts: ProrationFacts;
}

/**
 * The change and the period that decide a proration. `fromUnits` are the period's billed units
 * (MONEY-6). `changeId`: the change of units that requests it, if it is known. `billedBy`: what set
 * `fromUnits`, if that is known.
 */
interface ProratedChange {
  readonly fromUnits: number;
  readonly toUnits: number;
  readonly period: Pick<Period, "start" | "end"> & Partial<Pick<Period, "index">>;
  readonly effectiveDate: CivilDate;
  readonly changeId?: string | undefined;
  readonly billedBy?: string | undefined;
}

/**
 * Computes (V(to) − V(from)) × days remaining ÷ days in the period. V is exact and after discount,
 * and the result is rounded once. The days run from the effective date, a day of the period, to its
 * end (UNITS-1, MONEY-6).
 */
export function prorate(
  plan: SourcedPlan,
  terms: Omit<PriceTerms, "units">,
  { fromUnits, toUnits, period, effectiveDate, changeId, billedBy }: ProratedChange,
): Proration {
  assert(
    compareDates(period.start, effectiveDate) <= 0 && compareDates(effectiveDate, period.end) < 0,
    `${effectiveDate} is outside ${period.start} to ${period.end}`,
  );
  const facts = factsOfProration(plan, terms, {
    f: fromUnits,
    t: toUnits,
    p: [period.start, period.end],
    e: effectiveDate,
    x: period.index,
    c: changeId,
    b: billedBy,
  });
  const days = {
    daysRemaining: daysBetween(effectiveDate, period.end),
    daysInPeriod: daysInPeriod(period),
  };
  return { amount: amountOf(facts, plan.currency), facts, fromUnits, toUnits, ...days };
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
