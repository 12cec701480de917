/**
 * Reads the times of filters such as `--since`: a duration before now, a date, or an instant with
 * its offset.
 */
import { InvalidArgumentError } from "commander";

/** How many milliseconds one unit of a duration has. */
const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The help text of what such an option takes. */
export const sinceForms =
  "30m, 24h, 7d or 2w before now, a date (its beginning in UTC), or an instant";

/**
 * Returns the instant in ISO 8601. An instant with its offset stays as it is: the service checks
 * it. Throws commander's error for a text of another form.
 */
export function readSince(text: string, now: number = Date.now()): string {
  const [, count, unit = ""] = /^([0-9]{1,6})([smhdw])$/.exec(text) ?? [];
  const length = units[unit];
  if (length !== undefined) return new Date(now - Number(count) * length).toISOString();
  if (isDate(text)) return new Date(text).toISOString();
  if (/^\d{4}-\d{2}-\d{2}T/i.test(text)) return text;
  throw new InvalidArgumentError(`It must be ${sinceForms}.`);
}

/** Whether a text is a day of the calendar. A date such as 30 February would become another day. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) return false;
  return new Date(text).toISOString().startsWith(text);
}
