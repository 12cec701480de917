/**
 * Reads the meters of a plan, with the plan's prices for them, from rows. They are SQL for use
 * inside larger reads, and for a read of their plan alone.
 */

import type { PlanMeter } from "../../domain/catalogue/meter.ts";
import type { PlanType } from "../../domain/catalogue/plan.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { isId } from "../database/ids.ts";
import { jsonRows, pick, type RowOf, text } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { readTiers, tierRow, tiersJson } from "./catalogue.ts";

/** A meter of a plan as `planMetersJson` returns it. Its tiers are in order, or null. */
export const planMeterRow = {
  ...pick(columns.meter, "id", "code", "name", "unitLabel", "revenueAccount", "taxType"),
  type: columns.planMeter.type.as<PlanType>(),
  price: text,
  tiers: jsonRows(tierRow).orNull(),
};

/** A meter of a plan. */
export type PlanMeterRow = RowOf<typeof planMeterRow>;

/**
 * Returns SQL for one value: the meters of a plan, in its order, as a JSON array of `planMeterRow`.
 * The value is null for a plan without meters. Both arguments are SQL:
 * `planMetersJson(sql`s.organisation_id`, sql`s.plan_id`)`. `readPlanMeters` parses the value.
 */
export function planMetersJson(organisationId: Sql, planId: Sql): Sql {
  const tiers = tiersJson(
    sql`plan_meter_tiers`,
    sql`r.organisation_id = pm.organisation_id AND r.plan_id = pm.plan_id
      AND r.meter_id = pm.meter_id`,
  );
  return sql`(SELECT json_agg(json_build_object('id', m.id, 'code', m.code, 'name', m.name,
      'unit_label', m.unit_label, 'revenue_account', m.revenue_account, 'tax_type', m.tax_type,
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

const loadMeters = query({
  name: "load_plan_meters",
  text: sql`
    SELECT ${planMetersJson(sql`p.organisation_id`, sql`p.id`)} AS meters
    FROM plans p
    WHERE p.organisation_id = $1 AND p.id = $2
  `,
  row: { meters: jsonRows(planMeterRow).orNull() },
});

/** Returns the meters of a plan, in its order. Null if the organisation has no such plan. */
export async function loadPlanMeters(
  executor: Executor,
  organisationId: string,
  planId: string,
): Promise<readonly PlanMeter[] | null> {
  if (!isId(planId)) return null;
  const [found] = await loadMeters(executor, organisationId, planId);
  return found === undefined ? null : readPlanMeters(found.meters);
}
