/** Writes and lists plans, with their tiers and meters, for the admin API. */

import { decideMove } from "../../../domain/catalogue/catalogue-status.ts";
import { checkMeteredPlan, type MeteredPlan } from "../../../domain/catalogue/meter.ts";
import { type PlanRow, planListing, readPlan } from "../../catalogue/catalogue.ts";
import { type PlanMeterRow, planMetersJson, readPlanMeters } from "../../catalogue/meters.ts";
import { insertPlanPrices, planRecord } from "../../catalogue/plan-writes.ts";
import type { Listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import type { Changes } from "../changes.ts";
import { type CatalogueStore, createCatalogueStore, logged } from "./catalogue.ts";

/** A plan with the number of its subscriptions, including ended ones. */
export interface AdminPlan {
  readonly plan: MeteredPlan;
  readonly subscriptions: number;
}

const planViews: Listing<
  PlanRow & { meters: PlanMeterRow[] | null; subscriptions: number },
  AdminPlan
> = {
  ...planListing,
  columns: `${planListing.columns}, ${planMetersJson("t.organisation_id", "t.id")} AS meters,
    (SELECT count(*)::int FROM subscriptions s WHERE s.organisation_id = t.organisation_id AND s.plan_id = t.id) AS subscriptions`,
  read: (row) => ({
    plan: { ...readPlan(row), meters: readPlanMeters(row.meters) },
    subscriptions: row.subscriptions,
  }),
};

/** Creates the plan store over changes. */
export function createPlanStore(
  pool: Pool,
  changes: Changes,
): CatalogueStore<MeteredPlan, AdminPlan> {
  return createCatalogueStore(pool, changes, planViews, {
    targetKind: "plan",
    entryOf: ({ plan }) => plan,
    usesOf: ({ subscriptions }) => subscriptions,
    insert: async (transaction, organisationId, plan) => {
      checkMeteredPlan(plan);
      await transaction.plan.create({ data: planRecord(organisationId, plan) });
      await insertPlanPrices(transaction, organisationId, [plan]);
    },
    replace: async (transaction, organisationId, plan) => {
      checkMeteredPlan(plan);
      const { id, organisationId: _, ...data } = planRecord(organisationId, plan);
      await transaction.plan.updateMany({ where: { organisationId, id }, data });
      const where = { organisationId, planId: plan.id };
      await transaction.planTier.deleteMany({ where });
      await transaction.planMeterTier.deleteMany({ where });
      await transaction.planMeter.deleteMany({ where });
      await insertPlanPrices(transaction, organisationId, [plan]);
    },
    snapshot,
    billedBy: ({ name: _, unitLabels: __, allowsPriceOverride: ___, status: ____, ...billed }) =>
      snapshot(billed),
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
