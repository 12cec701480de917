/** The row of a subscription's billing state, and the state that it holds. */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import type {
  BillingState,
  DeferredLine,
  IssuedInvoice,
  PeriodState,
  RunningJob,
} from "../../domain/model/billing-state.ts";
import type { DocumentStatus, InvoiceType } from "../../domain/model/invoice.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";
import type { PlanRow } from "../catalogue/catalogue.ts";
import type { PlanMeterRow } from "../catalogue/meters.ts";
import type { Row } from "../database/prisma/row.ts";
import type { SubscriptionRow } from "./subscription-row.ts";

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
  is_altered: boolean;
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

/**
 * The subscription with its current period, and its lists as JSON. `plan` and `meters` are null if
 * an earlier row has the same ones.
 */
export interface StateRow extends Omit<SubscriptionRow, "plan"> {
  plan: PlanRow | null;
  meters: PlanMeterRow[] | null;
  current_period: number;
  due_at: Date | null;
  usage_bill: number;
  usage_billed: number;
  period_start: string | null;
  period_end: string | null;
  billed_units: number | null;
  setup_mode: boolean | null;
  proration_closed: boolean | null;
  billed_separately: boolean | null;
  next_period: (PeriodRow & { end_removed_renewal: boolean }) | null;
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

/** Returns the state without its usage. Asserts a current period. */
export function readState(
  row: StateRow,
  known: Pick<BillingState, "organisation" | "subscription" | "plan" | "today">,
): Omit<BillingState, "usage"> {
  return {
    ...known,
    period: readCurrentPeriod(row),
    nextPeriod: row.next_period === null ? null : readPeriod(row.next_period),
    endRemovedRenewal: row.next_period?.end_removed_renewal ?? false,
    invoices: (row.issued ?? []).map(readIssued),
    deferred: (row.deferred ?? []).map(readDeferred),
    usageBills: { open: row.usage_bill, billed: row.usage_billed },
    running: row.running === null ? null : readRunning(row.running),
  };
}

function readCurrentPeriod(row: StateRow): PeriodState {
  const { period_start: start, period_end: end } = row;
  if (start === null || end === null)
    throw new Error(`subscription ${row.id} has no current period`);
  return {
    index: row.current_period,
    start: civilDate(start),
    end: civilDate(end),
    billedUnits: row.billed_units,
    setupMode: row.setup_mode === true,
    prorationClosed: row.proration_closed === true,
    billedSeparately: row.billed_separately === true,
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
    isAltered: row.is_altered,
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
