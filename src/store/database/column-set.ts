/** Passes records to a statement as one array for each column. */
import type { Shape } from "./sql/columns.ts";
import { asSql, joinSql, namesOf, type Sql, sql } from "./sql/sql.ts";

/** A value of a record. */
type Value = string | number | boolean | Date | Uint8Array | null | undefined;

/** Records with the columns of a shape. Members that it does not have are left out. */
export type RecordsOf<S extends Shape> = readonly { readonly [Name in keyof S]: Value }[];

/** Returns the columns of a shape. Their arrays are the parameters from `$first` on. */
export function columnSet<const S extends Shape>(shape: S, first: number) {
  const columns = Object.entries(shape);
  return {
    /** The first parameter behind them. */
    next: first + columns.length,
    /** SQL of the rows as `alias`. */
    source: (alias: Sql): Sql => {
      const arrays = columns.map(
        ([, { types }], index) => sql`$${first + index}::${asSql(`${types[0]}[]`)}`,
      );
      return sql`unnest(${joinSql(arrays, ", ")}) AS ${alias}(${namesOf(shape)})`;
    },
    /** The parameters. A record without a value has null in it. */
    arrays: (records: RecordsOf<S>): readonly (readonly unknown[])[] =>
      columns.map(([name]) => records.map((record) => record[name] ?? null)),
  };
}
