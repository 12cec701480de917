/**
 * The database's clock. It decides what has expired, because the clocks of machines differ and all
 * of them share the database.
 */
import type { Executor } from "./prisma/client.ts";

/** SQL: milliseconds from now until `instant`, 0 if it has passed or is null. */
export const msUntil = (instant: string): string =>
  `greatest(0, ceil(1000 * extract(epoch FROM ${instant} - now())))::float8`;

/**
 * Returns the database's time, in a transaction the time of its begin. For writes and reads by the
 * typed client, whose own instants are those of this machine. It is one more statement, so the hot
 * paths compare in SQL instead.
 */
export async function databaseNow(executor: Executor): Promise<Date> {
  const { rows } = await executor.query<{ now: Date }>({
    name: "database_now",
    text: "SELECT now() AS now",
  });
  const now = rows[0]?.now;
  if (now === undefined) throw new Error("the database has no time");
  return now;
}
