/** The row of a subscription, as its list and its billing state read it. */
import { civilDate } from "../../domain/calendar/civil-date.ts";
import type { Plan } from "../../domain/catalogue/plan.ts";
import type { Subscription, SubscriptionStatus } from "../../domain/model/subscription.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";
import { type PlanRow, planListing, readDecimal, readPlan } from "../catalogue/catalogue.ts";
import type { Row } from "../database/prisma/row.ts";

/** A row of `subscriptions` with the customer's code and the plan as JSON. */
export interface SubscriptionRow
  extends Row<
    Prisma.SubscriptionModel,
    | "id"
    | "customerId"
    | "planId"
    | "currency"
    | "intervalCount"
    | "timezone"
    | "billingDay"
    | "units"
    | "minimumUnits"
    | "discountPercent"
    | "priceOverride"
    | "cancelAtPeriodEnd"
    | "endAfterCycles"
    | "label"
    | "invoiceReference"
    | "createdAt",
    "startDate" | "renewalDate" | "endDate"
  > {
  customer_code: string;
  status: SubscriptionStatus;
  interval_unit: "month";
  plan: PlanRow;
}

/** Converts a row to a subscription. */
export function readSubscription(row: Omit<SubscriptionRow, "plan">): Subscription {
  return {
    id: row.id,
    customerId: row.customer_id,
    customerCode: row.customer_code,
    planId: row.plan_id,
    status: row.status,
    currency: row.currency,
    interval: { unit: row.interval_unit, count: row.interval_count },
    timezone: row.timezone,
    startDate: civilDate(row.start_date),
    billingDay: row.billing_day,
    renewalDate: civilDate(row.renewal_date),
    endDate: row.end_date === null ? null : civilDate(row.end_date),
    units: row.units,
    minimumUnits: row.minimum_units,
    discountPercent: parseDecimal(row.discount_percent),
    priceOverride: readDecimal(row.price_override),
    cancelAtPeriodEnd: row.cancel_at_period_end,
    endAfterCycles: row.end_after_cycles,
    label: row.label,
    invoiceReference: row.invoice_reference,
    createdAt: row.created_at,
  };
}

/**
 * The plan of a subscription as JSON, for use within `subscriptionSource`. Prices are text,
 * because a JSON number would become a float. `own` is the subscription, because `t` is the plan
 * inside this query.
 */
export const planJson = `(SELECT row_to_json(p) FROM (SELECT ${planListing.columns}
  FROM plans t WHERE t.organisation_id = own.organisation_id AND t.id = own.plan_id) p)`;

/** The columns of a subscription without its plan, for use within `subscriptionSource`. */
export const subscriptionColumns = `t.id, t.customer_id, c.code AS customer_code, t.plan_id,
  t.status, t.currency, t.interval_unit,
    t.interval_count, t.timezone, t.start_date, t.billing_day, t.renewal_date, t.end_date, t.units,
      t.minimum_units, t.discount_percent,
    t.price_override, t.cancel_at_period_end, t.end_after_cycles, t.label, t.invoice_reference,
      t.created_at`;

/** SQL of the tables: subscriptions `t`, customers `c`, and the ids of `planJson` in `own`. */
export const subscriptionSource = `subscriptions t JOIN customers c
    ON c.organisation_id = t.organisation_id AND c.id = t.customer_id
    CROSS JOIN LATERAL (SELECT t.organisation_id, t.plan_id) own`;

/** Converts the plan JSON of a row. JSON carries instants as text. */
export function readPlanJson(row: PlanRow): Plan {
  return readPlan(row);
}
