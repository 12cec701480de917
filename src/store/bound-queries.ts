/**
 * A pool of which so many connections at most are used at once: work for which nobody waits leaves
 * the others to work for which somebody does.
 */
import type pg from "pg";

/**
 * Only what one statement needs. What comes beside so many waits here, and not for a connection,
 * whose time is limited.
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
      // Who waits takes the place over.
      const nextOne = waiting.shift();
      if (nextOne === undefined) running -= 1;
      else nextOne();
    }
  };
  return { query: query as pg.Pool["query"] };
}
