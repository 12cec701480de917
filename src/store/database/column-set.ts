/**
 * Passes records to a statement as one array for each column. PostgreSQL reads them in less than
 * half the time of JSON with the same records.
 */
import { asSql, joinSql, type Sql, sql } from "./sql/sql.ts";

/** A value of a record. An instant is a Date. */
type Value = string | number | boolean | Date | null | undefined;

/** Columns in a fixed order. */
export interface ColumnSet {
  readonly count: number;
  /** SQL of the rows as `alias`. The arrays are the parameters from `$first` on. */
  source(alias: Sql, first: number): Sql;
  /** The parameters. A record without a column has null in it. */
  arrays(records: readonly object[]): readonly string[];
}

/** Returns the columns of `id uuid, name text`, the form that jsonb_to_recordset has too. */
export function columnSet(type: string): ColumnSet {
  const columns = type.split(",").map((column) => {
    const [name = "", of = ""] = column.trim().split(/\s+/);
    return { name, of };
  });
  return {
    count: columns.length,
    source: (alias, first) => {
      const arrays = columns.map(({ of }, index) => sql`$${first + index}::${asSql(of)}[]`);
      const names = columns.map(({ name }) => asSql(name));
      return sql`unnest(${joinSql(arrays, ", ")}) AS ${alias}(${joinSql(names, ", ")})`;
    },
    arrays: (records) =>
      columns.map(({ name, of }) => arrayText(records as readonly Row[], name, of === "text")),
  };
}

type Row = Readonly<Record<string, Value>>;

/**
 * Returns the text of an array. pg's own conversion quotes and escapes each element and takes five
 * times as long. Only text has elements that must be quoted.
 */
function arrayText(rows: readonly Row[], column: string, isText: boolean): string {
  let text = "";
  for (const row of rows) {
    const value = row[column];
    if (value === null || value === undefined) text += ",NULL";
    else if (value instanceof Date) text += `,${value.toISOString()}`;
    else text += isText ? `,${quoted(String(value))}` : `,${value}`;
  }
  return `{${text.slice(1)}}`;
}

/** Elements that PostgreSQL reads as they are, unless one is the word NULL. */
const bare = /^[\w.:+-]+$/;

function quoted(text: string): string {
  const isBare = bare.test(text) && (text.length !== 4 || text.toUpperCase() !== "NULL");
  return isBare ? text : `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
