/**
 * A write of Prisma that needs several statements begins a transaction. Inside one of ours it is a
 * savepoint: what fails is rolled back alone, and nothing is committed before the whole.
 */
import type pg from "pg";
import type { Executor } from "./client.ts";

/** The last nested write of a connection. The next one begins when it ends. */
const lastOf = new WeakMap<Executor, Promise<void>>();

const savepoint = "nested_write";

/** What Prisma sends for a transaction, and what is sent instead. */
const replacements: Readonly<Record<string, string>> = {
  BEGIN: `SAVEPOINT ${savepoint}`,
  COMMIT: `RELEASE SAVEPOINT ${savepoint}`,
  ROLLBACK: `ROLLBACK TO SAVEPOINT ${savepoint}`,
};

/** Returns a connection for one nested write. Its `release` gives way to the next one. */
export async function nestedTransaction(executor: Executor): Promise<pg.PoolClient> {
  const before = lastOf.get(executor);
  let release: () => void = () => undefined;
  lastOf.set(executor, new Promise((resolve) => (release = resolve)));
  await before;
  const send = executor.query as (...all: unknown[]) => unknown;
  const connection = {
    query: (statement: pg.QueryConfig) => {
      const text = replacements[statement.text];
      return send.call(
        executor,
        text === undefined ? statement : { ...statement, text, name: undefined },
      );
    },
    release: () => release(),
    on: () => connection,
    removeListener: () => connection,
  };
  return connection as unknown as pg.PoolClient;
}
