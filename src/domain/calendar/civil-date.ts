/**
 * Civil dates: days of the calendar without time or zone, and the two conversions to instants,
 * which need a zone. Nothing here reads the clock or the process's zone (PERIOD-2).
 */
import { assert } from "../assert.ts";

/**
 * A real day `YYYY-MM-DD` of the Gregorian calendar, years 0001 to 9999. As text, earlier dates
 * sort before later ones.
 */
export type CivilDate = string & { readonly kind: "CivilDate" };

/** Year, month (1 to 12) and day of the month. */
interface CalendarDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

const msPerDay = 86_400_000;
const dateText = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Returns the date, or null if the text is not `YYYY-MM-DD` or not a real day (`2026-02-29`, year
 * `0000`).
 */
export function parseCivilDate(text: string): CivilDate | null {
  if (!dateText.test(text)) return null;
  const { year, month, day } = calendarDay(text as CivilDate);
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  return text as CivilDate;
}

/** Returns the date of a trusted text (database column, literal). Asserts that it is one. */
export function civilDate(text: string): CivilDate {
  const date = parseCivilDate(text);
  assert(date !== null, `not a date: ${JSON.stringify(text)}`);
  return date;
}

/** Returns the date of its parts. Asserts a real day of the years 1 to 9999. */
function civilDateOf({ year, month, day }: CalendarDay): CivilDate {
  return civilDate(`${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`);
}

/** Returns year, month and day of a date. */
export function calendarDay(date: CivilDate): CalendarDay {
  const [year = 0, month = 0, day = 0] = date.split("-").map(Number);
  return { year, month, day };
}

/** Returns the number of days of the month (1 to 12): 28 to 31. */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Returns the day `day` of the month that lies `months` after the date's month, or that month's
 * last day if it is shorter. `day` defaults to the date's own. The function is not additive: add
 * from the anchor, never from a clamped date (PERIOD-1).
 */
export function addMonths(
  date: CivilDate,
  months: number,
  day: number = calendarDay(date).day,
): CivilDate {
  const from = calendarDay(date);
  const monthsSinceYearZero = from.year * 12 + (from.month - 1) + months;
  const year = Math.floor(monthsSinceYearZero / 12);
  const month = (monthsSinceYearZero % 12) + 1;
  return civilDateOf({ year, month, day: Math.min(day, daysInMonth(year, month)) });
}

/** Returns the date `days` days later, or earlier if negative. */
export function addDays(date: CivilDate, days: number): CivilDate {
  return civilDateOfDayNumber(dayNumber(date) + days);
}

/** Returns the days from `from` (included) to `to` (excluded); negative if `to` is earlier. */
export function daysBetween(from: CivilDate, to: CivilDate): number {
  return dayNumber(to) - dayNumber(from);
}

/** Negative if left is earlier, 0 if equal, positive if later. */
export function compareDates(left: CivilDate, right: CivilDate): -1 | 0 | 1 {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns the later of the two dates. */
export function laterDate(left: CivilDate, right: CivilDate): CivilDate {
  return left > right ? left : right;
}

/**
 * Whether the text is a name of the IANA time zone database, in its spelling: `Europe/Paris`,
 * `Asia/Kolkata`, `UTC`. Offsets (`+05:00`), abbreviations (`IST`) and other spellings
 * (`europe/paris`) are not.
 */
export function isTimezone(text: string): boolean {
  return realTimezones.has(text) && formatterOf(text) !== null;
}

/**
 * Returns the date of the instant in the zone. Asserts a zone that `isTimezone` accepts (PERIOD-2).
 */
export function todayIn(timezone: string, instant: Date): CivilDate {
  return civilDateOfDayNumber(Math.floor(wallClock(timezone, instant.getTime()) / msPerDay));
}

/**
 * Returns the first instant of the date in the zone: its midnight, or the moment after the gap if
 * the clocks skip midnight. If a zone skipped the whole day, it is the moment of the move to the
 * next day.
 */
export function startOfDay(timezone: string, date: CivilDate): Date {
  const key = `${timezone} ${date}`;
  let start = knownStarts.get(key);
  if (start === undefined) {
    start = findStartOfDay(timezone, date);
    if (knownStarts.size === maxKnownStarts) knownStarts.clear();
    knownStarts.set(key, start);
  }
  return new Date(start);
}

/** Thousands of subscriptions renew on a day. The search reads a zone's clocks three times. */
const knownStarts = new Map<string, number>();

/** Nearly three years of days in one zone: about 100 kB. */
const maxKnownStarts = 1_000;

function findStartOfDay(timezone: string, date: CivilDate): number {
  const midnight = dayNumber(date) * msPerDay;
  // No zone is more than 15 hours from UTC or shifts by more than a day. The offsets of a day
  // before and a day after are therefore those on both sides of any clock change at this midnight.
  const [before, after] = [midnight - 2 * msPerDay, midnight + 2 * msPerDay];
  const offsets = [offsetAt(timezone, before), offsetAt(timezone, after)];
  const candidates = offsets.map((offset) => midnight - offset).sort((left, right) => left - right);
  const valid = candidates.find((instant) => wallClock(timezone, instant) === midnight);
  return valid ?? firstAtOrAfter(timezone, midnight, before, after);
}

/**
 * All link names and engine-dependent zone names of tzdata 2025b, without the placeholder
 * `Factory`. `Intl.supportedValuesOf` lists one name for each zone, and the engine chooses which
 * (Asia/Kolkata, Asia/Calcutta): both lists are every real name. New zones arrive with the engine.
 * A link is created once, when a zone is renamed.
 */
export const timezoneNames: readonly string[] = `
  Africa/Asmara Africa/Asmera Africa/Timbuktu America/Argentina/Buenos_Aires
  America/Argentina/Catamarca America/Argentina/ComodRivadavia America/Argentina/Cordoba
  America/Argentina/Jujuy America/Argentina/Mendoza America/Atikokan America/Atka
  America/Buenos_Aires America/Catamarca America/Coral_Harbour America/Cordoba America/Ensenada
  America/Fort_Wayne America/Godthab America/Indiana/Indianapolis America/Indianapolis America/Jujuy
  America/Kentucky/Louisville America/Knox_IN America/Kralendijk America/Louisville
  America/Lower_Princes America/Marigot America/Mendoza America/Montreal America/Nipigon
  America/Nuuk America/Pangnirtung America/Porto_Acre America/Rainy_River America/Rosario
  America/Santa_Isabel America/Shiprock America/St_Barthelemy America/Thunder_Bay America/Virgin
  America/Yellowknife Antarctica/South_Pole Arctic/Longyearbyen Asia/Ashkhabad Asia/Calcutta
  Asia/Choibalsan Asia/Chongqing Asia/Chungking Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh
  Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Katmandu Asia/Kolkata Asia/Macao Asia/Rangoon
  Asia/Saigon Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon
  Atlantic/Faeroe Atlantic/Faroe Atlantic/Jan_Mayen Australia/ACT Australia/Canberra
  Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland Australia/South
  Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre
  Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT Canada/Atlantic Canada/Central Canada/Eastern
  Canada/Mountain Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon
  Chile/Continental Chile/EasterIsland Cuba EET EST EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT+1
  Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6 Etc/GMT+7
  Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13 Etc/GMT-14
  Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0
  Etc/Greenwich Etc/UCT Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Bratislava
  Europe/Busingen Europe/Kiev Europe/Kyiv Europe/Mariehamn Europe/Nicosia Europe/Podgorica
  Europe/San_Marino Europe/Tiraspol Europe/Uzhgorod Europe/Vatican Europe/Zaporozhye GB GB-Eire GMT
  GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST
  MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Chuuk
  Pacific/Enderbury Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Ponape Pacific/Samoa
  Pacific/Truk Pacific/Yap Poland Portugal ROC ROK Singapore Turkey UCT US/Alaska US/Aleutian
  US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan
  US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`
  .trim()
  .split(/\s+/);

/**
 * Returns the first instant of (low, high] whose wall clock shows `reading` or later. The clocks
 * skip `reading` in between.
 */
function firstAtOrAfter(timezone: string, reading: number, low: number, high: number): number {
  let [tooEarly, reached] = [low, high];
  while (reached - tooEarly > 1) {
    const middle = Math.floor((tooEarly + reached) / 2);
    if (wallClock(timezone, middle) >= reading) reached = middle;
    else tooEarly = middle;
  }
  return reached;
}

const realTimezones: ReadonlySet<string> = new Set([
  ...Intl.supportedValuesOf("timeZone"),
  ...timezoneNames,
]);

/**
 * Creating a formatter costs fifty times as much as using it. Keys are real names only, so the
 * cache is bounded.
 */
const formatters = new Map<string, Intl.DateTimeFormat | null>();

function formatterOf(timezone: string): Intl.DateTimeFormat | null {
  const cached = formatters.get(timezone);
  if (cached !== undefined) return cached;
  const formatter = createFormatter(timezone);
  formatters.set(timezone, formatter);
  return formatter;
}

function createFormatter(timeZone: string): Intl.DateTimeFormat | null {
  const digits = "2-digit";
  try {
    return new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: digits,
      day: digits,
      hour: digits,
      minute: digits,
      second: digits,
    });
  } catch (error) {
    // The constructor throws only this: the name is real, but this engine's zone data lacks it.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * Returns the time on the zone's clocks, to the second, as the instant at which UTC clocks show it.
 */
function wallClock(timezone: string, instantMs: number): number {
  const formatter = realTimezones.has(timezone) ? formatterOf(timezone) : null;
  assert(formatter !== null, `not a time zone: ${JSON.stringify(timezone)}`);
  const shown = new Map(
    formatter.formatToParts(instantMs).map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? Number.NaN;
  const day = Date.UTC(part("year"), part("month") - 1, part("day"));
  return day + ((part("hour") * 60 + part("minute")) * 60 + part("second")) * 1000;
}

function offsetAt(timezone: string, instantMs: number): number {
  return wallClock(timezone, instantMs) - instantMs;
}

/** Returns days since 1 January 1970. `Date` in UTC has no zone and no clock change. */
function dayNumber(date: CivilDate): number {
  const { year, month, day } = calendarDay(date);
  // `Date.UTC` reads the years 0 to 99 as 1900 to 1999. The calendar repeats after 400 years,
  // 146,097 days.
  return Date.UTC(year + 400, month - 1, day) / msPerDay - 146_097;
}

function civilDateOfDayNumber(days: number): CivilDate {
  const instant = new Date(days * msPerDay);
  return civilDateOf({
    year: instant.getUTCFullYear(),
    month: instant.getUTCMonth() + 1,
    day: instant.getUTCDate(),
  });
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
