/** Values of requests that a pattern cannot validate: future instants and currencies. */
import { parseCivilDate } from "../../domain/calendar/civil-date.ts";
import { isCurrency } from "../../domain/money/currency.ts";
import { Refusal } from "../../domain/refusal.ts";

/** RFC 3339 with seconds and offset, as the public API writes its timestamps. */
const time = "(?:[01]\\d|2[0-3]):[0-5]\\d";
const instantForm = new RegExp(
  `^(\\d{4}-\\d{2}-\\d{2})[Tt]${time}:[0-5]\\d(?:\\.\\d{1,9})?(?:[Zz]|[+-]${time})$`,
);

/** The instant of a text, to the millisecond. Null if the text is no valid instant. */
export function readInstant(text: string): Date | null {
  const day = instantForm.exec(text)?.[1];
  const instant = new Date(text.toUpperCase());
  return day === undefined || parseCivilDate(day) === null || Number.isNaN(instant.getTime())
    ? null
    : instant;
}

/**
 * The instant of `expires_at`, or null if it is absent: no expiry. Refuses `invalid_parameter` if
 * it is no instant or has passed.
 */
export function readExpiry(text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null;
  const instant = requireInstant("expires_at", text);
  if (instant <= now)
    throw new Refusal("invalid_parameter", "expires_at must be in the future", "expires_at");
  return instant;
}

/**
 * The instant of a filter such as `since`, or null if it is absent. Refuses `invalid_parameter` if
 * it is no instant.
 */
export function readInstantOf(param: string, text: string | undefined): Date | null {
  return text === undefined ? null : requireInstant(param, text);
}

/** The instant of a text. Refuses `invalid_parameter` if it is none. */
export function requireInstant(param: string, text: string): Date {
  const instant = readInstant(text);
  if (instant !== null) return instant;
  const message = `${param} must be an instant with its offset, such as 2027-01-31T00:00:00Z`;
  throw new Refusal("invalid_parameter", message, param);
}

/** Refuses `invalid_parameter` if the code is not one of a current currency. */
export function requireCurrency(code: string | undefined, param: string): void {
  if (code === undefined || isCurrency(code)) return;
  throw new Refusal(
    "invalid_parameter",
    `${param} must be the code of a current currency, such as EUR`,
    param,
  );
}
