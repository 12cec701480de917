/** Pools whose statements a test observes, for tests of what a transaction sends and when. */
import type pg from "pg";

/** The pool, with a callback that receives each statement before it is sent. */
export function listeningPool(
  pool: pg.Pool,
  onStatement: (statement: pg.QueryConfig) => void,
): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    return new Proxy(client, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "query") return value.bind(target);
        return (statement: string | pg.QueryConfig) => {
          onStatement(typeof statement === "string" ? { text: statement } : statement);
          return target.query(statement);
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}

/** The pool, with an action that runs after a transaction claims due subscriptions. */
export function poolAfterClaim(
  pool: pg.Pool,
  action: (client: pg.PoolClient) => Promise<void>,
): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    return new Proxy(client, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "query") return value.bind(target);
        return async (statement: pg.QueryConfig) => {
          const result = await target.query(statement);
          if (statement.text?.includes("SKIP LOCKED")) await action(client);
          return result;
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}
