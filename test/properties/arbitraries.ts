/** Random dates, prices, plans and terms for the properties of the domain. */
import fc from "fast-check";
import { addDays, type CivilDate, civilDate } from "../../src/domain/calendar/civil-date.ts";
import type { Plan, PlanType, Tier } from "../../src/domain/catalogue/plan.ts";
import { type PriceTerms, pricingModels } from "../../src/domain/catalogue/pricing/index.ts";
import { compare, type Decimal, decimalOf, ZERO } from "../../src/domain/money/decimal.ts";
import { planOf } from "../domain/catalogue/catalogue.ts";

/** Every plan type of the registry. */
export const planTypes = Object.keys(pricingModels) as PlanType[];

/** A day between 1970 and 2100. */
export const someDate: fc.Arbitrary<CivilDate> = fc
  .integer({ min: 0, max: 47_480 })
  .map((days) => addDays(civilDate("1970-01-01"), days));

/** A price of up to four places, small enough for tests to count unit by unit. */
export const somePrice: fc.Arbitrary<Decimal> = fc
  .tuple(fc.integer({ min: 0, max: 2_000_000 }), fc.constantFrom(0, 2, 3, 4))
  .map(([unscaled, scale]) => ({ unscaled: BigInt(unscaled), scale }));

/** 0 to 100 percent with up to four places. */
export const someDiscount: fc.Arbitrary<Decimal> = fc.oneof(
  fc.constant(ZERO),
  fc.integer({ min: 0, max: 100 }).map(decimalOf),
  fc
    .integer({ min: 0, max: 1_000_000 })
    .map((unscaled) => ({ unscaled: BigInt(unscaled), scale: 4 })),
);

/** One to five tiers whose bounds rise, the last with an end or without, and whatever prices. */
const someTiers = (price: "unit" | "step") =>
  fc
    .record({
      sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
      unitPrices: fc.array(somePrice, { minLength: 5, maxLength: 5 }),
      flatPrices: fc.array(fc.option(somePrice), { minLength: 5, maxLength: 5 }),
      endless: fc.boolean(),
    })
    .map(({ sizes, unitPrices, flatPrices, endless }): readonly Tier[] => {
      let upTo = 0;
      let step = 0n;
      return sizes.map((size, index) => {
        upTo += size;
        step += unitPrices[index]?.unscaled ?? 0n;
        return {
          upTo: endless && index === sizes.length - 1 ? null : upTo,
          unitPrice: price === "unit" ? (unitPrices[index] ?? ZERO) : null,
          flatPrice: price === "step" ? { unscaled: step, scale: 4 } : (flatPrices[index] ?? null),
        };
      });
    });

/** A plan of the type that could be in the catalogue. */
export function somePlan(type: PlanType): fc.Arbitrary<Plan> {
  const { hasUnits, tierPrices } = pricingModels[type];
  return fc
    .record({
      price: tierPrices === "none" ? somePrice : fc.constant(ZERO),
      tiers: tierPrices === "none" ? fc.constant([]) : someTiers(tierPrices),
      freeUnits: hasUnits ? fc.integer({ min: 0, max: 5 }) : fc.constant(0),
      currency: fc.constantFrom("EUR", "JPY", "KWD"),
      allowsPriceOverride: tierPrices === "none" ? fc.boolean() : fc.constant(false),
      interval: fc.constantFrom(1, 3, 12).map((count) => ({ unit: "month" as const, count })),
    })
    .map((members) => planOf(type, members));
}

/**
 * Volume plans whose every band is cheaper a unit than the one before: changes of them are charges
 * and credits.
 */
export const cheaperPlan: fc.Arbitrary<Plan> = somePlan("volume").map((plan) => {
  const prices = plan.tiers
    .flatMap(({ unitPrice }) => unitPrice ?? [])
    .sort((left, right) => compare(right, left));
  return {
    ...plan,
    tiers: plan.tiers.map((tier, index) => ({
      ...tier,
      unitPrice: prices[index] ?? ZERO,
      flatPrice: null,
    })),
  };
});

/** Units, at list price or (if the plan allows it) another, with a discount. */
export function someTerms(plan: Plan): fc.Arbitrary<PriceTerms> {
  const most = (plan.tiers.at(-1)?.upTo ?? 60) + plan.freeUnits;
  return fc.record({
    units: pricingModels[plan.type].hasUnits ? fc.integer({ min: 0, max: most }) : fc.constant(0),
    priceOverride: plan.allowsPriceOverride ? fc.option(somePrice) : fc.constant(null),
    discountPercent: someDiscount,
  });
}
