/**
 * Joins columns of a row to one text, for lists of many rows. PostgreSQL, the driver and the row's
 * object spend about as much on each column as on its value, and splitting a text costs a tenth.
 */
import { strict as assert } from "node:assert";
import pg from "pg";

/** No id, number, day, instant, boolean or word of the schema contains it. Free text may. */
const separator = "|";

/**
 * Returns the SQL of one text with these columns. They must be ids, numbers, days, instants,
 * booleans or words of a CHECK, never free text.
 */
export function joinColumns(alias: string, columns: readonly string[]): string {
  return `concat(${columns.map((column) => `${alias}.${column}`).join(`, '${separator}', `)})`;
}

/** The texts of columns, each as PostgreSQL writes it. NULL is the empty text. */
type Texts<Columns extends readonly string[]> = { readonly [At in keyof Columns]: string };

/** Returns the columns of a joined text, in the same order. */
export function splitColumns<const Columns extends readonly string[]>(
  columns: Columns,
  joined: string,
): Texts<Columns> {
  const texts = joined.split(separator);
  assert(texts.length === columns.length, "a joined column contains the separator");
  return texts as unknown as Texts<Columns>;
}

/** Returns the text of a column that may be NULL. */
export function textOrNull(text: string): string | null {
  return text === "" ? null : text;
}

/** Returns the number of a column that may be NULL. */
export function numberOrNull(text: string): number | null {
  return text === "" ? null : Number(text);
}

const parseInstant = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, "text");

/** The end of every instant of the pool's sessions, which are in UTC. */
const utc = "+00";

/** Returns the instant of a joined column: the one of the driver, but faster. */
export function readInstantText(text: string): Date {
  if (!text.endsWith(utc)) return parseInstant(text);
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -utc.length)}Z`);
}
