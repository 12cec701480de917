/**
 * Loads the facts that usage is evaluated with: the batch's subscriptions, and the organisation's
 * meters with their plans. Meters are cached for each catalogue version.
 *
 * SQL: the subscriptions are the hot path, read as one text for all rows.
 */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import type { MeterStatus } from "../../domain/catalogue/meter.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import type {
  ReportableMeter,
  ReportableSubscription,
  UsageFacts,
} from "../../domain/usage/ingest.ts";
import { db } from "../database/client.ts";
import type { Transaction } from "../database/pool.ts";

/** A subscription to evaluate usage with, and whether nothing is due for it. */
export interface LoadedSubscription extends ReportableSubscription {
  readonly isUndue: boolean;
}

/**
 * The batch's subscriptions that the organisation has, by id, and the catalogue version when they
 * were read.
 */
interface LoadedSubscriptions {
  readonly subscriptions: ReadonlyMap<string, LoadedSubscription>;
  readonly catalogueVersion: string;
}

/** An organisation's meters by id and by code. */
type Meters = Pick<UsageFacts, "metersById" | "metersByCode">;

/** SQL of an instant in microseconds. A `Date` would lose three digits (USAGE-8). */
export const microseconds = (column: string): string =>
  `(extract(epoch FROM ${column}) * 1000000)::bigint`;

// One text for all rows. The driver takes three times as long as PostgreSQL for a hundred rows of
// thirteen columns. No column contains a space or a comma. LIMIT keeps each lookup on the primary
// key, however full the table was when the statement was planned.
const subscriptionsText = `SELECT o.catalogue_version::text AS "catalogueVersion",
    (SELECT string_agg(s.columns, ',') FROM unnest($2::uuid[]) AS r(id) CROSS JOIN LATERAL (
      SELECT concat_ws(' ', s.id, s.plan_id, s.status, s.timezone, s.start_date, s.billing_day,
        s.interval_unit, s.interval_count, coalesce(s.end_date::text, ''),
        coalesce(${microseconds("s.ended_at")}::text, ''),
        coalesce((SELECT s.renewal_date FROM ledger_jobs o WHERE o.subscription_id = s.id
          AND o.kind = 'end_subscription'
          AND o.state IN ('ready', 'sending', 'uncertain'))::text, ''),
        s.current_period, s.usage_bill, s.due_at IS NULL) AS columns
      FROM subscriptions s WHERE s.organisation_id = $1 AND s.id = r.id LIMIT 1) s) AS subscriptions
  FROM organisations o WHERE o.id = $1`;

/**
 * Loads the subscriptions with these ids. The caller has taken the locks, so the state is the one
 * after any concurrent close or end.
 */
export async function loadReportable(
  tx: Transaction,
  organisationId: string,
  ids: readonly string[],
): Promise<LoadedSubscriptions> {
  const { rows } = await tx.query<{ catalogueVersion: string; subscriptions: string | null }>({
    name: "load_reportable_subscriptions",
    text: subscriptionsText,
    values: [organisationId, `{${ids.join(",")}}`],
  });
  const [row] = rows;
  if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
  const loaded = row.subscriptions?.split(",").map(readSubscription) ?? [];
  return {
    subscriptions: new Map(loaded.map((subscription) => [subscription.id, subscription])),
    catalogueVersion: row.catalogueVersion,
  };
}

function readSubscription(columns: string): LoadedSubscription {
  const [
    id = "",
    planId = "",
    status,
    timezone = "",
    startDate = "",
    billingDay,
    unit,
    count,
    ...changing
  ] = columns.split(" ");
  const [endDate = "", endedAt = "", runningEndDate = "", currentPeriod, usageBill, isUndue] =
    changing;
  return {
    id,
    planId,
    status: status as SubscriptionStatus,
    timezone,
    startDate: civilDate(startDate),
    billingDay: Number(billingDay),
    interval: { unit: unit as "month", count: Number(count) },
    endDate: endDate === "" ? null : civilDate(endDate),
    endedAt: endedAt === "" ? null : BigInt(endedAt),
    runningEndDate: runningEndDate === "" ? null : civilDate(runningEndDate),
    currentPeriod: Number(currentPeriod),
    usageBill: Number(usageBill),
    isUndue: isUndue === "t",
  };
}

/** A cache of organisations' meters. Each catalogue version is read once. */
export interface MeterCatalogue {
  /** The meters of this catalogue version, or of a later one. */
  meters(tx: Transaction, organisationId: string, catalogueVersion: string): Promise<Meters>;
}

/**
 * About as many organisations as a process meets in a minute. The first one read is evicted first.
 */
const mostOrganisations = 1_000;

/** Creates an empty cache. It loads what is requested. */
export function createMeterCatalogue(load = loadMeters): MeterCatalogue {
  const known = new Map<string, Meters & { readonly version: string }>();
  return {
    meters: async (tx, organisationId, catalogueVersion) => {
      const cached = known.get(organisationId);
      if (cached?.version === catalogueVersion) return cached;
      const loaded = await load(tx, organisationId);
      known.delete(organisationId);
      const [oldest] = known.keys();
      if (known.size >= mostOrganisations && oldest !== undefined) known.delete(oldest);
      known.set(organisationId, loaded);
      return loaded;
    },
  };
}

/** The version is read before the meters, so that they are of this version or of a later one. */
async function loadMeters(
  tx: Transaction,
  organisationId: string,
): Promise<Meters & { readonly version: string }> {
  const organisation = await db(tx).organisation.findFirst({
    where: { id: organisationId },
    select: { catalogueVersion: true },
  });
  const rows = await db(tx).meter.findMany({
    where: { organisationId },
    select: { id: true, code: true, status: true, plans: { select: { planId: true } } },
  });
  const meters = rows.map(
    ({ id, code, status, plans }): ReportableMeter => ({
      id,
      code,
      status: status as MeterStatus,
      plans: new Set(plans.map(({ planId }) => planId)),
    }),
  );
  return {
    version: organisation?.catalogueVersion.toString() ?? "",
    metersById: new Map(meters.map((meter) => [meter.id, meter])),
    metersByCode: new Map(meters.map((meter) => [meter.code, meter])),
  };
}
