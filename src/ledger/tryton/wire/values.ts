/** The values of Tryton's JSON: decimals, dates and instants are objects with `__class__`. */
import {
  decimalTextOf,
  isDecimalText,
  scaledOf,
  shortDecimalText,
} from "../../port/decimal-text.ts";
import { type ExactJson, type ExactObject, filledTextOf, objectOf } from "../../port/exact-json.ts";

// All amounts of the port have four places.
const amountPlaces = 4;

/** The amount zero. */
export const noAmount = "0.0000";

/** Writes an amount with at most four places. Tryton counts its places, also zeros at the end. */
export function decimalValue(text: string): object {
  return { __class__: "Decimal", decimal: shortDecimalText(text, amountPlaces) };
}

/** Writes a day, `YYYY-MM-DD`. */
export function dateValue(text: string): object {
  const [year, month, day] = text.split("-").map(Number);
  return { __class__: "date", year, month, day };
}

/** Writes an instant, ISO 8601 in UTC. */
export function instantValue(text: string): object {
  const at = new Date(text);
  return {
    __class__: "datetime",
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    day: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    second: at.getUTCSeconds(),
    microsecond: at.getUTCMilliseconds() * 1_000,
  };
}

/** Reads an id: a number, or an object that has one. */
export function idOf(value: ExactJson | undefined): string | undefined {
  return filledTextOf(objectOf(value)?.id ?? value);
}

/** Reads a list of ids. */
export function idsOf(list: ExactJson | undefined): readonly string[] {
  return Array.isArray(list) ? list.map((one) => idOf(one) ?? "") : [];
}

/** Reads an amount as a number of its fourth place. */
export function scaledAmountOf(value: ExactJson | undefined): bigint | undefined {
  const text = filledTextOf(objectOf(value)?.decimal ?? value);
  return text !== undefined && isDecimalText(text) ? scaledOf(text, amountPlaces) : undefined;
}

/** Writes a number of the fourth place as an amount of the port. */
export function amountText(scaled: bigint): string {
  return decimalTextOf(scaled, amountPlaces);
}

/** Reads a day. */
export function dateOf(value: ExactJson | undefined): string | undefined {
  const date = objectOf(value);
  return date === undefined
    ? undefined
    : [padded(date, "year", 4), padded(date, "month", 2), padded(date, "day", 2)].join("-");
}

/** Reads an instant as ISO 8601 in UTC, to the millisecond. */
export function instantOf(value: ExactJson | undefined): string | undefined {
  const at = objectOf(value);
  if (at === undefined) return undefined;
  const time = [padded(at, "hour", 2), padded(at, "minute", 2), padded(at, "second", 2)].join(":");
  return `${dateOf(at)}T${time}.${padded(at, "microsecond", 6).slice(0, 3)}Z`;
}

function padded(from: ExactObject, member: string, length: number): string {
  return (filledTextOf(from[member]) ?? "0").padStart(length, "0");
}
