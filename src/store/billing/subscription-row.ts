/** The row of a subscription, as its list and its billing state read it. */
import { civilDate } from "../../domain/calendar/civil-date.ts";
import type { Subscription, SubscriptionStatus } from "../../domain/model/subscription.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { planColumns, readDecimal } from "../catalogue/catalogue.ts";
import { pick, type RowOf, text } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";

const members = {
  ...pick(
    columns.subscription,
    "id",
    "customerId",
    "planId",
    "currency",
    "intervalCount",
    "timezone",
    "startDate",
    "billingDay",
    "renewalDate",
    "endDate",
    "units",
    "minimumUnits",
    "discountPercent",
    "priceOverride",
    "cancelAtPeriodEnd",
    "endAfterCycles",
    "label",
    "invoiceReference",
    "createdAt",
  ),
  status: columns.subscription.status.as<SubscriptionStatus>(),
  intervalUnit: columns.subscription.intervalUnit.as<"month">(),
};

/** A row of `subscriptions` with the customer's code. */
export const subscriptionRow = { ...members, customerCode: text };

/** Converts a row to a subscription. */
export function readSubscription(row: RowOf<typeof subscriptionRow>): Subscription {
  return {
    id: row.id,
    customerId: row.customerId,
    customerCode: row.customerCode,
    planId: row.planId,
    status: row.status,
    currency: row.currency,
    interval: { unit: row.intervalUnit, count: row.intervalCount },
    timezone: row.timezone,
    startDate: civilDate(row.startDate),
    billingDay: row.billingDay,
    renewalDate: civilDate(row.renewalDate),
    endDate: row.endDate === null ? null : civilDate(row.endDate),
    units: row.units,
    minimumUnits: row.minimumUnits,
    discountPercent: parseDecimal(row.discountPercent),
    priceOverride: readDecimal(row.priceOverride),
    cancelAtPeriodEnd: row.cancelAtPeriodEnd,
    endAfterCycles: row.endAfterCycles,
    label: row.label,
    invoiceReference: row.invoiceReference,
    createdAt: row.createdAt,
  };
}

/**
 * The plan of a subscription as JSON, for use within `subscriptionSource`. Prices are text,
 * because a JSON number would become a float. `own` is the subscription, because `t` is the plan
 * inside this query.
 */
export const planJson = sql`(SELECT row_to_json(p) FROM (SELECT ${planColumns}
  FROM plans t WHERE t.organisation_id = own.organisation_id AND t.id = own.plan_id) p)`;

/** The columns of `subscriptionRow`, for use within `subscriptionSource`. */
export const subscriptionColumns = sql`${columnsOf(sql`t`, members)}, c.code AS customer_code`;

/** SQL of the tables: subscriptions `t`, customers `c`, and the ids of `planJson` in `own`. */
export const subscriptionSource = sql`subscriptions t JOIN customers c
    ON c.organisation_id = t.organisation_id AND c.id = t.customer_id
    CROSS JOIN LATERAL (SELECT t.organisation_id, t.plan_id) own`;
