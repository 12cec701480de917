/** Lists subscriptions with the plan that prices them. */
import type { Plan } from "../../domain/catalogue/plan.ts";
import type { Subscription, SubscriptionStatus } from "../../domain/model/subscription.ts";
import {
  planJson,
  readSubscription,
  subscriptionColumns,
  subscriptionRow,
  subscriptionSource,
} from "../billing/subscription-row.ts";
import { planRow, readPlan } from "../catalogue/catalogue.ts";
import { isId } from "../database/ids.ts";
import { type Filter, filter, listing } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { jsonRow } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";

/** A subscription with its plan. Its `renewal_value` needs both. */
export interface PlannedSubscription {
  readonly subscription: Subscription;
  readonly plan: Plan;
}

/** The filters of the list. A null filter excludes nothing (OBJECT-5). */
export interface SubscriptionFilters {
  readonly customer: string | null;
  readonly customerCode: string | null;
  readonly status: SubscriptionStatus | null;
}

/** Converts the filters to SQL conditions. */
export function subscriptionFilters(filters: SubscriptionFilters): readonly Filter[] {
  const { customer, customerCode, status } = filters;
  return [
    ...filter(sql`t.customer_id = ?`, customer),
    ...filter(sql`c.code = ?`, customerCode),
    ...filter(sql`t.status = ?`, status),
  ];
}

/** Lists subscriptions, each with its customer's code and its plan. */
export const subscriptionListing = listing(
  "subscriptions",
  {
    table: sql`subscriptions`,
    columns: sql`${subscriptionColumns}, ${planJson} AS plan`,
    row: { ...subscriptionRow, plan: jsonRow(planRow) },
    from: subscriptionSource,
    read: (row): PlannedSubscription => ({
      subscription: readSubscription(row),
      plan: readPlan(row.plan),
    }),
  },
  subscriptionFilters({ customer: "", customerCode: "", status: "active" }),
);

/** Whether the organisation has a subscription with this id. */
export async function hasSubscription(
  pool: Pool,
  organisationId: string,
  id: string,
): Promise<boolean> {
  return isId(id) && (await db(pool).subscription.count({ where: { organisationId, id } })) > 0;
}
