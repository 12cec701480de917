/** Passes records to a statement as one array for each column. */
import { asSql, joinSql, type Sql, sql } from "./sql/sql.ts";

/** Returns the columns of `id uuid, name text`, the form that jsonb_to_recordset has too. */
export function columnSet(type: string) {
  const columns = type.split(",").map((column) => {
    const [name = "", of = ""] = column.trim().split(/\s+/);
    return { name, of };
  });
  return {
    count: columns.length,
    /** SQL of the rows as `alias`. The arrays are the parameters from `$first` on. */
    source: (alias: Sql, first: number): Sql => {
      const arrays = columns.map(({ of }, index) => sql`$${first + index}::${asSql(of)}[]`);
      const names = columns.map(({ name }) => asSql(name));
      return sql`unnest(${joinSql(arrays, ", ")}) AS ${alias}(${joinSql(names, ", ")})`;
    },
    /** The parameters. A record without a column has null in it. */
    arrays: (records: readonly object[]): readonly (readonly unknown[])[] =>
      columns.map(({ name }) => records.map((record) => (record as Row)[name] ?? null)),
  };
}

type Row = Readonly<Record<string, unknown>>;
