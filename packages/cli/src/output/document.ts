/**
 * Lays out a document for a person: its lines with their arithmetic below each, and its sums by
 * name. The amounts stand in one column.
 */
import widthOf from "string-width";
import type { Terminal } from "../terminal.ts";
import { clean } from "./table.ts";
import { amountOf } from "./words.ts";

/** A line: what it is for, its amount, and how that came about. */
export interface LaidLine {
  readonly title: string;
  readonly amount: string;
  readonly how: readonly string[];
}

/** A document, or what a preview shows of one. */
export interface LaidDocument {
  readonly title: string;
  readonly currency: string;
  readonly lines: readonly LaidLine[];
  /** Amounts by name, such as `without tax`. What is no amount stays as it is. */
  readonly sums: readonly (readonly [name: string, amount: string])[];
}

/** In a wider layout the way from a name to its amount would be long. */
const widest = 80;

const isAmount = /^-?\d+(\.\d+)?$/;

/** Returns the lines of text of a document. Long texts are wrapped. */
export function layDocument(
  { columns = widest }: Pick<Terminal, "columns">,
  { title, currency, lines, sums }: LaidDocument,
): readonly string[] {
  const measure = Math.min(columns, widest);
  const shown = (text: string) => (isAmount.test(text) ? amountOf(currency, text) : text);
  const amounts = [...lines.map(({ amount }) => amount), ...sums.map(([, amount]) => amount)];
  const room = measure - Math.max(currency.length, ...amounts.map((text) => shown(text).length));
  const row = (text: string, amount: string, first = "  ") => {
    const [begin = "", ...more] = wrap(clean(text), room - 2, first, `${first}  `);
    const space = " ".repeat(Math.max(1, room - widthOf(begin)));
    return [`${begin}${space}${shown(amount).padStart(measure - room)}`, ...more];
  };
  return [
    ...row(title, currency, ""),
    ...lines.flatMap(({ title: line, amount, how }) => [
      ...row(line, amount),
      ...how.flatMap((text) => wrap(clean(text), measure, "    ", "      ")),
    ]),
    ...sums.flatMap(([name, amount]) => row(name, amount)),
  ];
}

/** A sentence, wrapped at the width of a terminal. A file or a pipe gets it in one line. */
export function layText({ columns }: Pick<Terminal, "columns">, text: string): readonly string[] {
  return columns === undefined ? [text] : wrap(clean(text), Math.min(columns, 100), "", "");
}

/** Breaks a text between words. A word that is longer than the width stays whole. */
export function wrap(text: string, width: number, first: string, next: string): readonly string[] {
  const [begin = "", ...words] = text.split(" ");
  const lines: string[] = [];
  let line = `${first}${begin}`;
  for (const word of words) {
    const longer = `${line} ${word}`;
    if (widthOf(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = `${next}${word}`;
    }
  }
  return [...lines, line];
}
