/**
 * Loads the facts that usage is evaluated with: the batch's subscriptions, and the organisation's
 * meters with their plans. Meters are cached for each catalogue version.
 *
 * SQL: the subscriptions are the hot path, read as one text for all rows by the function
 * `usage_facts`.
 */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import type { MeterStatus } from "../../domain/catalogue/meter.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import type {
  ReportableMeter,
  ReportableSubscription,
  UsageFacts,
} from "../../domain/usage/ingest.ts";
import { callFunction } from "../database/functions.ts";
import { db, type Executor } from "../database/prisma/client.ts";

/**
 * A subscription to evaluate usage with, and whether nothing is due for it. `version` is that of
 * its row: two reads with equal versions are equal, except for `runningEndDate`.
 */
export interface LoadedSubscription extends ReportableSubscription {
  readonly isUndue: boolean;
  readonly version: string;
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

/**
 * Loads the facts of the subscriptions with these ids. With the locks taken, they are those after
 * any concurrent close or end.
 */
export async function loadFacts(
  executor: Executor,
  organisationId: string,
  ids: readonly string[],
): Promise<ReportableFacts> {
  const row = await callFunction<{ usage_facts: string | null }>(
    executor,
    "usage_facts",
    organisationId,
    `{${ids.join(",")}}`,
  );
  return readFacts(organisationId, row.usage_facts);
}

/**
 * Reads facts from the database's text. It is one text for all rows, because the driver takes three
 * times as long as PostgreSQL for a hundred rows of thirteen columns.
 */
export function readFacts(organisationId: string, text: string | null): ReportableFacts {
  if (text === null) throw new Error(`organisation ${organisationId} is gone`);
  const [catalogueVersion = "", rows = ""] = text.split(";");
  const loaded = rows === "" ? [] : rows.split(",").map(readSubscription);
  const subscriptions = new Map(loaded.map((subscription) => [subscription.id, subscription]));
  return { subscriptions, catalogueVersion };
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
  const [
    endDate = "",
    endedAt = "",
    runningEndDate = "",
    currentPeriod,
    usageBill,
    isUndue,
    version,
  ] = changing;
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
    version: version ?? "",
  };
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
