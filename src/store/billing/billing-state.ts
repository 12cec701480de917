/**
 * Loads the state that a subscription's rules need: its periods, live invoices, deferred lines and
 * running job. SQL: one read loads a chunk with its lists and sums.
 */

import {
  type CivilDate,
  civilDate,
  compareDates,
  todayIn,
} from "../../domain/calendar/civil-date.ts";
import type { PlanMeter } from "../../domain/catalogue/meter.ts";
import type { Plan } from "../../domain/catalogue/plan.ts";
import type {
  BillingState,
  DeferredLine,
  IssuedInvoice,
  PeriodState,
  RunningJob,
} from "../../domain/model/billing-state.ts";
import type { DocumentStatus, InvoiceType } from "../../domain/model/invoice.ts";
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import type { Subscription } from "../../domain/model/subscription.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";
import type { PlanRow } from "../catalogue/catalogue.ts";
import { type PlanMeterRow, planMetersJson, readPlanMeters } from "../catalogue/meters.ts";
import { statementName } from "../database/page.ts";
import type { Transaction } from "../database/pool.ts";
import type { Row } from "../database/row.ts";
import {
  planJson,
  readPlanJson,
  readSubscription,
  type SubscriptionRow,
  subscriptionColumns,
  subscriptionSource,
} from "./subscription-row.ts";
import { loadOpenUsage } from "./unbilled-usage.ts";

/** A row of `periods`. `billed_units` is null if nothing was billed for it. */
type PeriodRow = Row<
  Prisma.PeriodModel,
  "index" | "billedUnits" | "setupMode" | "prorationClosed" | "billedSeparately",
  "startDate" | "endDate"
>;

interface IssuedRow {
  id: string;
  number: string;
  type: InvoiceType;
  period_index: number;
  status: DocumentStatus;
  total: string;
  amount_due: string;
  in_ledger: boolean;
  is_plan_line_known: boolean;
}

/** A row of `deferred_lines`. Its amount is text. */
export type DeferredRow = Row<
  Prisma.DeferredLineModel,
  | "id"
  | "name"
  | "description"
  | "amount"
  | "fromUnits"
  | "toUnits"
  | "daysRemaining"
  | "daysInPeriod",
  "periodStart" | "periodEnd"
>;

/** `plan` and `meters` are null if an earlier row has the same ones. */
interface StateRow extends Omit<SubscriptionRow, "plan"> {
  plan: PlanRow | null;
  meters: PlanMeterRow[] | null;
  current_period: number;
  due_at: Date | null;
  usage_bill: number;
  usage_billed: number;
  periods: PeriodRow[] | null;
  issued: IssuedRow[] | null;
  deferred: DeferredRow[] | null;
  running: RunningRow | null;
}

/** `removals` and `removed` are counts of an end. */
interface RunningRow {
  id: string;
  kind: RunningJob["kind"];
  number: string | null;
  removals: number;
  removed: number;
}

// Amounts are text, because a JSON number would become a float. Removed invoices bill nothing.
// Credit that is being allocated counts as allocated: it may be, before anything else reaches the
// ledger. A chunk of subscriptions has few plans.
const stateText = `SELECT ${subscriptionColumns}, t.current_period, t.due_at, t.usage_bill,
  t.usage_billed,
    CASE WHEN row_number() OVER (PARTITION BY t.plan_id ORDER BY t.seq) = 1
      THEN ${planJson} END AS plan,
    CASE WHEN row_number() OVER (PARTITION BY t.plan_id ORDER BY t.seq) = 1
      THEN ${planMetersJson("$1", "t.plan_id")} END AS meters,
    (SELECT json_agg(p) FROM (SELECT p.index, p.start_date, p.end_date, p.billed_units,
      p.setup_mode, p.proration_closed, p.billed_separately
      FROM periods p WHERE p.organisation_id = $1 AND p.subscription_id = t.id
        AND p.index BETWEEN t.current_period AND t.current_period + 1
      ORDER BY p.index) p) AS periods,
    (SELECT json_agg(i) FROM (SELECT i.id, i.number, i.type, i.period_index, i.status,
      i.total::text,
        (i.amount_due - (SELECT coalesce(sum(c.amount), 0) FROM ledger_jobs c
          WHERE c.organisation_id = $1 AND c.subscription_id = t.id
          AND c.invoice_id = i.id AND c.kind = 'allocate_credit'
            AND c.state IN ('ready', 'sending', 'uncertain')))::text AS amount_due,
        i.ledger_invoice_id IS NOT NULL AS in_ledger,
        NOT EXISTS (SELECT 1 FROM invoice_lines l WHERE l.organisation_id = $1
          AND l.invoice_id = i.id AND l.kind = 'plan'
          AND l.ledger_line_id IS NULL) AS is_plan_line_known
      FROM invoices i WHERE i.organisation_id = $1 AND i.subscription_id = t.id
        AND i.period_index >= t.current_period
        AND i.status NOT IN ('voided', 'deleted') ORDER BY i.seq DESC) i) AS issued,
    (SELECT json_agg(d) FROM (SELECT d.id, d.name, d.description, d.amount::text, d.period_start,
      d.period_end, d.from_units, d.to_units,
        d.days_remaining, d.days_in_period
      FROM deferred_lines d WHERE d.organisation_id = $1 AND d.subscription_id = t.id
        AND d.invoice_id IS NULL ORDER BY d.seq) d) AS deferred,
    (SELECT row_to_json(r) FROM (SELECT o.id, o.kind, i.number, e.removals, e.removed
      FROM ledger_jobs o
      LEFT JOIN invoices i ON i.organisation_id = $1 AND i.id = o.invoice_id
      CROSS JOIN LATERAL (SELECT count(*) AS removals, count(*)
        FILTER (WHERE m.state = 'removed') AS removed
        FROM removals m WHERE m.organisation_id = $1 AND m.termination_id = o.id) e
      WHERE o.organisation_id = $1 AND o.subscription_id = t.id
        AND o.kind IN ('amend_invoice', 'end_subscription')
        AND o.state IN ('ready', 'sending', 'uncertain') LIMIT 1) r) AS running
  FROM ${subscriptionSource} WHERE t.organisation_id = $1 AND t.id = ANY ($2::uuid[])
    ORDER BY t.seq`;

/** A subscription's state, and the index of its current period. */
export interface LoadedState {
  readonly state: BillingState;
  readonly currentPeriod: number;
}

/**
 * Which subscriptions to load. `now` is the organisation's. `closing`: the last usage bill is
 * needed, also if nothing is due. `isSnapshot`: nothing is locked, and nothing will be written.
 */
interface StateQuery {
  readonly ids: readonly string[];
  readonly now: Date;
  readonly closing?: boolean;
  readonly isSnapshot?: boolean;
}

/**
 * Loads the states of these subscriptions, oldest first. Their rows are locked, and unknown ids are
 * left out. If a usage bill is due, its usage is loaded and locked.
 */
export async function loadStates(
  client: Transaction,
  organisation: OrganisationSettings,
  { ids, now, closing = false, isSnapshot = false }: StateQuery,
): Promise<readonly LoadedState[]> {
  const { rows } = await client.query<StateRow>({
    name: statementName(stateText),
    text: stateText,
    values: [organisation.id, ids],
  });
  const plans = new Map<string, Catalogued>();
  const todays = new Map<string, CivilDate>();
  const loaded = rows.map((row) => {
    const subscription = readSubscription(row);
    const { timezone, planId } = subscription;
    const catalogued = plans.get(planId) ?? readCatalogued(row);
    const today = todays.get(timezone) ?? todayIn(timezone, now);
    plans.set(planId, catalogued);
    todays.set(timezone, today);
    const isBilled = isUsageDue(row, subscription, { today, now, closing });
    return { row, subscription, ...catalogued, today, isBilled };
  });
  const billed = loaded.filter(({ meters, isBilled }) => isBilled && meters.length > 0);
  const usage = await loadOpenUsage(client, organisation.id, billed, isSnapshot);
  return loaded.map(({ row, subscription, plan, meters, today }) => {
    const state = readState(row, { organisation, subscription, plan, today });
    const open = usage.get(subscription.id) ?? (meters.length === 0 ? [] : null);
    return { currentPeriod: row.current_period, state: { ...state, usage: open } };
  });
}

interface Catalogued {
  readonly plan: Plan;
  readonly meters: readonly PlanMeter[];
}

function readCatalogued(row: StateRow): Catalogued {
  if (row.plan === null) throw new Error(`subscription ${row.id} has no plan`);
  return { plan: readPlanJson(row.plan), meters: readPlanMeters(row.meters) };
}

/**
 * A usage bill ends with each period and with an end. A finished subscription has one more for late
 * usage (USAGE-9, USAGE-10).
 */
function isUsageDue(
  row: StateRow,
  { status, renewalDate }: Subscription,
  {
    today,
    now,
    closing,
  }: { readonly today: CivilDate; readonly now: Date; readonly closing: boolean },
): boolean {
  if (status === "ended" || status === "complete") return row.due_at !== null && row.due_at <= now;
  return closing || compareDates(renewalDate, today) <= 0;
}

function readState(
  row: StateRow,
  known: Pick<BillingState, "organisation" | "subscription" | "plan" | "today">,
): Omit<BillingState, "usage"> {
  const periods = (row.periods ?? []).map(readPeriod);
  const period = periods.find(({ index }) => index === row.current_period);
  if (period === undefined) throw new Error(`subscription ${row.id} has no current period`);
  return {
    ...known,
    period,
    nextPeriod: periods.find(({ index }) => index === row.current_period + 1) ?? null,
    invoices: (row.issued ?? []).map(readIssued),
    deferred: (row.deferred ?? []).map(readDeferred),
    usageBills: { open: row.usage_bill, billed: row.usage_billed },
    running: row.running === null ? null : readRunning(row.running),
  };
}

/** Converts a row of `periods` to a period's state. */
function readPeriod(row: PeriodRow): PeriodState {
  return {
    index: row.index,
    start: civilDate(row.start_date),
    end: civilDate(row.end_date),
    billedUnits: row.billed_units,
    setupMode: row.setup_mode,
    prorationClosed: row.proration_closed,
    billedSeparately: row.billed_separately,
  };
}

function readIssued(row: IssuedRow): IssuedInvoice {
  return {
    id: row.id,
    number: row.number,
    type: row.type,
    periodIndex: row.period_index,
    status: row.status,
    total: parseDecimal(row.total),
    amountDue: parseDecimal(row.amount_due),
    inLedger: row.in_ledger,
    isPlanLineKnown: row.is_plan_line_known,
  };
}

/** Converts a row of `deferred_lines`. */
export function readDeferred(row: DeferredRow): DeferredLine {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    amount: parseDecimal(row.amount),
    period: { start: civilDate(row.period_start), end: civilDate(row.period_end) },
    fromUnits: row.from_units,
    toUnits: row.to_units,
    daysRemaining: row.days_remaining,
    daysInPeriod: row.days_in_period,
  };
}

function readRunning({ id, kind, number, removals, removed }: RunningRow): RunningJob {
  const description =
    kind === "amend_invoice"
      ? `invoice ${number ?? ""} is being amended in the ledger`
      : `the subscription is being ended, ` +
        `${removed} of ${removals} invoices removed in the ledger so far`;
  return { id, kind, description };
}
