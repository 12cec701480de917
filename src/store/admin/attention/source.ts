/** A source of what waits for a person, as SQL. */
import { type Sql, sql } from "../../database/sql/sql.ts";

/** What a source is limited to. `place` orders the things of an organisation, newest last. */
export interface Scope {
  readonly where: (organisation: Sql, place: Sql) => Sql;
  readonly limit: Sql;
}

/** SQL of the rows of a kind, newest first. */
export type Source = (scope: Scope) => Sql;

/** The newest of a table, by organisation. */
export const newest = (scope: Scope, table: Sql, condition: Sql) => sql`
  SELECT t.*
  FROM ${table} t
  WHERE ${scope.where(sql`t.organisation_id`, sql`t.seq`)} AND ${condition}
  ORDER BY t.organisation_id DESC, t.seq DESC
  LIMIT ${scope.limit}
`;
