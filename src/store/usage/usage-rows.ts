/**
 * Row parts that usage and its events share: the period, the meter, and the document that bills
 * them.
 */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import { type Interval, type Period, periodAt } from "../../domain/calendar/period.ts";
import type { Meter } from "../../domain/catalogue/meter.ts";
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { columns } from "../../gen/columns.ts";
import { jsonRow, pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, type Sql, sql } from "../database/sql/sql.ts";

/** The meter of usage. */
type MeterName = Pick<Meter, "id" | "code" | "name">;

const documentRow = {
  ...pick(columns.invoice, "id", "number"),
  status: columns.invoice.status.as<DocumentStatus>(),
};

/** A document that bills usage. */
export type UsageDocument = RowOf<typeof documentRow>;

/**
 * The subscription, period and meter of usage, and the documents that bill it. A document is null
 * if none of its kind bills the usage.
 */
export interface UsagePlace {
  readonly period: Period;
  readonly meter: MeterName;
  readonly bill: number;
  readonly invoice: UsageDocument | null;
  readonly creditNote: UsageDocument | null;
}

const usageRow = pick(columns.usageBill, "periodIndex", "bill");

const termsRow = {
  ...pick(columns.subscription, "startDate", "billingDay", "intervalCount"),
  intervalUnit: columns.subscription.intervalUnit.as<Interval["unit"]>(),
};

/** The row of `usagePlaceColumns`. */
export const usagePlaceRow = {
  ...usageRow,
  ...termsRow,
  meterId: columns.meter.id,
  meterCode: columns.meter.code,
  meterName: columns.meter.name,
  invoice: jsonRow(documentRow).orNull(),
  creditNote: jsonRow(documentRow).orNull(),
};

const documentJson = (alias: Sql) =>
  sql`CASE WHEN ${alias}.id IS NOT NULL THEN
    json_build_object('id', ${alias}.id, 'number', ${alias}.number, 'status', ${alias}.status) END`;

/**
 * The columns, of usage `t`, subscription `s`, meter `m`, invoice `i` and credit note `n`. Queries
 * add the columns of the usage itself.
 */
export const usagePlaceColumns = sql`${columnsOf(sql`t`, usageRow)}, ${columnsOf(sql`s`, termsRow)},
  m.id AS meter_id, m.code AS meter_code, m.name AS meter_name,
  ${documentJson(sql`i`)} AS invoice, ${documentJson(sql`n`)} AS credit_note`;

/**
 * Converts a row to its place. The period is computed from the subscription's anchor, because its
 * own row may not exist yet. PERIOD-1.
 */
export function readUsagePlace(row: RowOf<typeof usagePlaceRow>): UsagePlace {
  const anchor = { start: civilDate(row.startDate), billingDay: row.billingDay };
  const interval = { unit: row.intervalUnit, count: row.intervalCount };
  const { meterId: id, meterCode: code, meterName: name, bill, invoice, creditNote } = row;
  const period = periodAt(anchor, interval, row.periodIndex);
  return { period, meter: { id, code, name }, bill, invoice, creditNote };
}
