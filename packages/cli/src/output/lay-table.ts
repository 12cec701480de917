/** Lays out tables in the width of a terminal. A file or a pipe gets each row in one line. */
import widthOf from "string-width";
import type { Column } from "../noun.ts";
import type { Terminal } from "../terminal.ts";
import { wrap } from "./document.ts";
import type { Json } from "./message-json.ts";
import { cellsOf, clean, listTable, titlesOf } from "./table.ts";

/** In a narrower column a sentence is hard to read. */
const narrowest = 20;

const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => widthOf(line)));

const split = (text: string): readonly string[] => text.trimEnd().split("\n");

/**
 * The lines of a table. Where it is too wide its last column is wrapped. Where that leaves no room
 * each row is its named cells below each other.
 */
export function layTable(
  terminal: Pick<Terminal, "columns">,
  rows: readonly Json[],
  columns: readonly Column[],
): readonly string[] {
  const { columns: width } = terminal;
  const table = split(listTable(rows, columns));
  if (width === undefined || widest(table) <= width) return table;
  const room = width - widest(split(listTable(rows, columns.slice(0, -1)))) - "  ".length;
  if (room >= narrowest)
    return split(listTable(rows, columns, (text) => wrap(text, room, "", "").join("\n")));
  const titles = titlesOf(columns);
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [""]),
    ...layNamed(
      terminal,
      cellsOf(row, columns)
        .map((text, column) => [titles[column] ?? "", text] as const)
        .filter(([, text]) => text !== ""),
    ),
  ]);
}

/** The lines of texts with their names in front. Long texts are wrapped below themselves. */
export function layNamed(
  { columns = Number.POSITIVE_INFINITY }: Pick<Terminal, "columns">,
  rows: readonly (readonly [name: string, text: string])[],
): readonly string[] {
  const room = Math.max(...rows.map(([name]) => name.length)) + "  ".length;
  return rows.flatMap(([name, text]) =>
    wrap(clean(text), columns, name.padEnd(room), " ".repeat(room)),
  );
}

/** The lines of a table below a sentence. */
export function sentenceAndTable(
  terminal: Pick<Terminal, "columns">,
  sentence: string,
  rows: readonly Json[],
  columns: readonly Column[],
): readonly string[] {
  return rows.length === 0 ? [sentence] : [sentence, "", ...layTable(terminal, rows, columns)];
}
