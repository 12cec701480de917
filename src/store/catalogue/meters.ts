/**
 * Reads the meters of a plan, with the plan's prices for them, from rows. They are SQL for use
 * inside larger reads.
 */

import type { PlanMeter } from "../../domain/catalogue/meter.ts";
import type { PlanType } from "../../domain/catalogue/plan.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Meter, PlanMeter as PlanMeterModel } from "../../gen/prisma/client.ts";
import type { ModelRow } from "../database/prisma/model-columns.ts";
import { readTiers, type TierRow, tiersJson } from "./catalogue.ts";

/** A meter of a plan as `planMetersJson` returns it. Its tiers are in order, or null. */
export type PlanMeterRow = ModelRow<
  Meter,
  "id" | "code" | "name" | "unitLabel" | "revenueAccount" | "taxType"
> &
  ModelRow<PlanMeterModel, "price"> & {
    readonly type: PlanType;
    readonly tiers: readonly TierRow[] | null;
  };

/**
 * Returns SQL for one value: the meters of a plan, in its order, as a JSON array of `PlanMeterRow`.
 * The value is null for a plan without meters. Both arguments are SQL:
 * `planMetersJson("s.organisation_id", "s.plan_id")`. `readPlanMeters` parses the value.
 */
export function planMetersJson(organisationId: string, planId: string): string {
  const tiers = tiersJson(
    "plan_meter_tiers",
    `r.organisation_id = pm.organisation_id AND r.plan_id = pm.plan_id
      AND r.meter_id = pm.meter_id`,
  );
  return `(SELECT json_agg(json_build_object('id', m.id, 'code', m.code, 'name', m.name,
      'unitLabel', m.unit_label, 'revenueAccount', m.revenue_account, 'taxType', m.tax_type,
      'type', pm.type, 'price', pm.price::text, 'tiers', ${tiers}) ORDER BY pm.position)
    FROM plan_meters pm
      JOIN meters m ON m.organisation_id = pm.organisation_id AND m.id = pm.meter_id
    WHERE pm.organisation_id = ${organisationId} AND pm.plan_id = ${planId})`;
}

/** Parses the value of `planMetersJson`, in the plan's order. None for null. */
export function readPlanMeters(json: readonly PlanMeterRow[] | null): readonly PlanMeter[] {
  return (json ?? []).map((row) => ({
    ...row,
    price: parseDecimal(row.price),
    tiers: readTiers(row.tiers),
  }));
}
