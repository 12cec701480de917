/**
 * Row parts that usage and its events share: the period, the meter, and the document that bills
 * them.
 */

import type { DocumentStatus } from "../../../domain/billing/invoice.ts";
import { civilDate } from "../../../domain/calendar/civil-date.ts";
import { type Interval, type Period, periodAt } from "../../../domain/calendar/period.ts";
import type { Meter } from "../../../domain/catalogue/meter.ts";

/** The meter of usage. */
export type MeterName = Pick<Meter, "id" | "code" | "name">;

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

/** The columns of `usagePlaceColumns`. */
export interface UsagePlaceRow {
  period_index: number;
  start_date: string;
  billing_day: number;
  interval_unit: Interval["unit"];
  interval_count: number;
  meter_id: string;
  meter_code: string;
  meter_name: string;
  bill: number;
  invoice_id: string | null;
  invoice_number: string | null;
  invoice_status: DocumentStatus | null;
  credit_note_id: string | null;
  credit_note_number: string | null;
  credit_note_status: DocumentStatus | null;
}

/**
 * The columns, of subscription `s`, meter `m`, invoice `i` and credit note `n`. Queries add the
 * columns of the usage itself.
 */
export const usagePlaceColumns = `s.start_date, s.billing_day, s.interval_unit, s.interval_count, m.id AS meter_id, m.code AS meter_code,
  m.name AS meter_name, i.id AS invoice_id, i.number AS invoice_number, i.status AS invoice_status, n.id AS credit_note_id,
  n.number AS credit_note_number, n.status AS credit_note_status`;

/**
 * Converts a row to its place. The period is computed from the subscription's anchor, because its
 * own row may not exist yet. PERIOD-1.
 */
export function readUsagePlace(row: UsagePlaceRow): UsagePlace {
  const anchor = { start: civilDate(row.start_date), billingDay: row.billing_day };
  const interval = { unit: row.interval_unit, count: row.interval_count };
  return {
    period: periodAt(anchor, interval, row.period_index),
    meter: { id: row.meter_id, code: row.meter_code, name: row.meter_name },
    bill: row.bill,
    invoice: readDocument(row.invoice_id, row.invoice_number, row.invoice_status),
    creditNote: readDocument(row.credit_note_id, row.credit_note_number, row.credit_note_status),
  };
}

function readDocument(
  id: string | null,
  number: string | null,
  status: DocumentStatus | null,
): UsageDocument | null {
  return id === null || number === null || status === null ? null : { id, number, status };
}
