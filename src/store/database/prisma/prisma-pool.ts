/**
 * The pool over which Prisma's adapter sends, of which it calls `query` for a statement and
 * `connect` for a write of several statements. It has no connection itself: a typed call goes
 * over the pool or the connection for which it was made.
 */
import { strict as assert } from "node:assert";
import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import type { Executor } from "../sql/statement.ts";

/** The pool of Prisma's adapter, which takes nothing but a pool of the driver. */
export class PrismaPool extends pg.Pool {
  /** Set for each typed call, never for code of a caller. */
  readonly #executor = new AsyncLocalStorage<Executor>();

  /** Makes a typed call over an executor. */
  run<T>(executor: Executor, call: () => Promise<T>): Promise<T> {
    return this.#executor.run(executor, call);
  }

  /** Runs a statement of the typed call. `never` fits each overload of the driver. */
  override query(statement: unknown): never {
    return this.#current().query(statement as pg.QueryConfig) as never;
  }

  /** Returns a connection for a write that begins a transaction. */
  override connect(): never {
    const executor = this.#current();
    return (executor instanceof pg.Pool ? executor.connect() : nestedWrite(executor)) as never;
  }

  #current(): Executor {
    const executor = this.#executor.getStore();
    assert(executor !== undefined, "a statement of Prisma without a connection: use db(…)");
    return executor;
  }
}

/** The last nested write of a connection. The next one begins when it ends. */
const lastOf = new WeakMap<Executor, Promise<void>>();

/**
 * What Prisma sends for a transaction, and what it is inside one of ours: a savepoint. What fails
 * is rolled back alone, and nothing is committed before the whole.
 */
const savepoints: Readonly<Record<string, string>> = {
  BEGIN: "SAVEPOINT nested_write",
  COMMIT: "RELEASE SAVEPOINT nested_write",
  ROLLBACK: "ROLLBACK TO SAVEPOINT nested_write",
};

/** What Prisma's adapter calls on a connection. */
type NestedWrite = Pick<pg.PoolClient, "release"> & {
  query(statement: pg.QueryConfig): Promise<pg.QueryResult>;
  on(): unknown;
  removeListener(): unknown;
};

/** Returns a connection for one nested write. Its `release` gives way to the next one. */
async function nestedWrite(executor: Executor): Promise<NestedWrite> {
  const before = lastOf.get(executor);
  const { promise, resolve } = Promise.withResolvers<void>();
  lastOf.set(executor, promise);
  await before;
  return {
    query: (statement) => executor.query(savepoints[statement.text] ?? statement),
    release: () => resolve(),
    on: () => undefined,
    removeListener: () => undefined,
  };
}
