/** Lists subscriptions with the plan that prices them. */
import type { Plan } from "../../domain/catalogue/plan.ts";
import type { Subscription, SubscriptionStatus } from "../../domain/model/subscription.ts";
import {
  planJson,
  readPlanJson,
  readSubscription,
  type SubscriptionRow,
  subscriptionColumns,
  subscriptionSource,
} from "../billing/subscription-row.ts";
import type { Filter, Listing } from "../database/page.ts";

/** A subscription with its plan. Its `renewal_value` needs both. */
export interface PlannedSubscription {
  readonly subscription: Subscription;
  readonly plan: Plan;
}

/** Lists subscriptions, each with its customer's code and its plan. */
export const subscriptionListing: Listing<SubscriptionRow, PlannedSubscription> = {
  table: "subscriptions",
  columns: `${subscriptionColumns}, ${planJson} AS plan`,
  from: subscriptionSource,
  read: (row) => ({ subscription: readSubscription(row), plan: readPlanJson(row.plan) }),
};

/** The filters of the list. A null filter excludes nothing (OBJECT-5). */
export interface SubscriptionFilters {
  readonly customer: string | null;
  readonly customerCode: string | null;
  readonly status: SubscriptionStatus | null;
}

/** Converts the filters to SQL conditions. */
export function subscriptionFilters({
  customer,
  customerCode,
  status,
}: SubscriptionFilters): readonly Filter[] {
  const filters: Filter[] = [];
  if (customer !== null) filters.push({ sql: "t.customer_id = ?", value: customer });
  if (customerCode !== null) filters.push({ sql: "c.code = ?", value: customerCode });
  if (status !== null) filters.push({ sql: "t.status = ?", value: status });
  return filters;
}
