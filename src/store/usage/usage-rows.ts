/**
 * Row parts that usage and its events share: the period, the meter, and the document that bills
 * them.
 */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import { type Interval, type Period, periodAt } from "../../domain/calendar/period.ts";
import type { Meter } from "../../domain/catalogue/meter.ts";
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import type { Subscription, UsageBill } from "../../gen/prisma/client.ts";
import { columnsOf, type ModelRow } from "../database/prisma/model-columns.ts";

/** The meter of usage. */
type MeterName = Pick<Meter, "id" | "code" | "name">;

/** A document that bills usage. */
export interface UsageDocument {
  readonly id: string;
  readonly number: string;
  readonly status: DocumentStatus;
}

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

/** The columns of `usagePlaceColumns`, with the period and the bill of the usage. */
export type UsagePlaceRow = ModelRow<UsageBill, "periodIndex" | "meterId" | "bill"> &
  ModelRow<Subscription, "billingDay" | "intervalCount"> & {
    readonly startDate: string;
    readonly intervalUnit: Interval["unit"];
    readonly meterCode: Meter["code"];
    readonly meterName: Meter["name"];
    readonly invoice: UsageDocument | null;
    readonly creditNote: UsageDocument | null;
  };

const documentJson = (alias: string) =>
  `CASE WHEN ${alias}.id IS NOT NULL THEN
    json_build_object('id', ${alias}.id, 'number', ${alias}.number, 'status', ${alias}.status) END`;

/**
 * The columns, of usage `t`, subscription `s`, meter `m`, invoice `i` and credit note `n`. Queries
 * add the columns of the usage itself.
 */
export const usagePlaceColumns = `${columnsOf("t", ["periodIndex", "bill"])},
  ${columnsOf("s", ["startDate", "billingDay", "intervalUnit", "intervalCount"])},
  m.id AS "meterId", m.code AS "meterCode", m.name AS "meterName",
  ${documentJson("i")} AS invoice, ${documentJson("n")} AS "creditNote"`;

/**
 * Converts a row to its place. The period is computed from the subscription's anchor, because its
 * own row may not exist yet. PERIOD-1.
 */
export function readUsagePlace(row: UsagePlaceRow): UsagePlace {
  const anchor = { start: civilDate(row.startDate), billingDay: row.billingDay };
  const interval = { unit: row.intervalUnit, count: row.intervalCount };
  const { meterId: id, meterCode: code, meterName: name, bill, invoice, creditNote } = row;
  const period = periodAt(anchor, interval, row.periodIndex);
  return { period, meter: { id, code, name }, bill, invoice, creditNote };
}
