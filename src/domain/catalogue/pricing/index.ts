/**
 * The value of a plan and the words of its price. The order is list or override price, free
 * units, discount, and one rounding at the end (MONEY-4).
 */
import { type Inputs, placesOf, reckon } from "../../explanation/reckon.ts";
import { planRule, rules, valueFormulas } from "../../explanation/rules.ts";
import {
  type Decimal,
  decimalOf,
  formatDecimal,
  formatShort,
  isZero,
} from "../../money/decimal.ts";
import type { Plan, PlanType } from "../plan.ts";
import { type PricedPart, type PricedPlan, pricingModels, unitsToPrice } from "./models.ts";

export { type PricedPlan, partsValue, pricingModels, unitsToPrice } from "./models.ts";

/**
 * The part of a subscription that decides its price. `units` is the total (0 on a flat fee),
 * `priceOverride` replaces the plan's price, and the discount is in percent (0 to 100). A
 * `Subscription` is one.
 */
export interface PriceTerms {
  readonly units: number;
  readonly priceOverride: Decimal | null;
  readonly discountPercent: Decimal;
}

/** The description of a price, for an invoice line. */
interface PriceDescription {
  /** The arithmetic: `10 × 5.0000 + 3 × 4.0000, less 10 %`. */
  readonly description: string;
  /**
   * The one price before discount, of a unit or of a flat fee. Null if several prices meet or a
   * step is priced as a whole (OBJECT-10).
   */
  readonly unitPrice: Decimal | null;
}

/**
 * Whether subscriptions to plans of this type have units. A flat fee plan has none (CATALOGUE-1).
 */
export function hasUnits(type: PlanType): boolean {
  return pricingModels[type].hasUnits;
}

/** Whether the tiers have the prices of this type, or the plan or meter has one price. */
export function hasTiers(type: PlanType): boolean {
  return pricingModels[type].tierPrices !== "none";
}

/**
 * Returns the most total units that the plan can price, from its last tier's bound; null if
 * unlimited (CREATE-4).
 */
export function maximumUnits(plan: Pick<Plan, "tiers" | "freeUnits">): number | null {
  const bound = plan.tiers.at(-1)?.upTo ?? null;
  return bound === null ? null : bound + plan.freeUnits;
}

/**
 * The limit that the amount of a period, and of a document, must stay below (MONEY-8). 16 digits
 * before the point are stored, and one is reserved for tax.
 */
export const amountLimit = decimalOf(10n ** 15n);

/**
 * Returns V(units): the value of one period under these terms, after discount, exact and not
 * rounded (MONEY-4).
 */
export function planValue(plan: PricedPlan, terms: PriceTerms): Decimal {
  return reckon(valueFormulas[planRule(plan.type)], inputsOf(plan, terms));
}

/**
 * Returns the amount of an invoice's plan line for one whole period: V rounded once to the plan's
 * currency (MONEY-2).
 */
export function lineAmount(plan: PricedPlan & Pick<Plan, "currency">, terms: PriceTerms): Decimal {
  const inputs = { ...inputsOf(plan, terms), places: placesOf(plan.currency) };
  return reckon(rules[planRule(plan.type)], inputs);
}

/**
 * Describes the arithmetic of `lineAmount`, for the line's `description` and `unit_price`
 * (OBJECT-10).
 */
export function describePrice(plan: PricedPlan, terms: PriceTerms): PriceDescription {
  const parts = partsOf(plan, terms);
  const [first] = parts;
  const onePrice =
    first !== undefined && parts.length === 1 && pricingModels[plan.type].tierPrices !== "step";
  const free = hasUnits(plan.type) ? Math.min(terms.units, plan.freeUnits) : 0;
  return {
    description: [
      describeParts(parts),
      isZero(terms.discountPercent) ? "" : `, less ${formatShort(terms.discountPercent)} %`,
      free === 0 ? "" : ` (${free} of ${terms.units} free)`,
    ].join(""),
    unitPrice: onePrice ? first.price : null,
  };
}

/** Describes the arithmetic of a model's parts: `10 × 5.0000 + 3 × 4.0000`. */
export function describeParts(parts: readonly PricedPart[]): string {
  return parts.length === 0 ? "nothing to price" : parts.map(describePart).join(" + ");
}

function inputsOf(plan: PricedPlan, terms: PriceTerms): Inputs {
  return {
    units: decimalOf(terms.units),
    sheet: { ...plan, price: terms.priceOverride ?? plan.price },
    discount_percent: terms.discountPercent,
  };
}

function partsOf(plan: PricedPlan, terms: PriceTerms): readonly PricedPart[] {
  const prices = { price: terms.priceOverride ?? plan.price, tiers: plan.tiers };
  return pricingModels[plan.type].parts(
    prices,
    decimalOf(unitsToPrice(terms.units, plan.freeUnits)),
  );
}

function describePart({ quantity, price }: PricedPart): string {
  return quantity === null
    ? formatDecimal(price)
    : `${formatShort(quantity)} × ${formatDecimal(price)}`;
}
