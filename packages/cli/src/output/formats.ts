/**
 * The formats for other programs: YAML with the members of the JSON, and CSV with the columns of
 * the table.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { stringify } from "csv-stringify/sync";
import { Document, isScalar, visit } from "yaml";
import type { Column } from "../noun.ts";
import { steering } from "./json-text.ts";
import type { Json } from "./message-json.ts";
import { cellsOf, linesOf, titlesOf } from "./table.ts";

/**
 * Returns a value as YAML. A text with characters that could control the terminal is quoted, and
 * those characters are escaped. Every YAML parser reverses that.
 */
export function yamlText(value: JsonValue): string {
  // Texts such as `yes`, which YAML 1.1 reads as another type, are quoted too.
  const document = new Document(value, { compat: "yaml-1.1" });
  visit(document, {
    Scalar: (_key, node) => {
      if (isScalar(node) && typeof node.value === "string" && node.value.search(steering) >= 0)
        node.type = "QUOTE_DOUBLE";
    },
  });
  // Without a width no text is folded, so that line breaks come from the structure only.
  return document
    .toString({ lineWidth: 0 })
    .replaceAll(steering, (character) => (character === "\n" ? character : escaped(character)));
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Returns a list as CSV by RFC 4180, with the titles of its columns in the first row. */
export function listCsv(rows: readonly Json[], columns: readonly Column[]): string {
  return `${csvTitles(columns)}${csvRows(rows, columns)}`;
}

/** Returns the titles of columns as a row of CSV. */
export function csvTitles(columns: readonly Column[]): string {
  return csvText([titlesOf(columns)]);
}

/** Returns rows of a list as CSV. */
export function csvRows(rows: readonly Json[], columns: readonly Column[]): string {
  return csvText(rows.map((row) => cellsOf(row, columns)));
}

/** Returns one object as CSV: a row of names and a row of values. */
export function objectCsv(json: Json): string {
  const lines = linesOf(json, "");
  return csvText([lines.map(([name]) => name), lines.map(([, value]) => value)]);
}

/**
 * What precedes a formula within a cell. A spreadsheet whose list separator is `;` begins a new
 * cell there, and a quote in front of the comma's cell does not keep it together.
 */
const beforeFormula = /(^\s+|;[\s"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function csvText(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => row.map((cell) => cell.replaceAll(beforeFormula, "$1'"))),
    { escape_formulas: true, record_delimiter: "windows" },
  );
}
