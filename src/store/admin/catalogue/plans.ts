/**
 * Writes and lists plans, with their tiers and meters, for the admin API. Lists with tiers, meters
 * and counts are SQL.
 */

import { checkMeteredPlan, type MeteredPlan } from "../../../domain/catalogue/meter.ts";
import { decideMove } from "../../../domain/catalogue/plan.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { planListing, planRow, readPlan } from "../../catalogue/catalogue.ts";
import { planMeterRow, planMetersJson, readPlanMeters } from "../../catalogue/meters.ts";
import { planColumns, planPrices } from "../../catalogue/plan-writes.ts";
import { listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { int, jsonRows } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import type { Changes } from "../changes.ts";
import { createCatalogueStore, everyFilter, logged, type UsedEntry, usesOf } from "./catalogue.ts";

const planViews = listing(
  "plan_views",
  {
    ...planListing,
    columns: sql`${planListing.columns},
      ${planMetersJson(sql`t.organisation_id`, sql`t.id`)} AS meters,
      ${usesOf(sql`subscriptions`, sql`plan_id`)}`,
    row: { ...planRow, meters: jsonRows(planMeterRow).orNull(), uses: int },
    read: ({ meters, uses, ...row }): UsedEntry<MeteredPlan> => ({
      entry: { ...readPlan(row), meters: readPlanMeters(meters) },
      uses,
    }),
  },
  everyFilter(),
);

/** Creates the plan store over changes. */
export function createPlanStore(pool: Pool, changes: Changes) {
  return createCatalogueStore(pool, changes, planViews, {
    targetKind: "plan",
    insert: (tx, organisationId, plan) => {
      checkMeteredPlan(plan);
      const data = { ...planColumns(plan), ...planPrices(plan), organisationId };
      return db(tx).plan.create({ data });
    },
    replace: async (tx, organisationId, plan) => {
      checkMeteredPlan(plan);
      const prices = { organisationId, planId: plan.id };
      await db(tx).planTier.deleteMany({ where: prices });
      await db(tx).planMeterTier.deleteMany({ where: prices });
      await db(tx).planMeter.deleteMany({ where: prices });
      const where = { organisationId, id: plan.id };
      const data = { ...planColumns(plan), ...planPrices(plan) };
      await db(tx).plan.update({ where, data });
    },
    snapshot,
    billedBy: ({ name: _, unitLabels: __, allowsPriceOverride: ___, status: ____, ...billed }) =>
      snapshot(billed),
    inUse: () =>
      new Refusal(
        "plan_in_use",
        "A subscription uses the plan: what it bills never changes. Create another plan.",
      ),
    decideMove,
  });
}

/** Returns the plan with its prices for meters, without the meters' own fields. */
function snapshot<T extends Pick<MeteredPlan, "meters">>({ meters, ...plan }: T): object {
  const priced = meters.map(({ id: meter, code, type, price, tiers }) => ({
    meter,
    code,
    type,
    price,
    tiers,
  }));
  return logged({ ...plan, meters: priced });
}
