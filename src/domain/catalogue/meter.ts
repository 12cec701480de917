/** Meters: what usage is reported for, and the price that a plan has for a meter (CATALOGUE-8). */
import { isNegative, isZero } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import { checkPlanPrices, checkTierPrices, type Plan, type PlanPrices } from "./plan.ts";
import { hasTiers, hasUnits } from "./pricing/index.ts";

/** An inactive meter accepts no more events. Its stored usage is still billed. */
export type MeterStatus = "active" | "inactive";

/**
 * A meter of an organisation. `unitLabel` names what it counts, in the singular. Account and tax
 * type are the ledger's codes, null for the organisation's (DOCUMENT-5).
 */
export interface Meter
  extends Pick<Plan, "id" | "code" | "name" | "createdAt" | "revenueAccount" | "taxType"> {
  readonly unitLabel: string;
  readonly status: MeterStatus;
}

/**
 * The price of a meter on a plan, over the sum of a period. The type is one with units. `price` is
 * per unit, and 0 if the tiers price (CATALOGUE-8).
 */
export type MeterPrice = Pick<Plan, "type" | "price" | "tiers">;

/** A meter as a plan prices it: everything that a usage line needs. */
export interface PricedMeter
  extends MeterPrice,
    Pick<Meter, "id" | "name" | "unitLabel" | "revenueAccount" | "taxType"> {}

/** A meter of a plan as both APIs show it. */
export interface PlanMeter extends PricedMeter, Pick<Meter, "code"> {}

/** A plan with its meters, in the order of their lines. */
export interface MeteredPlan extends Plan {
  readonly meters: readonly PlanMeter[];
}

/**
 * The most meters of a plan. Each is a line of an invoice, and the ledger accepts some hundred
 * lines at most.
 */
export const maximumMeters = 20;

/**
 * Refuses (`invalid_parameter`) prices that cannot price every quantity. The checks are those of
 * `checkPlanPrices`. In addition the last tier has no upper bound, because usage cannot be refused
 * for its amount. `param` is a path that begins with `path`: `meters.0.tiers.1.up_to`.
 */
export function checkMeterPrice({ type, price, tiers }: MeterPrice, path: string): void {
  if (!hasUnits(type)) fault(`${path}.type`, "must be a type that prices usage");
  if (isNegative(price)) fault(`${path}.price`, "must not be negative");
  if (!hasTiers(type)) {
    if (tiers.length > 0) fault(`${path}.tiers`, "must be empty: this meter has one price");
    return;
  }
  if (!isZero(price)) fault(`${path}.price`, "must be 0: the tiers have the prices");
  checkTierPrices(type, tiers, `${path}.`);
  const last = tiers.length - 1;
  if (tiers[last]?.upTo !== null)
    fault(`${path}.tiers.${last}.up_to`, "must be null: usage has no limit");
}

/**
 * Refuses (`invalid_parameter`, `param` the path: `meters.1.meter`) a plan with meters before it is
 * written. It refuses what `checkPlanPrices` and `checkMeterPrice` refuse, more meters than
 * `maximumMeters`, and a repeated meter.
 */
export function checkMeteredPlan(
  plan: PlanPrices & { readonly meters: readonly PricedMeter[] },
): void {
  checkPlanPrices(plan);
  if (plan.meters.length > maximumMeters) fault("meters", `must be ${maximumMeters} at most`);
  const known = new Set<string>();
  for (const [index, meter] of plan.meters.entries()) {
    if (known.has(meter.id))
      fault(`meters.${index}.meter`, "must be another meter: a plan has each once");
    known.add(meter.id);
    checkMeterPrice(meter, `meters.${index}`);
  }
}

function fault(param: string, must: string): never {
  throw new Refusal("invalid_parameter", `${param} ${must}.`, param);
}
