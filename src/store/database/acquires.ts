/** Observes how long callers wait for a connection of a pool. */
import type pg from "pg";

/** Gets the wait in milliseconds, and whether a connection was free in time. */
export type AcquireObserver = (waitedMs: number, isAcquired: boolean) => void;

type Connected = (error?: Error, ...results: unknown[]) => void;

/** Calls `observe` for each requested connection, also of statements outside transactions. */
export function observeAcquires(pool: pg.Pool, observe: AcquireObserver): void {
  const connect = pool.connect.bind(pool) as (done?: Connected) => Promise<pg.PoolClient>;
  pool.connect = ((done?: Connected) => {
    const beganMs = performance.now();
    const report = (isAcquired: boolean) => observe(performance.now() - beganMs, isAcquired);
    if (done !== undefined) {
      return connect((error, ...results) => {
        report(error === undefined || error === null);
        done(error, ...results);
      });
    }
    return connect().then(
      (client) => {
        report(true);
        return client;
      },
      (error: unknown) => {
        report(false);
        throw error;
      },
    );
  }) as typeof pool.connect;
}
