/**
 * Loads the facts that usage is evaluated with: the batch's subscriptions, and the organisation's
 * meters with their plans. Meters are cached for each catalogue version.
 *
 * SQL: the subscriptions are the hot path, those of several organisations by one statement.
 */

import type { Interval } from "../../domain/calendar/period.ts";
import type { MeterStatus } from "../../domain/catalogue/meter.ts";
import type {
  ReportableMeter,
  ReportableSubscription,
  UsageFacts,
} from "../../domain/usage/ingest.ts";
import { columnSet } from "../database/column-set.ts";
import { plannedOnce } from "../database/planned-once.ts";
import { db, type Executor } from "../database/prisma/client.ts";

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
}

/** An organisation's meters by id and by code. */
type Meters = Pick<UsageFacts, "metersById" | "metersByCode">;

/** SQL of an instant in microseconds. A `Date` would lose three digits (USAGE-8). */
export const microseconds = (column: string): string =>
  `(extract(epoch FROM ${column}) * 1000000)::bigint`;

/** The facts of a batch: a row for each subscription that it names, all null if there is none. */
type FactsRow = { readonly organisationId: string; readonly catalogueVersion: string } & (
  | { readonly id: null }
  | (Omit<LoadedSubscription, "interval" | "endedAt"> & {
      readonly intervalUnit: Interval["unit"];
      readonly intervalCount: number;
      readonly endedAt: string | null;
    })
);

/** Facts while they are read. */
interface OwnFacts extends ReportableFacts {
  readonly subscriptions: Map<string, LoadedSubscription>;
}

const namedColumns = columnSet("organisation_id uuid, id uuid");

// LIMIT keeps each lookup on the primary key.
const factsText = `SELECT r.organisation_id AS "organisationId", o.catalogue_version AS
    "catalogueVersion", s.*
  FROM ${namedColumns.source("r", 1)}
    CROSS JOIN LATERAL (SELECT o.catalogue_version FROM organisations o
      WHERE o.id = r.organisation_id LIMIT 1) o
    LEFT JOIN LATERAL (SELECT s.id, s.plan_id AS "planId", s.status, s.timezone,
      s.start_date AS "startDate", s.billing_day AS "billingDay",
      s.interval_unit AS "intervalUnit", s.interval_count AS "intervalCount",
      s.end_date AS "endDate", ${microseconds("s.ended_at")} AS "endedAt",
      CASE WHEN EXISTS (SELECT FROM ledger_jobs j WHERE j.subscription_id = s.id
        AND j.kind = 'end_subscription' AND j.state IN ('ready', 'sending', 'uncertain'))
        THEN s.renewal_date END AS "runningEndDate",
      s.current_period AS "currentPeriod", s.usage_bill AS "usageBill",
      s.due_at IS NULL AS "isUndue"
    FROM subscriptions s WHERE s.organisation_id = r.organisation_id AND s.id = r.id LIMIT 1) s
    ON true`;

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
  const values = [...namedColumns.arrays(named)];
  const { rows } = await executor.query<FactsRow>(plannedOnce({ text: factsText, values }));
  const facts = new Map<string, OwnFacts>();
  for (const { organisationId, catalogueVersion, ...row } of rows) {
    const own = facts.get(organisationId) ?? { catalogueVersion, subscriptions: new Map() };
    facts.set(organisationId, own);
    if (row.id === null) continue;
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
