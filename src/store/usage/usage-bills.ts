/**
 * What bills took of a subscription's usage, as explanations name it (MONEY-9). SQL: one read has
 * each with the sums of the bills before it.
 */
import { civilDate } from "../../domain/calendar/civil-date.ts";
import { type Interval, type Period, periodAt } from "../../domain/calendar/period.ts";
import { type Decimal, parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { isId } from "../database/ids.ts";
import { type Page, type PageRequest, pageAfter } from "../database/page.ts";
import { numeric, pick, type RowOf, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";

/**
 * Usage of one meter in one period on a bill. `before` is what earlier bills took of both, and
 * `priced` the part of it that their amounts cover.
 */
export interface BilledUsage
  extends Pick<BillRow, "subscriptionId" | "bill" | "meterId" | "meterCode" | "currency"> {
  readonly period: Period;
  readonly events: number;
  readonly quantity: Decimal;
  readonly before: Decimal;
  readonly priced: Decimal;
  readonly amount: Decimal;
  readonly invoiceId: string | null;
  readonly creditNoteId: string | null;
}

const billRow = {
  ...pick(columns.usageBill, "subscriptionId", "bill", "periodIndex", "meterId", "events"),
  ...pick(columns.usageBill, "quantity", "amount", "invoiceId", "creditNoteId"),
  before: numeric,
  priced: numeric,
  meterCode: text,
  ...pick(columns.subscription, "currency", "startDate", "billingDay", "intervalCount"),
  intervalUnit: columns.subscription.intervalUnit.as<Interval["unit"]>(),
};

type BillRow = RowOf<typeof billRow>;

const readBills = query({
  name: "list_usage_bills",
  text: sql`
    SELECT
      b.subscription_id, b.bill, b.period_index, b.meter_id, b.events, b.quantity, b.amount,
      b.invoice_id, b.credit_note_id,
      coalesce(e.quantity, 0) AS before,
      coalesce(e.priced, 0) AS priced,
      m.code AS meter_code, s.currency, s.start_date, s.billing_day, s.interval_count,
      s.interval_unit
    FROM
      usage_bills b
      JOIN subscriptions s ON s.organisation_id = $1 AND s.id = b.subscription_id
      JOIN meters m ON m.organisation_id = $1 AND m.id = b.meter_id
      CROSS JOIN LATERAL (
        SELECT
          sum(t.quantity) AS quantity,
          (array_agg(t.priced ORDER BY t.bill DESC))[1] AS priced
        FROM usage_bills t
        WHERE
          t.organisation_id = $1
          AND t.subscription_id = b.subscription_id
          AND t.period_index = b.period_index
          AND t.meter_id = b.meter_id
          AND t.bill < b.bill
      ) e
    WHERE
      b.organisation_id = $1
      AND b.subscription_id = $2
      AND (b.bill, b.period_index, b.meter_id) <= ($3, $4, $5)
    ORDER BY b.bill DESC, b.period_index DESC, b.meter_id DESC
    LIMIT $6
  `,
  row: billRow,
});

/** The position above every row. No bill and no period has so high a number. */
const top = [2 ** 31 - 1, 2 ** 31 - 1, "ffffffff-ffff-ffff-ffff-ffffffffffff"];

/** The position below every row, of an id that has another form. */
const bottom = [-1, -1, "00000000-0000-0000-0000-000000000000"];

/** Returns the id of usage on a bill: the numbers of the bill and of the period, and the meter. */
export function usageBillId(bill: number, periodIndex: number, meterId: string): string {
  return `${bill}.${periodIndex}.${meterId}`;
}

function positionOf(id: string): readonly unknown[] {
  const [, bill, period, meterId = ""] = /^([0-9]{1,9})\.([0-9]{1,9})\.(.*)$/.exec(id) ?? [];
  return isId(meterId) ? [bill, period, meterId] : bottom;
}

/**
 * Returns a page of usage on bills, newest bill first. Refuses `invalid_parameter`, param
 * `starting_after`.
 */
export async function listUsageBills(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
  page: PageRequest,
): Promise<Page<BilledUsage>> {
  const from = page.startingAfter === null ? top : positionOf(page.startingAfter);
  const values = [subscriptionId, ...from, page.limit + 2];
  const rows = await readBills(executor, organisationId, ...values);
  const idOf = ({ bill, periodIndex, meterId }: BillRow) => usageBillId(bill, periodIndex, meterId);
  const { data, hasMore } = pageAfter(rows, page, idOf);
  return { data: data.map(readBill), hasMore };
}

function readBill({
  startDate,
  billingDay,
  intervalUnit: unit,
  intervalCount: count,
  periodIndex,
  ...row
}: BillRow): BilledUsage {
  return {
    ...row,
    period: periodAt({ start: civilDate(startDate), billingDay }, { unit, count }, periodIndex),
    events: Number(row.events),
    quantity: parseDecimal(row.quantity),
    before: parseDecimal(row.before),
    priced: parseDecimal(row.priced),
    amount: parseDecimal(row.amount),
  };
}
