/**
 * Limits how many connections of a pool background work uses. The rest is for the requests of
 * callers.
 */
import type pg from "pg";

/**
 * Returns a view of the pool for single statements. Statements above the limit wait here without a
 * time limit. Waiting for a connection has a time limit.
 */
export function boundQueries(pool: Pick<pg.Pool, "query">, atOnce: number): Pick<pg.Pool, "query"> {
  let running = 0;
  const waiting: (() => void)[] = [];
  const query = async (statement: pg.QueryConfig) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await pool.query(statement);
    } finally {
      // The next statement takes this one's place.
      const nextOne = waiting.shift();
      if (nextOne === undefined) running -= 1;
      else nextOne();
    }
  };
  return { query: query as pg.Pool["query"] };
}
