/**
 * Joins columns of a row to one text, for lists of many rows. PostgreSQL, the driver and the row's
 * object spend about as much on each column as on its value, and splitting a text costs a tenth.
 */
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

/**
 * Returns the columns of a joined text by name, each as PostgreSQL writes it. NULL is null. `Row`
 * says which columns are never null.
 */
export function splitColumns<Row extends Readonly<Record<keyof Row, string | null>>>(
  columns: readonly (keyof Row & string)[],
  joined: string,
): Row {
  const texts = joined.split(separator);
  const row: Record<string, string | null> = {};
  for (let at = 0; at < columns.length; at++) row[columns[at] as string] = texts[at] || null;
  return row as Row;
}

const parseInstant = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, "text");

/** The end of every instant of the pool's sessions, which are in UTC. */
const utc = "+00";

/** Returns the instant of a joined column, as a column of its own would be read, but faster. */
export function readInstantText(text: string): Date {
  if (!text.endsWith(utc)) return parseInstant(text);
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -utc.length)}Z`);
}
