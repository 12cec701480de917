/** The demo ledger's database access: the pool, transactions, savepoints and snapshots. */
import pg from "pg";
import { prepareSchema } from "./schema.ts";

/** A client inside a transaction, or the pool for single statements. */
export type Queryable = Pick<pg.PoolClient, "query">;

// Enough for the concurrent calls of several tenants. PostgreSQL's default of 100 connections is
// shared with billing.
const poolSize = 8;

/**
 * Opens a pool on the database and creates the schema if it is missing. Two concurrent starts are
 * safe.
 */
export async function openDatabase(
  databaseUrl: string,
  onIdleError: (error: Error) => void,
): Promise<pg.Pool> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    application_name: "demo-ledger",
  });
  // The next query replaces an idle connection that breaks. Without a listener the error would end
  // the process.
  pool.on("error", onIdleError);
  // The same applies to a connection that breaks before its client can listen.
  pool.on("connect", (client) => client.on("error", () => undefined));
  await inTransaction(pool, prepareSchema);
  return pool;
}

/**
 * Runs the work in one transaction. It commits when the work returns and rolls back when it throws.
 */
export function inTransaction<T>(
  pool: pg.Pool,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  return runBetween(pool, "begin", work);
}

/** Runs several statements on one snapshot of the database. */
export function inSnapshot<T>(pool: pg.Pool, work: (client: Queryable) => Promise<T>): Promise<T> {
  return runBetween(pool, "begin isolation level repeatable read read only", work);
}

async function runBetween<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks during use reports it twice: by the failed query, and by an event.
  // Without a listener that event would end the process.
  const onError = (failure: Error) => {
    broken = failure;
  };
  client.on("error", onError);
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** The result of work in a savepoint: keep its writes or roll them back. */
interface Kept<T> {
  readonly keep: boolean;
  readonly value: T;
}

/**
 * Runs the work in a savepoint, so that its writes can be rolled back without ending the
 * transaction. A throw rolls them back too.
 */
export async function inSavepoint<T>(client: Queryable, work: () => Promise<Kept<T>>): Promise<T> {
  await client.query("savepoint attempt");
  try {
    const { keep, value } = await work();
    await client.query(keep ? "release savepoint attempt" : "rollback to savepoint attempt");
    return value;
  } catch (error) {
    await client.query("rollback to savepoint attempt");
    throw error;
  }
}

/** Returns the unique index that a failed statement violated, or null after another failure. */
export function violatedIndex(error: unknown): string | null {
  const isUnique = error instanceof pg.DatabaseError && error.code === "23505";
  return isUnique ? (error.constraint ?? null) : null;
}
