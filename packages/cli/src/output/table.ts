/** Formats JSON as tables for people: a list as rows, one object as a line for each member. */
import type { JsonValue } from "@bufbuild/protobuf";
import Table from "cli-table3";
import type { Column } from "../noun.ts";
import { steering } from "./json-text.ts";
import { isObject, type Json } from "./message-json.ts";

/** No lines and no colours, so that the output can be searched, cut and mailed. */
const plain = {
  chars: {
    top: "",
    "top-mid": "",
    "top-left": "",
    "top-right": "",
    bottom: "",
    "bottom-mid": "",
    "bottom-left": "",
    "bottom-right": "",
    left: "",
    "left-mid": "",
    mid: "",
    "mid-mid": "",
    right: "",
    "right-mid": "",
    middle: "  ",
  },
  style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
};

/**
 * A list as a table with one row for each object, or a sentence if it is empty. `ofLast` may break
 * the texts of the last column.
 */
export function listTable(
  rows: readonly Json[],
  columns: readonly Column[],
  ofLast = (text: string) => text,
): string {
  if (rows.length === 0) return "None.\n";
  const table = new Table({ ...plain, head: titlesOf(columns) });
  for (const row of rows) {
    const cells = cellsOf(row, columns);
    table.push([...cells.slice(0, -1), ...cells.slice(-1).map(ofLast)]);
  }
  return withoutTrails(table.toString());
}

/** The titles of columns. */
export function titlesOf(columns: readonly Column[]): string[] {
  return columns.map((column) => titleOf(typeof column === "string" ? column : column.title));
}

/** The texts of a row in these columns. */
export function cellsOf(row: Json, columns: readonly Column[]): string[] {
  return columns.map((column) =>
    typeof column === "string" ? cell(at(row, column)) : clean(column.of(row)),
  );
}

/** One object as a table of its members. Nested members are shown with their path. */
export function objectTable(json: Json): string {
  const table = new Table(plain);
  for (const [path, value] of linesOf(json, "")) table.push([titleOf(path), value]);
  return withoutTrails(table.toString());
}

/** The members of an object by their paths, each with its text. Nested ones have longer paths. */
export function linesOf(json: Json, prefix: string): [string, string][] {
  return Object.entries(json).flatMap(([name, value]): [string, string][] => {
    const path = `${prefix}${name}`;
    if (isObject(value)) return linesOf(value, `${path} `);
    return [[path, cell(value, "\n")]];
  });
}

function at(row: Json, path: string): JsonValue | undefined {
  return path
    .split(".")
    .reduce<JsonValue | undefined>(
      (value, name) => (isObject(value) ? value[name] : undefined),
      row,
    );
}

function cell(value: JsonValue | undefined, separator = ", "): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((element) => cell(element)).join(separator);
  if (isObject(value))
    return linesOf(value, "")
      .map(([name, text]) => `${titleOf(name)} ${text}`)
      .join(", ");
  return clean(String(value));
}

/**
 * Names come from ledgers and clients. Characters that could control the terminal become
 * replacement characters.
 */
export function clean(text: string): string {
  return text.replace(steering, (character) => (character === "\n" ? " " : "\ufffd"));
}

function titleOf(path: string): string {
  return path.replaceAll(/[._]/g, " ");
}

function withoutTrails(text: string): string {
  return `${text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")}\n`;
}
