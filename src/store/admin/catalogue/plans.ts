/**
 * Writes and lists plans, with their tiers and meters, for the admin API. Lists with tiers, meters
 * and counts are SQL.
 */

import { decideMove } from "../../../domain/catalogue/catalogue-status.ts";
import { checkMeteredPlan, type MeteredPlan } from "../../../domain/catalogue/meter.ts";
import { type PlanRow, planListing, readPlan } from "../../catalogue/catalogue.ts";
import { type PlanMeterRow, planMetersJson, readPlanMeters } from "../../catalogue/meters.ts";
import { planColumns, planPrices } from "../../catalogue/plan-writes.ts";
import type { Listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import type { Changes } from "../changes.ts";
import { type CatalogueStore, createCatalogueStore, logged, usesOf } from "./catalogue.ts";

/** A plan with the number of its subscriptions, including ended ones. */
export interface AdminPlan {
  readonly plan: MeteredPlan;
  readonly subscriptions: number;
}

type PlanViewRow = PlanRow & {
  readonly meters: readonly PlanMeterRow[] | null;
  readonly subscriptions: number;
};

const planViews: Listing<PlanViewRow, AdminPlan> = {
  ...planListing,
  columns: `${planListing.columns}, ${planMetersJson("t.organisation_id", "t.id")} AS meters,
    ${usesOf("subscriptions", "plan_id")} AS subscriptions`,
  read: ({ meters, subscriptions, ...row }) => ({
    plan: { ...readPlan(row), meters: readPlanMeters(meters) },
    subscriptions,
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
