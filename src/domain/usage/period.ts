/**
 * Maps instants to periods of a subscription, by arithmetic from its anchor. A period is half-open,
 * from the beginning of one day in its zone to the beginning of another. Its row need not exist yet
 * (PERIOD-1, USAGE-4).
 */
import { type CivilDate, civilDate, startOfDay } from "../calendar/civil-date.ts";
import { periodAt, periodContaining } from "../calendar/period.ts";
import type { Subscription } from "../model/subscription.ts";
import { dateOf, type Instant, instantOf } from "./parse.ts";

/** The anchor and interval of a subscription's periods, with its zone. */
export type PeriodTerms = Pick<Subscription, "timezone" | "startDate" | "billingDay" | "interval">;

/** A period as instants. `startsAt` is in it, `endsAt` is not. */
interface PeriodWindow {
  readonly index: number;
  readonly startsAt: Instant;
  readonly endsAt: Instant;
}

/** Returns the instant at which the day begins in the zone. */
export function dayStart(timezone: string, date: CivilDate): Instant {
  return instantOf(startOfDay(timezone, date));
}

/**
 * The period that was found last for each anchor, because events are mostly of the current one:
 * finding it anew takes thirty times as long, and more than all else that is done for an event.
 * This many entries take about a megabyte. Then all are dropped.
 */
const lastWindows = new Map<string, PeriodWindow>();
const maxLastWindows = 5_000;

/** Returns the period of the instant, or null before the subscription's first. */
export function periodOf(terms: PeriodTerms, instant: Instant): PeriodWindow | null {
  const { timezone, interval, startDate, billingDay } = terms;
  const key = [timezone, startDate, billingDay, interval.count, interval.unit].join(" ");
  const last = lastWindows.get(key);
  if (last !== undefined && isWithin(last, instant)) return last;
  if (instant < dayStart(timezone, startDate)) return null;
  const anchor = { start: startDate, billingDay };
  const windowAt = (index: number): PeriodWindow => {
    const { start, end } = periodAt(anchor, interval, index);
    return { index, startsAt: dayStart(timezone, start), endsAt: dayStart(timezone, end) };
  };
  // No zone is a day from UTC, so its day is in this period or the one before or after.
  const utcDay = civilDate(dateOf(instant).toISOString().slice(0, 10));
  const near = windowAt(periodContaining(anchor, interval, utcDay)?.index ?? 0);
  const next = instant < near.startsAt ? near.index - 1 : near.index + 1;
  const found = isWithin(near, instant) ? near : windowAt(next);
  if (lastWindows.size >= maxLastWindows) lastWindows.clear();
  lastWindows.set(key, found);
  return found;
}

function isWithin({ startsAt, endsAt }: PeriodWindow, instant: Instant): boolean {
  return startsAt <= instant && instant < endsAt;
}
