/** Reads the meters of a plan, with the plan's prices for them, from rows. */

import type { MeterType, PlanMeter } from "../../domain/catalogue/meter.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { readTiers, type TierRow } from "./catalogue.ts";

/**
 * A meter of a plan as `planMetersJson` returns it. Prices are text, so that JSON does not convert
 * them to floats.
 */
export interface PlanMeterRow {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly unit_label: string;
  readonly revenue_account: string | null;
  readonly tax_type: string | null;
  readonly type: MeterType;
  readonly price: string;
  /** In order. Null if the meter has no tiers. */
  readonly tiers: readonly TierRow[] | null;
}

/**
 * Returns SQL for one value: the meters of a plan, in its order, as a JSON array of `PlanMeterRow`.
 * The value is null for a plan without meters. Both arguments are SQL:
 * `planMetersJson("s.organisation_id", "s.plan_id")`. `readPlanMeters` parses the value.
 */
export function planMetersJson(organisationId: string, planId: string): string {
  return `(SELECT json_agg(json_build_object('id', m.id, 'code', m.code, 'name', m.name, 'unit_label', m.unit_label,
      'revenue_account', m.revenue_account, 'tax_type', m.tax_type, 'type', pm.type, 'price', pm.price::text, 'tiers',
      (SELECT json_agg(json_build_object('up_to', mt.up_to, 'unit_price', mt.unit_price::text, 'flat_price', mt.flat_price::text)
        ORDER BY mt.position) FROM plan_meter_tiers mt
        WHERE mt.organisation_id = pm.organisation_id AND mt.plan_id = pm.plan_id AND mt.meter_id = pm.meter_id)
      ) ORDER BY pm.position)
    FROM plan_meters pm JOIN meters m ON m.organisation_id = pm.organisation_id AND m.id = pm.meter_id
    WHERE pm.organisation_id = ${organisationId} AND pm.plan_id = ${planId})`;
}

/** Parses the value of `planMetersJson`, in the plan's order. None for null. */
export function readPlanMeters(json: readonly PlanMeterRow[] | null): readonly PlanMeter[] {
  return (json ?? []).map((row) => ({
    id: row.id,
    code: row.code,
    name: row.name,
    unitLabel: row.unit_label,
    revenueAccount: row.revenue_account,
    taxType: row.tax_type,
    type: row.type,
    price: parseDecimal(row.price),
    tiers: readTiers(row.tiers),
  }));
}
