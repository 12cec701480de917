/**
 * Maps instants to periods of a subscription, by arithmetic from its anchor. A period is half-open,
 * from the beginning of one day in its zone to the beginning of another. Its row need not exist yet
 * (PERIOD-1, USAGE-4).
 */
import { type CivilDate, startOfDay, todayIn } from "../calendar/civil-date.ts";
import { type Interval, periodAt, periodContaining } from "../calendar/period.ts";
import { dateOf, type Instant, instantOf } from "./parse.ts";

/** The anchor and interval of a subscription's periods, with its zone. */
export interface PeriodTerms {
  readonly timezone: string;
  readonly startDate: CivilDate;
  readonly billingDay: number;
  readonly interval: Interval;
}

/** A period as instants. `startsAt` is in it, `endsAt` is not. */
interface PeriodWindow {
  readonly index: number;
  readonly startsAt: Instant;
  readonly endsAt: Instant;
}

/**
 * Finding when a day begins takes fifty times as long as a look-up in the cache, and events are
 * mostly of the current day. This many entries take about a megabyte. Then the cache is emptied.
 */
const maxKeptDays = 5_000;
const days = new Map<string, Instant>();
const windows = new Map<string, PeriodWindow[]>();
let windowCount = 0;

/** Returns the instant at which the day begins in the zone. */
export function dayStart(timezone: string, date: CivilDate): Instant {
  const key = `${timezone} ${date}`;
  const known = days.get(key);
  if (known !== undefined) return known;
  if (days.size >= maxKeptDays) days.clear();
  const start = instantOf(startOfDay(timezone, date));
  days.set(key, start);
  return start;
}

/** Returns the period of the instant, or null before the subscription's first. */
export function periodOf(terms: PeriodTerms, instant: Instant): PeriodWindow | null {
  const known = knownWindows(terms);
  const found = known.find(({ startsAt, endsAt }) => startsAt <= instant && instant < endsAt);
  if (found !== undefined) return found;
  if (instant < dayStart(terms.timezone, terms.startDate)) return null;
  const created = createWindow(terms, instant);
  known.push(created);
  windowCount += 1;
  return created;
}

/** Returns the cached windows of these terms. All subscriptions with the same anchor share them. */
function knownWindows({ timezone, startDate, billingDay, interval }: PeriodTerms): PeriodWindow[] {
  const key = `${timezone} ${startDate} ${billingDay} ${interval.count}`;
  const known = windows.get(key);
  if (known !== undefined) return known;
  if (windowCount >= maxKeptDays || windows.size >= maxKeptDays) {
    windows.clear();
    windowCount = 0;
  }
  const none: PeriodWindow[] = [];
  windows.set(key, none);
  return none;
}

function createWindow(terms: PeriodTerms, instant: Instant): PeriodWindow {
  const { timezone, interval, startDate, billingDay } = terms;
  const anchor = { start: startDate, billingDay };
  const near = periodContaining(anchor, interval, todayIn(timezone, dateOf(instant)))?.index ?? 0;
  const windowAt = (index: number): PeriodWindow => {
    const { start, end } = periodAt(anchor, interval, index);
    return { index, startsAt: dayStart(timezone, start), endsAt: dayStart(timezone, end) };
  };
  // If clocks go back over a midnight, the evening before repeats after the day has begun.
  const window = windowAt(near);
  return instant < window.endsAt ? window : windowAt(near + 1);
}
