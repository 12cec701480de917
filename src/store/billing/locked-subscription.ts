/**
 * Changes of subscriptions, one at a time each: the subscription is locked, what is due for it is performed, its state is loaded, a
 * decision is made of it, and everything that the decision says is written in the same transaction. decisions §4.
 */
import type pg from "pg";
import { type DueDecision, decideDue } from "../../domain/billing/renewal.ts";
import { type CivilDate, startOfDay } from "../../domain/calendar/civil-date.ts";
import type { BillingState, PeriodState } from "../../domain/subscriptions/billing-state.ts";
import type { OrganisationSettings } from "../../domain/subscriptions/organisation-settings.ts";
import type { Subscription } from "../../domain/subscriptions/subscription.ts";
import type { UsageBills } from "../../domain/usage/rating.ts";
import { type OrganisationRow, organisationColumns, readOrganisation } from "../access/organisation-settings.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction } from "../database/pool.ts";
import type { Client } from "../documents/issue-documents.ts";
import { loadStates } from "./billing-state.ts";
import { leavesDocuments, saveCharges } from "./save-billing.ts";

/** Which subscription is changed. `now` is the organisation's; `onIssued` is told once due documents are committed. */
export interface ChangedSubscription {
  readonly subscriptionId: string;
  /** The organisation's when the request came; where its test clock has gone on since, what that shows counts. */
  readonly now: Date;
  /** What is due is performed for itself and stays: the ledger is to hear of it, also where the change is refused. */
  readonly onIssued: () => void;
  /** The change may end the subscription at once: all its usage is loaded, and held. */
  readonly closing?: boolean;
}

/**
 * Runs `change` on the locked subscription's state in one transaction; its refusal rolls back what it wrote, and nothing else: what
 * was due has been performed before, for itself. Null where the organisation has no such subscription. While an end is on its way
 * nothing is due.
 */
export async function changeSubscription<T>(
  pool: pg.Pool,
  organisationId: string,
  { subscriptionId, now, onIssued, closing = false }: ChangedSubscription,
  change: (client: Client, state: BillingState) => Promise<T>,
): Promise<T | null> {
  for (;;) {
    const step = await inTransaction(pool, async (client) => {
      const { organisation, testClock } = await hold(client, organisationId);
      const at = testClock !== null && testClock > now ? testClock : now;
      await lockSubscriptions(client, organisationId, [subscriptionId]);
      const [loaded] = await loadStates(client, organisation, { ids: [subscriptionId], now: at, closing });
      if (loaded === undefined) return { kind: "unknown" } as const;
      const { state } = loaded;
      const due = state.running?.kind === "end_subscription" ? null : decideDue(state, { mayJoin: false });
      if (due === null) return { kind: "changed", result: await change(client, state) } as const;
      await writeDue(client, organisationId, [due], at);
      return { kind: "due", isIssued: leavesDocuments(due) } as const;
    });
    if (step.kind === "unknown") return null;
    if (step.kind === "changed") return step.result;
    if (step.isIssued) onIssued();
  }
}

/** The organisation as it is judged, held against a switch of Setup Mode until the transaction ends. */
export async function holdOrganisation(client: Client, organisationId: string): Promise<OrganisationSettings> {
  return (await hold(client, organisationId)).organisation;
}

/** Its test clock does not move either as long as it is held. */
async function hold(
  client: Client,
  organisationId: string,
): Promise<{ readonly organisation: OrganisationSettings; readonly testClock: Date | null }> {
  const { rows } = await client.query<OrganisationRow & { test_clock: Date | null }>({
    name: "hold_organisation",
    text: `SELECT ${organisationColumns}, o.test_clock FROM organisations o WHERE o.id = $1 FOR SHARE`,
    values: [organisationId],
  });
  if (rows[0] === undefined) throw new Error(`organisation ${organisationId} is gone`);
  return { organisation: readOrganisation(rows[0]), testClock: rows[0].test_clock };
}

/** Writes what was due for subscriptions: their states, new periods, documents with what was deferred or used. */
export async function writeDue(
  client: Client,
  organisationId: string,
  dues: readonly DueDecision[],
  now: Date,
): Promise<void> {
  await updateSubscriptions(client, organisationId, dues, now);
  const periods = dues.flatMap((due) => due.periods.map((period) => ({ subscriptionId: due.subscription.id, period })));
  await savePeriods(client, organisationId, periods);
  const owed = dues.map((due) => ({ subscriptionId: due.subscription.id, ...due }));
  await saveCharges(client, organisationId, owed, now);
}

const subscriptionsText = `
UPDATE subscriptions s SET status = r.status, current_period = r.current_period, renewal_date = r.renewal_date, end_date = r.end_date,
  units = r.units, cancel_at_period_end = r.cancel_at_period_end, due_at = r.due_at, parked_until = NULL, parked_reason = NULL,
  parked_attempts = 0, usage_bill = coalesce(r.usage_bill, s.usage_bill), usage_billed = coalesce(r.usage_billed, s.usage_billed),
  ended_at = CASE WHEN r.status = 'ended' THEN coalesce(s.ended_at, least($3::timestamptz, r.last_at)) END
FROM jsonb_to_recordset($2) AS r(id uuid, status text, current_period int, renewal_date date, end_date date, units int,
  cancel_at_period_end boolean, due_at timestamptz, last_at timestamptz, usage_bill int, usage_billed int)
WHERE s.organisation_id = $1 AND s.id = r.id`;

/**
 * A subscription as it is to be written. `dueDate`: when something is due for it next, null once it is over; `usageBills` stay what they
 * are where they are left out.
 */
export interface SubscriptionToWrite {
  readonly usageBills?: UsageBills;
  readonly subscription: Subscription;
  readonly currentPeriod: number;
  readonly dueDate: CivilDate | null;
}

/**
 * Writes the members of subscriptions that change in their life. What was set aside by the billing run is so no more. One that is ended
 * by it ends at `now`, or where its last period did if the ledger took longer. decisions §3 "Usage".
 */
export async function updateSubscriptions(
  client: Client,
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
    last_at: subscription.status === "ended" ? dueAt(subscription.timezone, subscription.renewalDate) : null,
    usage_bill: usageBills?.open,
    usage_billed: usageBills?.billed,
  }));
  await client.query({
    name: "update_subscriptions",
    text: subscriptionsText,
    values: [organisationId, JSON.stringify(records), now],
  });
}

/** `startOfDay` for a chunk of subscriptions, which share zones and days: each is worked out once. Null for no day. */
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

const periodsText = `
INSERT INTO periods AS p (organisation_id, subscription_id, index, previous_index, start_date, end_date, billed_units, setup_mode,
  proration_closed, billed_separately)
SELECT $1, r.subscription_id, r.index, nullif(r.index, 0) - 1, r.start_date, r.end_date, r.billed_units, r.setup_mode,
  r.proration_closed, r.billed_separately
FROM jsonb_to_recordset($2) AS r(subscription_id uuid, index int, start_date date, end_date date, billed_units int,
  setup_mode boolean, proration_closed boolean, billed_separately boolean)
ORDER BY r.subscription_id, r.index
ON CONFLICT (subscription_id, index) DO UPDATE SET billed_units = excluded.billed_units, setup_mode = excluded.setup_mode,
  proration_closed = excluded.proration_closed, billed_separately = excluded.billed_separately`;

/** Writes periods: new ones as they are, of known ones what was billed for them, and whether they began in Setup Mode. */
export async function savePeriods(
  client: Client,
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
    setup_mode: period.setupMode,
    proration_closed: period.prorationClosed,
    billed_separately: period.billedSeparately,
  }));
  await client.query({ name: "save_periods", text: periodsText, values: [organisationId, JSON.stringify(records)] });
}
