/**
 * The database's clock. It decides what has expired, because the clocks of machines differ and all
 * of them share the database.
 */
import { instant } from "./sql/columns.ts";
import { type Sql, sql } from "./sql/sql.ts";
import { type Executor, query } from "./sql/statement.ts";

/** SQL: milliseconds from now until `time`, 0 if it has passed or is null. */
export const msUntil = (time: Sql): Sql =>
  sql`greatest(0, ceil(1000 * extract(epoch FROM ${time} - now())))::float8`;

const readNow = query({
  name: "database_now",
  text: sql`SELECT now() AS now`,
  row: { now: instant },
});

/**
 * Returns the database's time, in a transaction the time of its begin. For writes and reads by the
 * typed client, whose own instants are those of this machine. It is one more statement, so the hot
 * paths compare in SQL instead.
 */
export async function databaseNow(executor: Executor): Promise<Date> {
  const [row] = await readNow(executor);
  if (row === undefined) throw new Error("the database has no time");
  return row.now;
}
