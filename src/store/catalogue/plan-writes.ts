/**
 * Writes plans through Prisma: the plan row, and the rows of its tiers, its meters and their tiers.
 */

import type { MeteredPlan } from "../../domain/catalogue/meter.ts";
import type { Tier } from "../../domain/catalogue/plan.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";

/** Returns the row of `plans` for a plan. */
export function planRecord(
  organisationId: string,
  plan: MeteredPlan,
): Prisma.PlanUncheckedCreateInput {
  const { interval, unitLabels, tiers: _, meters: __, ...members } = plan;
  return {
    ...members,
    organisationId,
    price: formatDecimal(plan.price),
    intervalUnit: interval.unit,
    intervalCount: interval.count,
    unitSingular: unitLabels.singular,
    unitPlural: unitLabels.plural,
  };
}

/** Inserts the tiers, meters and meters' tiers of plans whose rows exist, in each plan's order. */
export async function insertPlanPrices(
  client: Pick<Prisma.TransactionClient, "planTier" | "planMeter" | "planMeterTier">,
  organisationId: string,
  plans: readonly MeteredPlan[],
): Promise<void> {
  await client.planTier.createMany({
    data: plans.flatMap(({ id: planId, tiers }) =>
      tiers.map((tier, at) => ({ organisationId, planId, ...record(tier, at) })),
    ),
  });
  const meters = plans.flatMap(({ id: planId, meters }) =>
    meters.map((meter, position) => ({ planId, position, meter })),
  );
  await client.planMeter.createMany({
    data: meters.map(({ planId, position, meter: { id: meterId, type, price } }) => ({
      organisationId,
      planId,
      position,
      meterId,
      type,
      price: formatDecimal(price),
    })),
  });
  await client.planMeterTier.createMany({
    data: meters.flatMap(({ planId, meter: { id: meterId, tiers } }) =>
      tiers.map((tier, at) => ({ organisationId, planId, meterId, ...record(tier, at) })),
    ),
  });
}

function record({ upTo, unitPrice, flatPrice }: Tier, position: number) {
  return {
    position,
    upTo,
    unitPrice: unitPrice && formatDecimal(unitPrice),
    flatPrice: flatPrice && formatDecimal(flatPrice),
  };
}
