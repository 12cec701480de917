/**
 * Billing periods: half-open runs of days, counted from a subscription's anchor and never from the
 * previous period. A day clamped in a short month therefore returns in the next long one
 * (PERIOD-1).
 */
import { assert } from "../assert.ts";
import {
  addDays,
  addMonths,
  type CivilDate,
  calendarDay,
  compareDates,
  daysBetween,
} from "./civil-date.ts";

/** How often a plan bills: every `count` months, 1 or more (CATALOGUE-9). */
export interface Interval {
  readonly unit: "month";
  readonly count: number;
}

/**
 * The anchor of a subscription's periods. `start` lies on `billingDay` (1 to 31), clamped to its
 * month.
 */
export interface Anchor {
  readonly start: CivilDate;
  readonly billingDay: number;
}

/**
 * The days from `start` (included) to `end` (excluded, the renewal date). `index` is 0 for the
 * first period.
 */
export interface Period {
  readonly index: number;
  readonly start: CivilDate;
  readonly end: CivilDate;
}

/**
 * Returns the month's day that a billing day falls on: itself, or the last day of a shorter month.
 */
export function onBillingDay(date: CivilDate, billingDay: number): CivilDate {
  return addMonths(date, 0, billingDay);
}

/**
 * Whether the date lies on the billing day, clamped to its month, as a start date must (CREATE-2).
 */
export function liesOnBillingDay(date: CivilDate, billingDay: number): boolean {
  return date === onBillingDay(date, billingDay);
}

/**
 * Returns period `k`, from the anchor plus `k` intervals to the anchor plus `k` + 1. Asserts an
 * anchor on its billing day.
 */
export function periodAt(anchor: Anchor, interval: Interval, k: number): Period {
  assert(Number.isInteger(k) && k >= 0, `not a period index: ${k}`);
  assert(
    liesOnBillingDay(anchor.start, anchor.billingDay),
    `${anchor.start} is not on day ${anchor.billingDay}`,
  );
  return {
    index: k,
    start: boundaryAt(anchor, interval, k),
    end: boundaryAt(anchor, interval, k + 1),
  };
}

/**
 * Returns the period of the date, or null before the anchor. Usage is mapped to its period by this.
 */
export function periodContaining(
  anchor: Anchor,
  interval: Interval,
  date: CivilDate,
): Period | null {
  if (compareDates(date, anchor.start) < 0) return null;
  const [from, to] = [calendarDay(anchor.start), calendarDay(date)];
  const months = (to.year - from.year) * 12 + (to.month - from.month);
  const period = periodAt(anchor, interval, Math.floor(months / interval.count));
  // In the month of a boundary, the days before it still belong to the previous period.
  return compareDates(date, period.start) < 0
    ? periodAt(anchor, interval, period.index - 1)
    : period;
}

/** Returns the whole days of a period. Days are half-open, so neighbouring periods share none. */
export function daysInPeriod(period: Pick<Period, "start" | "end">): number {
  return daysBetween(period.start, period.end);
}

/**
 * Whether the invoice of the period that begins on `renewalDate` is issued by `today`, ahead of
 * time: renewal date − `createDays` ≤ today < renewal date. Never with 0 days (PERIOD-3).
 */
export function isInvoiceWindow(
  renewalDate: CivilDate,
  createDays: number,
  today: CivilDate,
): boolean {
  return (
    compareDates(addDays(renewalDate, -createDays), today) <= 0 &&
    compareDates(today, renewalDate) < 0
  );
}

/**
 * Returns how many days ahead the invoice of the next period is issued. It is the organisation's
 * setting, at most 25 for a monthly interval, else at most 28 days less than the period. So no
 * window begins before its period (PERIOD-3).
 */
export function invoiceCreateDays(
  period: Pick<Period, "start" | "end">,
  interval: Interval,
  setting: number,
): number {
  return Math.min(setting, interval.count === 1 ? 25 : daysInPeriod(period) - 28);
}

function boundaryAt(anchor: Anchor, interval: Interval, k: number): CivilDate {
  return addMonths(anchor.start, k * interval.count, anchor.billingDay);
}
