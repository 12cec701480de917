/** Days and instants. Instants are shown in the organisation's zone, and exactly on hover. */
import { useOrganisation } from "../../data/organisation.tsx";

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${timeZone} ${JSON.stringify(options)}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
  formats.set(key, format);
  return format;
}

const dayOptions = { day: "numeric", month: "short", year: "numeric" } as const;
const timeOptions = { hour: "2-digit", minute: "2-digit" } as const;

/** Returns `28 Nov 2026` for `2026-11-28`, and a text that is no day as it is. */
export function dayText(date: string): string {
  const midnight = new Date(`${date.slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(midnight.getTime()) ? date : formatOf("UTC", dayOptions).format(midnight);
}

/** Returns the day of an instant in the zone, as `2026-11-28`. */
export function dayOf(instant: string | Date, timeZone: string): string {
  const numbers = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
  const parts = formatOf(timeZone, numbers).formatToParts(new Date(instant));
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")}`;
}

/** Returns the time of an instant in the zone, as `09:30`. */
export function timeText(instant: string, timeZone: string): string {
  return formatOf(timeZone, timeOptions).format(new Date(instant));
}

/** The days from one date to another. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to.slice(0, 10)) - Date.parse(from.slice(0, 10))) / 86_400_000);
}

/** Says how far a day is from today: `in 12 days`, `yesterday`. */
export function awayText(days: number): string {
  const words = new Intl.RelativeTimeFormat("en-GB", { numeric: "auto" });
  return Math.abs(days) < 60
    ? words.format(days, "day")
    : words.format(Math.round(days / 30), "month");
}

/** A day without a time. */
export function Day({ date }: { readonly date: string }) {
  return (
    <time className="number" dateTime={date}>
      {dayText(date)}
    </time>
  );
}

/** An instant in the organisation's zone. */
export function Instant({
  at,
  withTime = true,
}: {
  readonly at: string;
  readonly withTime?: boolean;
}) {
  const { timezone } = useOrganisation();
  const day = dayText(dayOf(at, timezone));
  return (
    <time className="number" dateTime={at} title={`${at} (shown in ${timezone})`}>
      {withTime ? `${day}, ${timeText(at, timezone)}` : day}
    </time>
  );
}
