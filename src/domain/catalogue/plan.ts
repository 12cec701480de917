/**
 * The catalogue: plans, their tiers and one-off charges, and which prices of a plan are valid
 * together.
 */

import type { Interval } from "../calendar/period.ts";
import { compare, type Decimal, isNegative, isZero } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import { hasTiers, hasUnits, maximumUnits, pricingModels } from "./pricing/index.ts";

/** How a plan turns units into a price (CATALOGUE-1). */
export type PlanType = "flat_fee" | "per_unit" | "tiered" | "volume" | "stairstep";

/** The status of a plan or charge. New subscriptions take `active` ones only (CATALOGUE-2). */
export type CatalogueStatus = "draft" | "active" | "inactive" | "legacy";

/**
 * One band of units to price, up to and including `upTo` (null: without end). `unitPrice` is per
 * unit, `flatPrice` is once for the band. `PricingModel.tierPrices` says which of them a plan type
 * uses (CATALOGUE-4, CATALOGUE-5).
 */
export interface Tier {
  readonly upTo: number | null;
  readonly unitPrice: Decimal | null;
  readonly flatPrice: Decimal | null;
}

/** A plan's words for its units: `seat`, `seats`. */
interface UnitLabels {
  readonly singular: string;
  readonly plural: string;
}

/**
 * A plan. `price` is per unit (`per_unit`) or per period (`flat_fee`), and 0 if the tiers price.
 * `freeUnits` are subtracted before pricing. `revenueAccount` and `taxType` are the ledger's codes,
 * null for the organisation's.
 */
export interface Plan {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly type: PlanType;
  readonly interval: Interval;
  readonly currency: string;
  readonly price: Decimal;
  readonly minimumUnits: number;
  readonly freeUnits: number;
  readonly unitLabels: UnitLabels;
  readonly allowsPriceOverride: boolean;
  readonly status: CatalogueStatus;
  readonly tiers: readonly Tier[];
  readonly createdAt: Date;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/** A one-off fee of a new subscription. `price` is the price of one (CATALOGUE-7). */
export interface Charge
  extends Pick<Plan, "id" | "code" | "name" | "currency" | "price" | "allowsPriceOverride">,
    Pick<Plan, "status" | "createdAt" | "revenueAccount" | "taxType"> {
  readonly description: string | null;
}

/** The units that a tier prices, both bounds included. `upTo` null is without end. */
interface TierBounds {
  readonly from: number;
  readonly upTo: number | null;
}

/** Returns the bounds of each tier: from 1, then from the previous `upTo` + 1 (CATALOGUE-4). */
export function tierBounds(tiers: readonly Pick<Tier, "upTo">[]): readonly TierBounds[] {
  return tiers.map(({ upTo }, index) => ({ from: (tiers[index - 1]?.upTo ?? 0) + 1, upTo }));
}

/**
 * The longest interval: a hundred years. No period of a new subscription then leaves the calendar's
 * four-digit years.
 */
const maximumMonths = 1200;

/** The part of a plan that `checkPlanPrices` reads. */
export type PlanPrices = Pick<
  Plan,
  "type" | "price" | "minimumUnits" | "freeUnits" | "allowsPriceOverride" | "tiers" | "interval"
>;

/**
 * Refuses (`invalid_parameter`, `param` the path: `tiers.1.up_to`) a plan that cannot be priced,
 * before it is written. Refused are: tier bounds that do not rise or that end early; a price
 * missing, misplaced, negative or (stairstep) falling; tiers together with a price of the plan or
 * an override; units on a flat fee (CATALOGUE-4, CATALOGUE-5, CATALOGUE-6).
 */
export function checkPlanPrices(plan: PlanPrices): void {
  if (
    !Number.isInteger(plan.interval.count) ||
    plan.interval.count < 1 ||
    plan.interval.count > maximumMonths
  ) {
    fault("interval.count", `must be a whole number of months, 1 to ${maximumMonths}`);
  }
  if (isNegative(plan.price)) fault("price", "must not be negative");
  for (const [param, units] of [
    ["minimum_units", plan.minimumUnits] as const,
    ["free_units", plan.freeUnits] as const,
  ]) {
    if (!Number.isSafeInteger(units) || units < 0)
      fault(param, "must be a whole number, 0 or more");
    if (!hasUnits(plan.type) && units > 0) fault(param, "must be 0: this plan has no units");
  }
  if (!hasTiers(plan.type)) {
    if (plan.tiers.length > 0) fault("tiers", "must be empty: this plan has one price");
    return;
  }
  if (!isZero(plan.price)) fault("price", "must be 0: the tiers have the prices");
  if (plan.allowsPriceOverride)
    fault("allows_price_override", "must be false: the tiers have the prices");
  checkTierPrices(plan.type, plan.tiers, "");
  const most = maximumUnits(plan);
  if (most !== null && plan.minimumUnits > most)
    fault("minimum_units", `must not be above the last tier's ${most}`);
}

/**
 * Refuses (`invalid_parameter`, `param` the path after `path`: `tiers.1.up_to`) tiers of this type.
 * Refused are: no tiers; bounds that do not rise or that end early; a price missing, misplaced,
 * negative or (stairstep) falling (CATALOGUE-4, CATALOGUE-5).
 */
export function checkTierPrices(type: PlanType, tiers: readonly Tier[], path: string): void {
  if (tiers.length === 0) fault(`${path}tiers`, "must have one tier at least");
  checkTierBounds(tiers, path);
  if (pricingModels[type].tierPrices === "unit") checkUnitPrices(tiers, path);
  else checkStepPrices(tiers, path);
}

function checkTierBounds(tiers: readonly Tier[], path: string): void {
  for (const [index, { from, upTo }] of tierBounds(tiers).entries()) {
    const param = `${path}tiers.${index}.up_to`;
    if (upTo === null) {
      if (index < tiers.length - 1)
        fault(param, "must be given: only the last tier is without end");
    } else if (!Number.isSafeInteger(upTo) || upTo < from) {
      fault(param, `must be a whole number, ${from} or more: bounds rise`);
    }
  }
}

function checkUnitPrices(tiers: readonly Tier[], path: string): void {
  for (const [index, { unitPrice, flatPrice }] of tiers.entries()) {
    const unitParam = `${path}tiers.${index}.unit_price`;
    if (unitPrice === null) fault(unitParam, "must be given: each unit is priced");
    else if (isNegative(unitPrice)) fault(unitParam, "must not be negative");
    if (flatPrice !== null && isNegative(flatPrice))
      fault(`${path}tiers.${index}.flat_price`, "must not be negative");
  }
}

function checkStepPrices(tiers: readonly Tier[], path: string): void {
  let previous: Decimal | null = null;
  for (const [index, { unitPrice, flatPrice }] of tiers.entries()) {
    const param = `${path}tiers.${index}.flat_price`;
    if (unitPrice !== null)
      fault(`${path}tiers.${index}.unit_price`, "must be null: each step is priced as a whole");
    if (flatPrice === null) fault(param, "must be given: each step is priced as a whole");
    else if (isNegative(flatPrice)) fault(param, "must not be negative");
    else if (previous !== null && compare(flatPrice, previous) < 0)
      fault(param, "must not be below the previous tier's");
    previous = flatPrice;
  }
}

/** How plans and charges move from status to status (CATALOGUE-2). */
const moves: Readonly<Record<CatalogueStatus, readonly CatalogueStatus[]>> = {
  draft: ["active"],
  active: ["legacy", "inactive"],
  legacy: ["active"],
  inactive: [],
};

/**
 * Decides a move of status: false if the status is already the wanted one. Refuses
 * (`invalid_state`) every move except `draft` to `active`, `active` to `legacy` or `inactive`, and
 * `legacy` to `active` (CATALOGUE-2).
 */
export function decideMove(from: CatalogueStatus, to: CatalogueStatus): boolean {
  if (from === to) return false;
  if (moves[from].includes(to)) return true;
  const possible = moves[from].length === 0 ? "nothing: it stays so" : moves[from].join(" or ");
  throw new Refusal("invalid_state", `From ${from} it can become ${possible}; not ${to}.`);
}

function fault(param: string, must: string): never {
  throw new Refusal("invalid_parameter", `${param} ${must}.`, param);
}
