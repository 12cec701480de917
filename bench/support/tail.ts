/**
 * Measures what other work feels while something runs: the longest statement of a pool, and the
 * longest pause of this process's event loop.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type pg from "pg";

/** The longest of each, in milliseconds. */
export interface Tail {
  readonly statementMs: number;
  readonly pauseMs: number;
}

/** The interval of the clock that measures pauses. A pause shorter than it is not seen. */
const resolutionMs = 5;

/** Begins to measure the transactions of the pool. The returned function ends it. */
export function measureTail(pool: pg.Pool): () => Tail {
  let statementMs = 0;
  const connectPlain = pool.connect.bind(pool) as (done?: unknown) => Promise<pg.PoolClient>;
  // A statement without a transaction passes a callback. It is not measured.
  const connect = async (done?: unknown) => {
    if (done !== undefined) return connectPlain(done);
    const client = await connectPlain();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    const release = client.release.bind(client);
    const timed = async (...args: unknown[]) => {
      const began = performance.now();
      try {
        return await query(...args);
      } finally {
        statementMs = Math.max(statementMs, performance.now() - began);
      }
    };
    const own = { query: client.query, release: client.release };
    return Object.assign(client, {
      query: timed,
      release: (error?: Error) => {
        Object.assign(client, own);
        release(error);
      },
    });
  };
  pool.connect = connect as typeof pool.connect;
  const pauses = monitorEventLoopDelay({ resolution: resolutionMs });
  pauses.enable();
  return () => {
    pauses.disable();
    pool.connect = connectPlain as typeof pool.connect;
    return { statementMs, pauseMs: pauses.max / 1e6 };
  };
}
