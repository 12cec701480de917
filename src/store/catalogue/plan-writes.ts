/** Converts a plan to the nested record of its row, its tiers, its meters and their tiers. */

import type { MeteredPlan, PlanMeter } from "../../domain/catalogue/meter.ts";
import type { Tier } from "../../domain/catalogue/plan.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";

/** Returns the columns of `plans` for a plan. */
export function planColumns({ interval, unitLabels, tiers: _, meters: __, ...plan }: MeteredPlan) {
  return {
    ...plan,
    price: formatDecimal(plan.price),
    intervalUnit: interval.unit,
    intervalCount: interval.count,
    unitSingular: unitLabels.singular,
    unitPlural: unitLabels.plural,
  };
}

/** Returns the rows of a plan's prices, in order: its tiers, its meters and the meters' tiers. */
export function planPrices({ tiers, meters }: MeteredPlan) {
  return {
    tiers: { create: tiers.map(tierColumns) },
    meters: { create: meters.map(meterColumns) },
  };
}

function meterColumns({ id: meterId, type, price, tiers }: PlanMeter, position: number) {
  const rows = { create: tiers.map(tierColumns) };
  return { position, meterId, type, price: formatDecimal(price), tiers: rows };
}

function tierColumns({ upTo, unitPrice, flatPrice }: Tier, position: number) {
  return {
    position,
    upTo,
    unitPrice: unitPrice && formatDecimal(unitPrice),
    flatPrice: flatPrice && formatDecimal(flatPrice),
  };
}
