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
import { bool, instant, json, type RowOf } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { advancing } from "./due-organisations.ts";
import { saveCharges } from "./save-billing.ts";

/**
 * The locked organisation and its current time: the test clock in a sandbox, otherwise the
 * database's time (CLOCK-1). Also its test clock, whether that is advancing, and the database's
 * time.
 */
export interface LockedOrganisation {
  readonly organisation: OrganisationSettings;
  readonly now: Date;
  readonly testClock: Date | null;
  readonly isAdvancing: boolean;
  readonly databaseNow: Date;
}

const clockedRow = {
  organisation: json<OrganisationSettings>(),
  testClock: columns.organisation.testClock,
  isAdvancing: bool,
  databaseNow: instant,
};

const readsClocked = (name: string, lock: Sql) =>
  query({
    name,
    text: sql`SELECT ${organisationColumns}, o.test_clock, ${advancing} AS is_advancing,
        now() AS database_now
      FROM organisations o WHERE o.id = $1 ${lock}`,
    row: clockedRow,
  });

const lockClocked = readsClocked("lock_organisation_of_subscription", sql`FOR SHARE OF o`);
const loadClocked = readsClocked("load_organisation_of_subscription", sql``);

/**
 * Locks the organisation, shared, until the transaction ends. Setup Mode is not switched and its
 * test clock does not move meanwhile.
 */
export async function shareOrganisation(
  client: Transaction,
  organisationId: string,
): Promise<LockedOrganisation> {
  const [row] = await lockClocked(client, organisationId);
  return readClocked(organisationId, row);
}

/** Reads the organisation as `shareOrganisation` does, without a lock: for a snapshot. */
export async function loadOrganisation(
  client: Transaction,
  organisationId: string,
): Promise<LockedOrganisation> {
  const [row] = await loadClocked(client, organisationId);
  return readClocked(organisationId, row);
}

function readClocked(
  organisationId: string,
  row: RowOf<typeof clockedRow> | undefined,
): LockedOrganisation {
  if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
  const { testClock, isAdvancing, databaseNow } = row;
  const now = testClock ?? databaseNow;
  return { organisation: row.organisation, now, testClock, isAdvancing, databaseNow };
}

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

const subscriptionColumns = columnSet(`id uuid, status text, current_period int, renewal_date date,
  end_date date, units int, cancel_at_period_end boolean, due_at timestamptz, last_at timestamptz,
  usage_bill int, usage_billed int`);

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
    FROM ${subscriptionColumns.source(sql`r`, 3)}
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
  const records = changes.map(({ subscription, currentPeriod, dueDate, usageBills }) => ({
    id: subscription.id,
    status: subscription.status,
    current_period: currentPeriod,
    renewal_date: subscription.renewalDate,
    end_date: subscription.endDate,
    units: subscription.units,
    cancel_at_period_end: subscription.cancelAtPeriodEnd,
    due_at: dueAt(subscription.timezone, dueDate),
    last_at:
      subscription.status === "ended"
        ? dueAt(subscription.timezone, subscription.renewalDate)
        : null,
    usage_bill: usageBills?.open,
    usage_billed: usageBills?.billed,
  }));
  const arrays = subscriptionColumns.arrays(records);
  await writeSubscriptions(client, organisationId, now, ...arrays);
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

const periodColumns = columnSet(`subscription_id uuid, index int, start_date date, end_date date,
  billed_units int, billed_by text, setup_mode boolean, proration_closed boolean,
  billed_separately boolean`);

const writePeriods = command({
  name: "save_periods",
  text: sql`
    INSERT INTO periods AS p (
      organisation_id, subscription_id, index, previous_index, start_date, end_date, billed_units,
      billed_by, setup_mode, proration_closed, billed_separately
    )
    SELECT
      $1, r.subscription_id, r.index,
      nullif(r.index, 0) - 1,
      r.start_date, r.end_date, r.billed_units, r.billed_by, r.setup_mode, r.proration_closed,
      r.billed_separately
    FROM ${periodColumns.source(sql`r`, 2)}
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
  const records = periods.map(({ subscriptionId, period }) => ({
    subscription_id: subscriptionId,
    index: period.index,
    start_date: period.start,
    end_date: period.end,
    billed_units: period.billedUnits,
    billed_by: period.billedBy,
    setup_mode: period.setupMode,
    proration_closed: period.prorationClosed,
    billed_separately: period.billedSeparately,
  }));
  await writePeriods(client, organisationId, ...periodColumns.arrays(records));
}
