/** Any state of a subscription, and the price of its units counted one by one. UNITS-1, MONEY-1. */
import fc from "fast-check";
import { onBillingDay } from "../../src/domain/calendar/period.ts";
import type { Plan } from "../../src/domain/catalogue/plan.ts";
import type { BillingState } from "../../src/domain/model/billing-state.ts";
import { minorUnitDigits } from "../../src/domain/money/currency.ts";
import type { Decimal } from "../../src/domain/money/decimal.ts";
import { stateOf } from "../domain/subscriptions/billing-state-builder.ts";
import { cheaperPlan, planTypes, someDate, somePlan, someTerms } from "./arbitraries.ts";

/** The most units that tests draw for a plan. */
export const maxUnits = (plan: Plan) => (plan.tiers.at(-1)?.upTo ?? 60) + plan.freeUnits;

/** An active subscription in any of its periods, outside its invoice window or inside it. */
export const someState: fc.Arbitrary<BillingState> = fc
  .record({
    plan: fc.oneof(
      fc.constantFrom(...planTypes.filter((type) => type !== "flat_fee")).chain(somePlan),
      cheaperPlan,
    ),
    date: someDate,
    billingDay: fc.integer({ min: 1, max: 31 }),
    index: fc.nat(30),
    isAhead: fc.boolean(),
  })
  .chain(({ plan, date, billingDay, index, isAhead }) =>
    someTerms(plan).map((terms) => {
      const startDate = onBillingDay(date, billingDay);
      const { units, ...subscription } = terms;
      const ahead = isAhead ? { renewalInvoice: {} } : {};
      return stateOf({ plan, units, subscription, startDate, billingDay, index, ...ahead });
    }),
  );

/**
 * V(units) of the model, in 10⁻¹⁰ of the currency: tiers counted unit by unit, four places of price
 * and of percent.
 */
export function costOf({ plan, subscription }: BillingState, units: number): bigint {
  const places = (decimal: Decimal | null) =>
    decimal ? decimal.unscaled * 10n ** BigInt(4 - decimal.scale) : 0n;
  const count = Math.max(0, units - plan.freeUnits);
  const tierOf = (unit: number) =>
    plan.tiers.findIndex(({ upTo }) => upTo === null || unit <= upTo);
  const reached = plan.tiers[tierOf(count)];
  const tiered = () => {
    let price = 0n;
    for (let unit = 1; unit <= count; unit += 1)
      price += places(plan.tiers[tierOf(unit)]?.unitPrice ?? null);
    return plan.tiers
      .slice(0, tierOf(count) + 1)
      .reduce((total, { flatPrice }) => total + places(flatPrice), price);
  };
  const list = {
    flat_fee: () => 0n,
    per_unit: () => BigInt(count) * places(subscription.priceOverride ?? plan.price),
    tiered,
    volume: () =>
      BigInt(count) * places(reached?.unitPrice ?? null) + places(reached?.flatPrice ?? null),
    stairstep: () => places(reached?.flatPrice ?? null),
  }[plan.type];
  return (count === 0 ? 0n : list()) * (1_000_000n - places(subscription.discountPercent));
}

/** value × days ÷ all in minor units, half away from zero. */
export function minor({ plan }: BillingState, value: bigint, days = 1, all = 1): bigint {
  const divisor = BigInt(all) * 10n ** BigInt(10 - minorUnitDigits(plan.currency));
  const twice = 2n * value * BigInt(days);
  return twice < 0n ? -((-twice + divisor) / (2n * divisor)) : (twice + divisor) / (2n * divisor);
}
