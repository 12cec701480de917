/**
 * Loads the facts that usage is evaluated with: the batch's subscriptions, and the organisation's
 * meters with their plans. Meters are cached for each catalogue version.
 *
 * SQL: the subscriptions are the hot path, those of several organisations by one statement.
 */

import type { CivilDate } from "../../domain/calendar/civil-date.ts";
import type { Interval } from "../../domain/calendar/period.ts";
import type { MeterStatus } from "../../domain/catalogue/meter.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import type {
  ReportableMeter,
  ReportableSubscription,
  UsageFacts,
} from "../../domain/usage/ingest.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import { db, type Executor } from "../database/prisma/client.ts";
import { bigint, bool, orNulls, pick, type RowOf } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/** A subscription to evaluate usage with, and whether nothing is due for it. */
export interface LoadedSubscription extends ReportableSubscription {
  readonly isUndue: boolean;
}

/** The subscriptions that reports of an organisation name, also those that it does not have. */
interface Named {
  readonly organisationId: string;
  readonly subscriptionIds: readonly string[];
}

/**
 * What a batch is evaluated by: its subscriptions that the organisation has, by id, and the
 * catalogue version when they were read.
 */
export interface ReportableFacts {
  readonly subscriptions: ReadonlyMap<string, LoadedSubscription>;
  readonly catalogueVersion: string;
  /** Whether the organisation has dropped events (USAGE-18). */
  readonly hasDropped: boolean;
}

/** An organisation's meters by id and by code. */
type Meters = Pick<UsageFacts, "metersById" | "metersByCode">;

/** SQL of an instant in microseconds. A `Date` would lose three digits (USAGE-8). */
export const microseconds = (column: Sql): Sql =>
  sql`(extract(epoch FROM ${column}) * 1000000)::bigint`;

const { subscription } = columns;

const subscriptionRow = {
  ...pick(subscription, "id", "planId", "timezone", "billingDay", "intervalCount"),
  ...pick(subscription, "currentPeriod", "usageBill"),
  status: subscription.status.as<SubscriptionStatus>(),
  startDate: subscription.startDate.as<CivilDate>(),
  intervalUnit: subscription.intervalUnit.as<Interval["unit"]>(),
  endDate: subscription.endDate.as<CivilDate>().orNull(),
  endedAt: bigint.orNull(),
  runningEndDate: subscription.renewalDate.as<CivilDate>().orNull(),
  isUndue: bool,
};

/** A row for each subscription that a batch names, all null if there is none. */
const factsRow = {
  organisationId: columns.organisation.id,
  catalogueVersion: columns.organisation.catalogueVersion,
  hasDropped: bool.orNull(),
  ...orNulls(subscriptionRow),
};

/** Facts while they are read. */
interface OwnFacts extends ReportableFacts {
  readonly subscriptions: Map<string, LoadedSubscription>;
}

const namedColumns = columnSet("organisation_id uuid, id uuid");

// LIMIT keeps each lookup on the primary key.
const readFacts = query({
  name: "load_usage_facts",
  planned: "once",
  text: sql`
    SELECT r.organisation_id, o.catalogue_version, o.has_dropped, s.*
    FROM
      ${namedColumns.source(sql`r`, 1)}
      CROSS JOIN LATERAL (
        SELECT
          o.catalogue_version,
          EXISTS (
            SELECT
            FROM usage_event_ids d
            WHERE d.organisation_id = o.id
          ) AS has_dropped
        FROM organisations o
        WHERE o.id = r.organisation_id
        LIMIT 1
      ) o
      LEFT JOIN LATERAL (
        SELECT
          s.id, s.plan_id, s.status, s.timezone, s.start_date, s.billing_day, s.interval_unit,
          s.interval_count, s.end_date, ${microseconds(sql`s.ended_at`)} AS ended_at,
          CASE
            WHEN EXISTS (
              SELECT
              FROM ledger_jobs j
              WHERE
                j.subscription_id = s.id
                AND j.kind = 'end_subscription'
                AND j.state IN ('ready', 'sending', 'uncertain')
            ) THEN s.renewal_date
          END AS running_end_date,
          s.current_period, s.usage_bill,
          s.due_at IS NULL AS is_undue
        FROM subscriptions s
        WHERE s.organisation_id = r.organisation_id AND s.id = r.id
        LIMIT 1
      ) s
        ON true
  `,
  row: factsRow,
});

/** Whether the organisation has the subscription. */
function isFound(row: Partial<RowOf<typeof factsRow>>): row is RowOf<typeof subscriptionRow> {
  return row.id !== null;
}

/**
 * Loads the facts of batches by organisation. With the locks taken, they are those after any
 * concurrent close or end.
 */
export async function loadFacts(
  executor: Executor,
  batches: readonly Named[],
): Promise<ReadonlyMap<string, ReportableFacts>> {
  const named = batches.flatMap(({ organisationId, subscriptionIds }) =>
    // A batch that names no subscription has a row all the same.
    (subscriptionIds.length > 0 ? subscriptionIds : [null]).map((id) => ({
      organisation_id: organisationId,
      id,
    })),
  );
  const rows = await readFacts(executor, ...namedColumns.arrays(named));
  const facts = new Map<string, OwnFacts>();
  for (const { organisationId, catalogueVersion, hasDropped, ...row } of rows) {
    const read = { catalogueVersion, hasDropped: hasDropped === true, subscriptions: new Map() };
    const own = facts.get(organisationId) ?? read;
    facts.set(organisationId, own);
    if (!isFound(row)) continue;
    const { intervalUnit: unit, intervalCount: count, endedAt, ...rest } = row;
    const interval = { unit, count };
    const subscription = { ...rest, interval, endedAt: endedAt === null ? null : BigInt(endedAt) };
    own.subscriptions.set(row.id, subscription);
  }
  return facts;
}

/** A cache of organisations' meters. Each catalogue version is read once. */
export interface MeterCatalogue {
  /** The meters of this catalogue version, or of a later one. */
  meters(executor: Executor, organisationId: string, catalogueVersion: string): Promise<Meters>;
}

/**
 * About as many organisations as a process meets in a minute. The first one read is evicted first.
 */
const maxOrganisations = 1_000;

/** Creates an empty cache. It loads what is requested. */
export function createMeterCatalogue(load = loadMeters): MeterCatalogue {
  const known = new Map<string, Meters & { readonly version: string }>();
  return {
    meters: async (executor, organisationId, catalogueVersion) => {
      const cached = known.get(organisationId);
      if (cached?.version === catalogueVersion) return cached;
      const loaded = await load(executor, organisationId);
      known.delete(organisationId);
      const [oldest] = known.keys();
      if (known.size >= maxOrganisations && oldest !== undefined) known.delete(oldest);
      known.set(organisationId, loaded);
      return loaded;
    },
  };
}

/** The version is read before the meters, so that they are of this version or of a later one. */
async function loadMeters(
  executor: Executor,
  organisationId: string,
): Promise<Meters & { readonly version: string }> {
  const organisation = await db(executor).organisation.findFirst({
    where: { id: organisationId },
    select: { catalogueVersion: true },
  });
  const rows = await db(executor).meter.findMany({
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
