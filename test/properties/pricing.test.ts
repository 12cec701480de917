/** What every pricing model of the registry keeps, held against prices counted unit by unit. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prorate } from "../../src/domain/billing/proration.ts";
import {
  checkPlanPrices,
  type Plan,
  type PlanType,
  type Tier,
} from "../../src/domain/catalogue/plan.ts";
import {
  describePrice,
  lineAmount,
  maximumUnits,
  planValue,
  pricingModels,
  unitsToPrice,
} from "../../src/domain/catalogue/pricing/index.ts";
import { minorUnitDigits } from "../../src/domain/money/currency.ts";
import {
  add,
  compare,
  type Decimal,
  decimalOf,
  equals,
  formatDecimal,
  isNegative,
  isZero,
  multiply,
  negate,
  subtract,
  sum,
  ZERO,
} from "../../src/domain/money/decimal.ts";
import { shareOfDays } from "../domain/billing/share-of-days.ts";
import { termsOf } from "../domain/catalogue/catalogue.ts";
import { planTypes, somePlan, someTerms } from "./arbitraries.ts";

/**
 * The oracle: prices unit by unit, without sharing anything with the models. `units` are those to
 * price.
 */
const counted: Record<PlanType, (plan: Plan, price: Decimal, units: number) => Decimal> = {
  flat_fee: (_, price) => price,
  per_unit: (_, price, units) => sum(Array.from({ length: units }, () => price)),
  tiered(plan, _, units) {
    const reached = plan.tiers.filter((_, index) => units > (plan.tiers[index - 1]?.upTo ?? 0));
    const each = Array.from(
      { length: units },
      (_, unit) => tierOf(plan, unit + 1).unitPrice ?? ZERO,
    );
    return sum([...each, ...reached.map(({ flatPrice }) => flatPrice ?? ZERO)]);
  },
  volume(plan, _, units) {
    if (units === 0) return ZERO;
    const { unitPrice, flatPrice } = tierOf(plan, units);
    return sum([...Array.from({ length: units }, () => unitPrice ?? ZERO), flatPrice ?? ZERO]);
  },
  stairstep: (plan, _, units) => (units === 0 ? ZERO : (tierOf(plan, units).flatPrice ?? ZERO)),
};

function tierOf(plan: Plan, unit: number): Tier {
  const tier = plan.tiers.find(({ upTo }) => upTo === null || unit <= upTo);
  if (!tier) throw new Error("beyond the last tier");
  return tier;
}

const planAndTerms = (type: PlanType) =>
  somePlan(type).chain((plan) => fc.tuple(fc.constant(plan), someTerms(plan)));
const hundred = decimalOf(100);

describe.each(planTypes)("%s", (type) => {
  const { hasUnits } = pricingModels[type];

  it("costs what counting unit by unit costs, less the discount, exactly", () => {
    fc.assert(
      fc.property(planAndTerms(type), ([plan, terms]) => {
        checkPlanPrices(plan);
        const units = unitsToPrice(terms.units, plan.freeUnits);
        const list = counted[type](plan, terms.priceOverride ?? plan.price, units);
        const hundredfold = multiply(list, subtract(hundred, terms.discountPercent));
        expect(equals(multiply(planValue(plan, terms), hundred), hundredfold)).toBe(true);
      }),
    );
  });

  it("costs zero if there is nothing to price, and never less than zero", () => {
    fc.assert(
      fc.property(planAndTerms(type), ([plan, terms]) => {
        expect(isNegative(planValue(plan, terms))).toBe(false);
        if (hasUnits)
          expect(isZero(planValue(plan, { ...terms, units: plan.freeUnits }))).toBe(true);
      }),
    );
  });

  it("bills its value rounded to the minor unit, half away from zero, and says how", () => {
    fc.assert(
      fc.property(planAndTerms(type), ([plan, terms]) => {
        const [amount, value] = [lineAmount(plan, terms), planValue(plan, terms)];
        expect(amount.scale).toBe(minorUnitDigits(plan.currency));
        const error = multiply(decimalOf(2), subtract(amount, value));
        const unit = { unscaled: 1n, scale: minorUnitDigits(plan.currency) };
        expect(compare(error, unit)).toBeLessThanOrEqual(0);
        expect(compare(error, negate(unit))).toBe(1);
        expect(formatDecimal(amount)).toMatch(/^\d+\.\d{4}$/);
        expect(describePrice(plan, terms).description).not.toBe("");
      }),
    );
  });

  it("free units only shift the count", () => {
    fc.assert(
      fc.property(planAndTerms(type), fc.integer({ min: 0, max: 9 }), ([plan, terms], more) => {
        const [shifted, units] = [
          { ...plan, freeUnits: plan.freeUnits + more },
          terms.units + more,
        ];
        if (hasUnits)
          expect(equals(planValue(shifted, { ...terms, units }), planValue(plan, terms))).toBe(
            true,
          );
      }),
    );
  });

  it("can be priced up to its maximum and no further", () => {
    fc.assert(
      fc.property(somePlan(type), (plan) => {
        const most = maximumUnits(plan);
        if (most === null) return;
        expect(() => planValue(plan, termsOf(most))).not.toThrow();
        expect(() => planValue(plan, termsOf(most + 1))).toThrow(/above the last tier/);
      }),
    );
  });

  it("a proration is the difference in value by days, and turned around its own opposite", () => {
    const someDays = fc.integer({ min: 1, max: 31 });
    fc.assert(
      fc.property(
        planAndTerms(type),
        fc.integer({ min: 0, max: 20 }),
        someDays,
        ([plan, terms], toUnits, days) => {
          const [fromUnits, to] = [terms.units, Math.min(toUnits, maximumUnits(plan) ?? toUnits)];
          const period = { start: "2026-05-01", end: "2026-06-01" } as Parameters<
            typeof prorate
          >[2]["period"];
          const effectiveDate =
            `2026-05-${String(32 - days).padStart(2, "0")}` as (typeof period)["start"];
          const there = prorate(plan, terms, { fromUnits, toUnits: to, period, effectiveDate });
          const back = prorate(plan, terms, {
            fromUnits: to,
            toUnits: fromUnits,
            period,
            effectiveDate,
          });
          expect(there).toMatchObject({ daysRemaining: days, daysInPeriod: 31 });
          expect(back.amount).toEqual(negate(there.amount));
          const difference = subtract(
            planValue(plan, { ...terms, units: to }),
            planValue(plan, terms),
          );
          // Within half a minor unit of difference × days ÷ 31, both sides multiplied by 62.
          const error = subtract(
            multiply(there.amount, decimalOf(62)),
            multiply(multiply(difference, decimalOf(days)), decimalOf(2)),
          );
          const bound = { unscaled: 31n, scale: minorUnitDigits(plan.currency) };
          expect(compare(error, bound) <= 0 && compare(error, negate(bound)) >= 0).toBe(true);
        },
      ),
    );
  });
});

describe("more units", () => {
  it.each(["per_unit", "tiered", "stairstep"] as const)("never cost less on a %s plan", (type) => {
    fc.assert(
      fc.property(planAndTerms(type), fc.integer({ min: 0, max: 60 }), ([plan, terms], units) => {
        const fewer = Math.min(units, terms.units);
        expect(
          compare(planValue(plan, { ...terms, units: fewer }), planValue(plan, terms)),
        ).toBeLessThanOrEqual(0);
      }),
    );
  });

  it("never cost less on a volume plan if its prices never fall", () => {
    const rising = somePlan("volume").map((plan) => ({
      ...plan,
      tiers: plan.tiers.map((tier, index) => ({
        ...tier,
        unitPrice: decimalOf(index),
        flatPrice: decimalOf(index * 3),
      })),
    }));
    const both = rising.chain((plan) => fc.tuple(fc.constant(plan), someTerms(plan)));
    fc.assert(
      fc.property(both, fc.integer({ min: 0, max: 60 }), ([plan, terms], units) => {
        const fewer = Math.min(units, terms.units);
        expect(
          compare(planValue(plan, { ...terms, units: fewer }), planValue(plan, terms)),
        ).toBeLessThanOrEqual(0);
      }),
    );
  });
});

it("the shares of a period's parts add up to the whole", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 366 }),
      fc.nat(),
      fc.integer({ min: -9999, max: 9999 }),
      (all, cut, each) => {
        // A value of whole units a day, so that no share needs rounding.
        const [value, part] = [decimalOf(each * all), cut % (all + 1)];
        const share = (days: number) =>
          shareOfDays(value, { daysRemaining: days, daysInPeriod: all }, "JPY");
        expect(equals(add(share(part), share(all - part)), value)).toBe(true);
      },
    ),
  );
});
