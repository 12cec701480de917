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
import { columns } from "../../gen/columns.ts";
import { planRow } from "../catalogue/catalogue.ts";
import { planMeterRow } from "../catalogue/meters.ts";
import {
  bool,
  int,
  jsonRow,
  jsonRows,
  pick,
  type RowOf,
  text,
  uuid,
} from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { factsColumns, factsRow, readLineFacts } from "../documents/line-facts.ts";
import { subscriptionRow } from "./subscription-row.ts";

/** A row of `periods`. `billedUnits` is null if nothing was billed for it. */
export const periodRow = pick(
  columns.period,
  "index",
  "startDate",
  "endDate",
  "billedUnits",
  "billedBy",
  "setupMode",
  "prorationClosed",
  "billedSeparately",
);

const issuedRow = {
  ...pick(columns.invoice, "id", "number", "periodIndex"),
  type: columns.invoice.type.as<InvoiceType>(),
  status: columns.invoice.status.as<DocumentStatus>(),
  total: text,
  amountDue: text,
  inLedger: bool,
  isAltered: bool,
  isPlanLineKnown: bool,
};

const deferredMembers = pick(
  columns.deferredLine,
  "id",
  "name",
  "description",
  "periodStart",
  "periodEnd",
  "fromUnits",
  "toUnits",
  "daysRemaining",
  "daysInPeriod",
);

/** A row of `deferred_lines`, which may be JSON. Its amount is text. */
export const deferredRow = { ...deferredMembers, amount: text, ...factsRow };

/** The columns of `deferredRow`, of deferred lines `d`. `$1` is the organisation. */
export const deferredColumns = sql`${columnsOf(sql`d`, deferredMembers)}, d.amount::text AS amount,
  ${factsColumns(sql`d`)}`;

/** `removals` and `removed` are counts of an end. */
const runningRow = {
  ...pick(columns.ledgerJob, "id"),
  kind: columns.ledgerJob.kind.as<RunningJob["kind"]>(),
  number: columns.invoice.number.orNull(),
  removals: int,
  removed: int,
};

/**
 * The subscription with its current period, and its lists as JSON. `plan` and `meters` are null if
 * an earlier row has the same ones.
 */
export const stateRow = {
  ...subscriptionRow,
  ...pick(columns.subscription, "currentPeriod", "dueAt", "usageBill", "usageBilled"),
  /** The change that set the units. Null if none has. */
  unitChangeId: uuid.orNull(),
  plan: jsonRow(planRow).orNull(),
  meters: jsonRows(planMeterRow).orNull(),
  period: jsonRow(periodRow).orNull(),
  nextPeriod: jsonRow({ ...periodRow, endRemovedRenewal: bool }).orNull(),
  issued: jsonRows(issuedRow).orNull(),
  deferred: jsonRows(deferredRow).orNull(),
  running: jsonRow(runningRow).orNull(),
};

/** A row of a subscription's billing state. */
export type StateRow = RowOf<typeof stateRow>;

/** Returns the state without its usage. Asserts a current period. */
export function readState(
  row: StateRow,
  known: Pick<BillingState, "organisation" | "subscription" | "plan" | "today">,
): Omit<BillingState, "usage"> {
  if (row.period === null) throw new Error(`subscription ${row.id} has no current period`);
  const { endRemovedRenewal = false, ...nextPeriod } = row.nextPeriod ?? {};
  return {
    ...known,
    period: readPeriod(row.period),
    nextPeriod: "index" in nextPeriod ? readPeriod(nextPeriod) : null,
    endRemovedRenewal,
    invoices: (row.issued ?? []).map(readIssued),
    deferred: (row.deferred ?? []).map(readDeferred),
    usageBills: { open: row.usageBill, billed: row.usageBilled },
    running: row.running === null ? null : readRunning(row.running),
  };
}

/** Converts a row of `periods` to a period's state. */
export function readPeriod({
  startDate,
  endDate,
  ...period
}: RowOf<typeof periodRow>): PeriodState {
  return { ...period, start: civilDate(startDate), end: civilDate(endDate) };
}

function readIssued(row: RowOf<typeof issuedRow>): IssuedInvoice {
  return { ...row, total: parseDecimal(row.total), amountDue: parseDecimal(row.amountDue) };
}

/** Converts a row of `deferred_lines`. */
export function readDeferred({
  amount,
  periodStart,
  periodEnd,
  facts: stored,
  sheet,
  ...line
}: RowOf<typeof deferredRow>): DeferredLine {
  const { facts } = readLineFacts({ facts: stored, sheet });
  return {
    ...(facts?.r === "proration/1" && { facts }),
    ...line,
    amount: parseDecimal(amount),
    period: { start: civilDate(periodStart), end: civilDate(periodEnd) },
  };
}

function readRunning({
  id,
  kind,
  number,
  removals,
  removed,
}: RowOf<typeof runningRow>): RunningJob {
  const description =
    kind === "amend_invoice"
      ? `invoice ${number ?? ""} is being amended in the ledger`
      : `the subscription is being ended, ` +
        `${removed} of ${removals} invoices removed in the ledger so far`;
  return { id, kind, description };
}
