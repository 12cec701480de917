/** Words of the commands that show how things are: times, amounts and tables, for a person. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Column } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { listTable } from "../../output/table.ts";

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

/** `1 document`, `3 documents`, `1,204 documents`. */
export function counted(count: JsonValue | undefined, one: string, many = `${one}s`): string {
  const number = Number(count ?? 0);
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** `NZD 1,250.00`. Two decimals are enough unless there are more. */
export function money(currency: JsonValue | undefined, amount: JsonValue | undefined): string {
  const [whole = "", decimals = ""] = String(amount ?? "").split(".");
  const grouped = whole.replaceAll(/(?<=\d)(?=(\d{3})+$)/g, ",");
  return `${String(currency)} ${grouped}.${decimals.replace(/00$/, "")}`;
}

/** The lines of a table below a sentence. */
export function sentenceAndTable(
  sentence: string,
  rows: readonly Json[],
  columns: readonly Column[],
): readonly string[] {
  if (rows.length === 0) return [sentence];
  return [sentence, "", ...listTable(rows, columns).trimEnd().split("\n")];
}
