/**
 * Locks the organisation, and writes the states of locked subscriptions: themselves, their periods,
 * and everything that was due. SQL locks, and writes other values to each row of a chunk in one
 * statement.
 */
import type { DueDecision } from "../../domain/billing/renewal.ts";
import { type CivilDate, startOfDay } from "../../domain/calendar/civil-date.ts";
import type { PeriodState } from "../../domain/model/billing-state.ts";
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import type { Subscription } from "../../domain/model/subscription.ts";
import type { UsageBills } from "../../domain/model/usage.ts";
import { columns } from "../../gen/columns.ts";
import { organisationColumns } from "../access/organisation-settings.ts";
import { columnSet } from "../database/column-set.ts";
import type { Transaction } from "../database/pool.ts";
import { bool, instant, json, omit, pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, namesOf, type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { advancing } from "./due-organisations.ts";
import { saveCharges } from "./save-billing.ts";

const clockedRow = {
  organisation: json<OrganisationSettings>(),
  testClock: columns.organisation.testClock,
  /** Whether the test clock is advancing. */
  isAdvancing: bool,
  databaseNow: instant,
};

/**
 * The locked organisation and its current time: the test clock in a sandbox, otherwise the
 * database's time (CLOCK-1).
 */
export interface LockedOrganisation extends RowOf<typeof clockedRow> {
  readonly now: Date;
}

const readsClocked = (name: string, lock: Sql) => {
  const read = query({
    name,
    text: sql`SELECT ${organisationColumns}, o.test_clock, ${advancing} AS is_advancing,
        now() AS database_now
      FROM organisations o WHERE o.id = $1 ${lock}`,
    row: clockedRow,
  });
  return async (client: Transaction, organisationId: string): Promise<LockedOrganisation> => {
    const [row] = await read(client, organisationId);
    if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
    return { ...row, now: row.testClock ?? row.databaseNow };
  };
};

/**
 * Locks the organisation, shared, until the transaction ends. Setup Mode is not switched and its
 * test clock does not move meanwhile.
 */
export const shareOrganisation = readsClocked(
  "lock_organisation_of_subscription",
  sql`FOR SHARE OF o`,
);

/** Reads the organisation as `shareOrganisation` does, without a lock: for a snapshot. */
export const loadOrganisation = readsClocked("load_organisation_of_subscription", sql``);

/**
 * Saves what was due: subscription states, new periods, and documents with deferred amounts and
 * usage.
 */
export async function saveDue(
  client: Transaction,
  organisationId: string,
  dues: readonly DueDecision[],
  now: Date,
): Promise<void> {
  await updateSubscriptions(client, organisationId, dues, now);
  const periods = dues.flatMap((due) =>
    due.periods.map((period) => ({ subscriptionId: due.subscription.id, period })),
  );
  await savePeriods(client, organisationId, periods);
  const charges = dues.map((due) => ({ subscriptionId: due.subscription.id, ...due }));
  await saveCharges(client, organisationId, charges, now);
}

const changingColumns = {
  ...pick(columns.subscription, "id", "status", "currentPeriod", "renewalDate", "endDate", "units"),
  ...pick(columns.subscription, "cancelAtPeriodEnd", "dueAt", "usageBill", "usageBilled"),
  /** The end of its last period, if it is ended. */
  lastAt: instant,
};
const subscriptionSet = columnSet(changingColumns, 3);

const writeSubscriptions = command({
  name: "update_subscriptions",
  text: sql`
    UPDATE subscriptions s
    SET
      status = r.status,
      current_period = r.current_period,
      renewal_date = r.renewal_date,
      end_date = r.end_date,
      units = r.units,
      cancel_at_period_end = r.cancel_at_period_end,
      due_at = r.due_at,
      parked_until = NULL,
      parked_reason = NULL,
      parked_attempts = 0,
      usage_bill = coalesce(r.usage_bill, s.usage_bill),
      usage_billed = coalesce(r.usage_billed, s.usage_billed),
      ended_at = CASE
        WHEN r.status = 'ended' THEN coalesce(s.ended_at, least($2::timestamptz, r.last_at))
      END
    FROM ${subscriptionSet.source(sql`r`)}
    WHERE s.organisation_id = $1 AND s.id = r.id
  `,
});

/**
 * A subscription to write. `dueDate` is its next due date, null once it is over. Absent
 * `usageBills` keep the stored ones.
 */
interface SubscriptionToWrite {
  readonly usageBills?: UsageBills;
  readonly subscription: Subscription;
  readonly currentPeriod: number;
  readonly dueDate: CivilDate | null;
}

/**
 * Writes the changing members of subscriptions and unparks them. A subscription that becomes
 * `ended` ends at `now`, or at the end of its last period if the ledger took longer (USAGE-12).
 */
export async function updateSubscriptions(
  client: Transaction,
  organisationId: string,
  changes: readonly SubscriptionToWrite[],
  now: Date,
): Promise<void> {
  const dueAt = dayStarts();
  const records = changes.map(({ subscription, currentPeriod, dueDate, usageBills }) => {
    const { status, timezone, renewalDate } = subscription;
    return {
      ...subscription,
      currentPeriod,
      dueAt: dueAt(timezone, dueDate),
      lastAt: status === "ended" ? dueAt(timezone, renewalDate) : null,
      usageBill: usageBills?.open,
      usageBilled: usageBills?.billed,
    };
  });
  await writeSubscriptions(client, organisationId, now, ...subscriptionSet.arrays(records));
}

/**
 * Returns a memoised `startOfDay` for a chunk, whose subscriptions share zones and days. Null for a
 * null date.
 */
export function dayStarts(): (timezone: string, date: CivilDate | null) => Date | null {
  const known = new Map<string, Date>();
  return (timezone, date) => {
    if (date === null) return null;
    const key = `${timezone} ${date}`;
    const start = known.get(key) ?? startOfDay(timezone, date);
    known.set(key, start);
    return start;
  };
}

const periodColumns = omit(columns.period, "organisationId", "previousIndex");
const periodSet = columnSet(periodColumns, 2);

const writePeriods = command({
  name: "save_periods",
  text: sql`
    INSERT INTO periods AS p (organisation_id, previous_index, ${namesOf(periodColumns)})
    SELECT
      $1,
      nullif(r.index, 0) - 1,
      ${columnsOf(sql`r`, periodColumns)}
    FROM ${periodSet.source(sql`r`)}
    ORDER BY r.subscription_id, r.index
    ON CONFLICT (subscription_id, index) DO UPDATE
      SET
        billed_units = excluded.billed_units,
        billed_by = excluded.billed_by,
        setup_mode = excluded.setup_mode,
        proration_closed = excluded.proration_closed,
        billed_separately = excluded.billed_separately
  `,
});

/**
 * Inserts new periods. For known periods it updates the billed units, Setup Mode and proration
 * flags.
 */
export async function savePeriods(
  client: Transaction,
  organisationId: string,
  periods: readonly { readonly subscriptionId: string; readonly period: PeriodState }[],
): Promise<void> {
  if (periods.length === 0) return;
  const records = periods.map(({ subscriptionId, period: { start, end, ...period } }) => ({
    ...period,
    subscriptionId,
    startDate: start,
    endDate: end,
  }));
  await writePeriods(client, organisationId, ...periodSet.arrays(records));
}
