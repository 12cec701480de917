/** The share of a value for the days that remain, as the formula of a proration computes it. */
import { placesOf, reckon } from "../../../src/domain/explanation/reckon.ts";
import { rules } from "../../../src/domain/explanation/rules.ts";
import { type Decimal, decimalOf } from "../../../src/domain/money/decimal.ts";

/** Returns value × days remaining ÷ days in the period, rounded to the currency. */
export function shareOfDays(
  value: Decimal,
  days: { readonly daysRemaining: number; readonly daysInPeriod: number },
  currency: string,
): Decimal {
  return reckon(rules["proration/1"].slice(-3), {
    difference: value,
    days_remaining: decimalOf(days.daysRemaining),
    days_in_period: decimalOf(days.daysInPeriod),
    places: placesOf(currency),
  });
}
