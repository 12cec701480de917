/**
 * A subscription's usage by period and meter, for the platform (USAGE-16).
 *
 * SQL: one statement reads one moment, so that usage which a bill takes meanwhile is counted once.
 */
import { type MeterUsage, type UsageSums, usageSoFar } from "../../domain/billing/usage-so-far.ts";
import { civilDate } from "../../domain/calendar/civil-date.ts";
import { type Interval, type Period, periodAt } from "../../domain/calendar/period.ts";
import type { PlanMeter } from "../../domain/catalogue/meter.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { unknownPosition } from "../../domain/refusal.ts";
import { latestPeriod } from "../../domain/usage/ingest.ts";
import { columns } from "../../gen/columns.ts";
import { openUsage } from "../billing/usage-sums.ts";
import { planMeterRow, planMetersJson, readPlanMeters } from "../catalogue/meters.ts";
import { isId } from "../database/ids.ts";
import type { Page } from "../database/page.ts";
import {
  bool,
  instant,
  int,
  jsonRows,
  pick,
  type RowOf,
  text,
  uuid,
} from "../database/sql/columns.ts";
import { columnsOf, type Sql, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import type { UsagePlace } from "./usage-rows.ts";

/** A position in the list. */
export interface UsagePosition {
  readonly periodIndex: number;
  readonly meterId: string;
}

/** Selects usage: of the meter with this code or of all, after a position. */
export interface UsageQuery {
  readonly meterCode: string | null;
  readonly limit: number;
  readonly after: UsagePosition | null;
}

/** Usage of one meter in one period with its sums. */
export interface UsageOfMeter extends UsageSums {
  readonly subscriptionId: string;
  readonly period: Period;
  readonly meter: PlanMeter;
  readonly currency: string;
}

/** Usage on bills: one period and meter. Sums are text, because JSON would make floats of them. */
const takenRow = {
  period: int,
  meter: uuid,
  events: text,
  quantity: text,
  late: text,
  amount: text,
  priced: text,
};

type TakenRow = RowOf<typeof takenRow>;

/** Usage that waits for one bill: one period and meter. */
const waitingRow = {
  period: int,
  meter: uuid,
  bill: int,
  events: text,
  quantity: text,
  late: bool,
  setupMode: bool,
};

type WaitingRow = RowOf<typeof waitingRow>;

/** The position before every row. No period has so high a number. */
const top: UsagePosition = {
  periodIndex: 2 ** 31 - 1,
  meterId: "00000000-0000-0000-0000-000000000000",
};

/** The lowest bill that has taken usage of the period of alias `of`. */
const firstBill = (of: Sql) => sql`(SELECT min(f.bill) FROM usage_bills f
  WHERE f.organisation_id = $1 AND f.subscription_id = s.id
    AND f.period_index = ${of}.period_index)`;

/** Whether a row of this alias stands after the position and passes the filter. */
const isListed = (of: Sql) => sql`(${of}.period_index, ${of}.meter_id) < ($3, $4)
  AND ($5::text IS NULL OR ${of}.meter_id = (SELECT m.id FROM meters m
    WHERE m.organisation_id = $1 AND m.code = $5))`;

const takenJson = sql`(SELECT json_agg(g) FROM (
  SELECT b.period_index AS period, b.meter_id AS meter, sum(b.events)::text AS events,
    sum(b.quantity)::text AS quantity, sum(b.amount)::text AS amount,
    coalesce(sum(b.quantity) FILTER (WHERE b.bill > ${firstBill(sql`b`)}), 0)::text AS late,
    (array_agg(b.priced ORDER BY b.bill DESC))[1]::text AS priced
  FROM usage_bills b
  WHERE b.organisation_id = $1 AND b.subscription_id = s.id AND ${isListed(sql`b`)}
  GROUP BY b.period_index, b.meter_id
  ORDER BY b.period_index DESC, b.meter_id DESC LIMIT $6) g)`;

const waitingJson = sql`(SELECT json_agg(g) FROM (
  SELECT w.period_index AS period, w.meter_id AS meter, w.bill, w.events::text AS events,
    w.quantity::text AS quantity, w.bill > least(w.first_open, ${firstBill(sql`w`)}) AS late,
    coalesce(p.setup_mode, false) AS setup_mode
  FROM (SELECT e.*, min(e.bill) OVER (PARTITION BY e.period_index) AS first_open
      FROM ${openUsage} e) w
    LEFT JOIN periods p ON p.organisation_id = $1 AND p.subscription_id = s.id
      AND p.index = w.period_index
  WHERE ${isListed(sql`w`)}) g)`;

const termsRow = {
  ...pick(columns.subscription, "id", "startDate", "billingDay", "intervalCount"),
  ...pick(columns.subscription, "currency", "currentPeriod"),
  intervalUnit: columns.subscription.intervalUnit.as<Interval["unit"]>(),
  status: columns.subscription.status.as<SubscriptionStatus>(),
};

const usageRow = {
  ...termsRow,
  meters: jsonRows(planMeterRow).orNull(),
  taken: jsonRows(takenRow).orNull(),
  waiting: jsonRows(waitingRow).orNull(),
};

type UsageRow = RowOf<typeof usageRow>;

// Planned for this subscription.
const readUsage = query({
  name: "read_usage",
  planned: "each time",
  text: sql`
    SELECT
      ${columnsOf(sql`s`, termsRow)},
      ${planMetersJson(sql`s.organisation_id`, sql`s.plan_id`)} AS meters, ${takenJson} AS taken,
      ${waitingJson} AS waiting
    FROM subscriptions s
    WHERE s.organisation_id = $1 AND s.id = $2
  `,
  row: usageRow,
});

/**
 * Returns a page of usage, newest period first. Null if the organisation has no such subscription.
 * Refuses `invalid_parameter`, param `starting_after`.
 */
export async function listUsage(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
  { meterCode, limit, after }: UsageQuery,
): Promise<Page<UsageOfMeter> | null> {
  if (!isId(subscriptionId)) return null;
  const { periodIndex, meterId } = after ?? top;
  const values = [periodIndex, meterId, meterCode, limit + 1];
  const [row] = await readUsage(executor, organisationId, subscriptionId, ...values);
  if (row === undefined) return null;
  if (after !== null) await requireUsagePosition(executor, organisationId, subscriptionId, after);
  const found = usageOf(row);
  return { data: found.slice(0, limit), hasMore: found.length > limit };
}

const findPosition = query({
  name: "find_usage_position",
  text: sql`
    SELECT
      s.timezone, s.start_date, s.billing_day, s.interval_unit, s.interval_count,
      coalesce(o.test_clock, now()) AS now,
      EXISTS (
        SELECT
        FROM plan_meters p
        WHERE p.organisation_id = $1 AND p.plan_id = s.plan_id AND p.meter_id = $3
      ) AS is_of_plan
    FROM
      subscriptions s
      JOIN organisations o ON o.id = s.organisation_id
    WHERE s.organisation_id = $1 AND s.id = $2
  `,
  row: {
    ...pick(columns.subscription, "timezone", "startDate", "billingDay", "intervalCount"),
    intervalUnit: columns.subscription.intervalUnit.as<Interval["unit"]>(),
    now: instant,
    isOfPlan: bool,
  },
});

/**
 * Refuses `invalid_parameter`, param `starting_after`, for a position where usage can never stand:
 * of a meter that is not on the plan, or of a period that has not begun. Anything else is a
 * position, also if nothing stands there any more: voided usage leaves the list (OBJECT-3).
 */
export async function requireUsagePosition(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
  { periodIndex, meterId }: UsagePosition,
): Promise<void> {
  const [row] = await findPosition(executor, organisationId, subscriptionId, meterId);
  if (row?.isOfPlan === true) {
    const { now, startDate, intervalUnit: unit, intervalCount: count, ...terms } = row;
    const periods = { ...terms, startDate: civilDate(startDate), interval: { unit, count } };
    if (periodIndex <= latestPeriod(periods, now)) return;
  }
  throw unknownPosition();
}

/** Reads the usage of an event's meter and period, with the parts of its sums. */
export async function readMeterUsage(
  executor: Executor,
  organisationId: string,
  { subscriptionId, period, meter }: UsagePlace & { readonly subscriptionId: string },
): Promise<{ readonly usage: MeterUsage; readonly currency: string }> {
  const next = [period.index + 1, top.meterId];
  const [row] = await readUsage(executor, organisationId, subscriptionId, ...next, meter.code, 1);
  const [usage] = row === undefined ? [] : meterUsageOf(row);
  if (row === undefined || usage === undefined) throw new Error("an event has usage");
  return { usage, currency: row.currency };
}

function usageOf(row: UsageRow): readonly UsageOfMeter[] {
  const { id, currency } = row;
  return meterUsageOf(row).map((usage) => {
    const { period, meter } = usage;
    return { subscriptionId: id, period, meter, currency, ...usageSoFar(usage, currency) };
  });
}

function meterUsageOf(
  row: UsageRow,
): readonly (MeterUsage & { readonly period: Period; readonly meter: PlanMeter })[] {
  const meters = new Map(readPlanMeters(row.meters).map((meter) => [meter.id, meter]));
  const groups = Map.groupBy([...(row.taken ?? []), ...(row.waiting ?? [])], keyOf);
  return [...groups.values()].toSorted(newestFirst).map((rows) => {
    const [{ period: index, meter: meterId } = { period: 0, meter: "" }] = rows;
    const meter = meters.get(meterId);
    if (meter === undefined) throw new Error(`usage of meter ${meterId} has no price`);
    const period = periodOf(row, index);
    return { period, meter, ...partsOf(row, rows) };
  });
}

const keyOf = ({ period, meter }: TakenRow | WaitingRow): string => `${period} ${meter}`;

type Rows = readonly (TakenRow | WaitingRow)[];

/** UUIDs as text have the order that PostgreSQL gives them. */
function newestFirst([left]: Rows, [right]: Rows): number {
  if (left === undefined || right === undefined) return 0;
  return right.period - left.period || (left.meter < right.meter ? 1 : -1);
}

function periodOf(row: UsageRow, index: number): Period {
  const anchor = { start: civilDate(row.startDate), billingDay: row.billingDay };
  return periodAt(anchor, { unit: row.intervalUnit, count: row.intervalCount }, index);
}

/** Usage after the last period of a subscription that is over is on no bill (USAGE-9). */
function partsOf(
  { status, currentPeriod }: UsageRow,
  rows: Rows,
): Pick<MeterUsage, "taken" | "waiting"> {
  const isOver = status === "ended" || status === "complete";
  const taken = rows.find((one) => "priced" in one);
  const waiting = rows.filter((one) => "bill" in one);
  return {
    taken: taken === undefined ? null : readTaken(taken),
    waiting: waiting.map((one) => ({
      bill: one.bill,
      events: BigInt(one.events),
      quantity: parseDecimal(one.quantity),
      isLate: one.late,
      isBillable: !one.setupMode && !(isOver && one.period > currentPeriod),
    })),
  };
}

function readTaken({ events, quantity, late, amount, priced }: TakenRow): MeterUsage["taken"] {
  return {
    events: BigInt(events),
    quantity: parseDecimal(quantity),
    late: parseDecimal(late),
    amount: parseDecimal(amount),
    priced: parseDecimal(priced),
  };
}
