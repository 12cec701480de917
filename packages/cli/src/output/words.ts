/** What a person reads: times, amounts and counts. */
import type { JsonValue } from "@bufbuild/protobuf";
import { minorUnitDigits } from "../../../../src/domain/money/currency.ts";
import { isObject, type Json } from "./message-json.ts";

/** `2026-11-28 00:41`. An instant of the API is ISO 8601 in UTC. */
export function minuteOf(instant: JsonValue | undefined): string {
  return String(instant ?? "")
    .slice(0, "YYYY-MM-DDTHH:MM".length)
    .replace("T", " ");
}

/** `00:41:07 UTC`. */
export function secondOf(instant: JsonValue | undefined): string {
  return `${String(instant ?? "").slice("YYYY-MM-DDT".length, "YYYY-MM-DDTHH:MM:SS".length)} UTC`;
}

/** The objects of a list. */
export function listOf(list: JsonValue | undefined): readonly Json[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A word of the API as words: `charge_on_renewal` becomes `charge on renewal`. */
export function spaced(word: unknown): string {
  return String(word ?? "").replaceAll("_", " ");
}

/** `1 document`, `3 documents`, `1,204 documents`. */
export function counted(count: JsonValue | undefined, one: string, many = `${one}s`): string {
  const number = Number(count ?? 0);
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** `1,250.00`: the places of the currency, and further ones only if they are not zero. */
export function amountOf(currency: JsonValue | undefined, amount: JsonValue | undefined): string {
  const [, sign = "", whole = "", decimals = ""] =
    /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(amount ?? "0")) ?? [];
  const grouped = whole.replaceAll(/(?<=\d)(?=(\d{3})+$)/g, ",");
  const places = decimals.replace(/0+$/, "").padEnd(minorUnitDigits(String(currency)), "0");
  return `${sign}${grouped}${places === "" ? "" : `.${places}`}`;
}

/** `NZD 1,250.00`. */
export function money(currency: JsonValue | undefined, amount: JsonValue | undefined): string {
  return `${String(currency)} ${amountOf(currency, amount)}`;
}

/** Ten thousandths. Every decimal of the API has four places. */
const unscaled = (amount: JsonValue | undefined) =>
  BigInt(String(amount ?? "0.0000").replace(".", ""));

const scaled = (value: bigint) => {
  const digits = String(value < 0n ? -value : value).padStart(5, "0");
  return `${value < 0n ? "-" : ""}${digits.replace(/(?=\d{4}$)/, ".")}`;
};

/** The exact sum of decimals of the API. */
export function sumOf(amounts: readonly (JsonValue | undefined)[]): string {
  return scaled(amounts.reduce<bigint>((sum, amount) => sum + unscaled(amount), 0n));
}

/** The exact difference of two decimals of the API. */
export function differenceOf(amount: string, less: string): string {
  return scaled(unscaled(amount) - unscaled(less));
}

/** The negative of a decimal of the API. */
export function negative(amount: string): string {
  return amount.startsWith("-") ? amount.slice(1) : `-${amount}`;
}

/** `one`, `one and two`, `one, two and three`. */
export function enumerated(parts: readonly string[]): string {
  const [last = "", ...before] = [...parts].reverse();
  return before.length === 0 ? last : `${before.reverse().join(", ")} and ${last}`;
}

/** A text with a capital in front. */
export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
