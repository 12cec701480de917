/**
 * Loads the facts that usage is evaluated with: the batch's subscriptions, and the organisation's
 * meters with their plans.
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
import { arrayOf, bigint, bool, orNulls, pick, type RowOf, uuid } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";

/** A subscription to evaluate usage with, and whether nothing is due for it. */
export interface LoadedSubscription extends ReportableSubscription {
  readonly isUndue: boolean;
}

/** The subscriptions that reports of an organisation name, also those that it does not have. */
interface Named {
  readonly organisationId: string;
  readonly subscriptionIds: readonly string[];
}

/** What a batch is evaluated by: its subscriptions that the organisation has, and the meters. */
interface ReportableFacts extends Omit<UsageFacts, "now"> {
  readonly subscriptions: ReadonlyMap<string, LoadedSubscription>;
  /** Whether the organisation has dropped events (USAGE-18). */
  readonly hasDropped: boolean;
}

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
  hasDropped: bool.orNull(),
  ...orNulls(subscriptionRow),
};

type FactsRow = RowOf<typeof factsRow>;

const namedSet = columnSet(pick(columns.subscription, "organisationId", "id"), 1);

// LIMIT keeps each lookup on the primary key.
const readFacts = query({
  name: "load_usage_facts",
  planned: "once",
  text: sql`
    SELECT r.organisation_id, o.has_dropped, s.*
    FROM
      ${namedSet.source(sql`r`)}
      CROSS JOIN LATERAL (
        SELECT
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

const readMeters = query({
  name: "load_reportable_meters",
  planned: "once",
  text: sql`
    SELECT
      m.organisation_id, m.id, m.code, m.status,
      ARRAY(
        SELECT p.plan_id
        FROM plan_meters p
        WHERE
          p.organisation_id = m.organisation_id
          AND p.plan_id = ANY ($2::uuid[])
          AND p.meter_id = m.id
      ) AS plans
    FROM meters m
    WHERE m.organisation_id = ANY ($1::uuid[])
  `,
  row: {
    ...pick(columns.meter, "organisationId", "id", "code"),
    status: columns.meter.status.as<MeterStatus>(),
    /** Of the plans in question those that have it. */
    plans: arrayOf(uuid),
  },
});

/** Whether the organisation has the subscription. */
function isFound(row: FactsRow): row is FactsRow & RowOf<typeof subscriptionRow> {
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
      organisationId,
      id,
    })),
  );
  const rows = await readFacts(executor, ...namedSet.arrays(named));
  const planIds = new Set(rows.filter(isFound).map(({ planId }) => planId));
  const organisationIds = batches.map(({ organisationId }) => organisationId);
  const allMeters = await readMeters(executor, organisationIds, [...planIds]);
  const facts = new Map<string, ReportableFacts>();
  for (const [organisationId, own] of Map.groupBy(rows, (row) => row.organisationId)) {
    const meters = allMeters
      .filter((meter) => meter.organisationId === organisationId)
      .map((meter): ReportableMeter => ({ ...meter, plans: new Set(meter.plans) }));
    facts.set(organisationId, {
      subscriptions: new Map(own.filter(isFound).map((row) => [row.id, readSubscription(row)])),
      metersById: new Map(meters.map((meter) => [meter.id, meter])),
      metersByCode: new Map(meters.map((meter) => [meter.code, meter])),
      hasDropped: own.some(({ hasDropped }) => hasDropped === true),
    });
  }
  return facts;
}

function readSubscription(row: RowOf<typeof subscriptionRow>): LoadedSubscription {
  const { intervalUnit: unit, intervalCount: count, endedAt, ...rest } = row;
  const interval = { unit, count };
  return { ...rest, interval, endedAt: endedAt === null ? null : BigInt(endedAt) };
}
