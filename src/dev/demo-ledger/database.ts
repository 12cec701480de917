/** The demo ledger's way to its database: the pool, transactions, savepoints, one moment's view. */
import pg from "pg";
import { prepareSchema } from "./schema.ts";

/** A client inside a transaction, or the pool for single statements. */
export type Queryable = Pick<pg.PoolClient, "query">;

// Enough for the concurrent calls of several tenants; PostgreSQL's default of 100 connections is shared with billing.
const poolSize = 8;

/** A pool on the database, with the schema made where it is missing. Two starts at once are safe. */
export async function openDatabase(databaseUrl: string, onIdleError: (error: Error) => void): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize, application_name: "demo-ledger" });
  // An idle connection that breaks is replaced by the next query; unheard, it would end the process.
  pool.on("error", onIdleError);
  // So would one that breaks before whoever asked for it can listen.
  pool.on("connect", (client) => client.on("error", () => undefined));
  await inTransaction(pool, prepareSchema);
  return pool;
}

/** Runs the work in one transaction: committed when it returns, rolled back when it throws. */
export function inTransaction<T>(pool: pg.Pool, work: (client: Queryable) => Promise<T>): Promise<T> {
  return runBetween(pool, "begin", work);
}

/** Reads with several statements what was there at one moment. */
export function inSnapshot<T>(pool: pg.Pool, work: (client: Queryable) => Promise<T>): Promise<T> {
  return runBetween(pool, "begin isolation level repeatable read read only", work);
}

async function runBetween<T>(pool: pg.Pool, begin: string, work: (client: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks while it is in use tells so twice: by the query that fails, and by an event that, unheard, would
  // end the process.
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

/** What a piece of work inside a transaction decided: keep what it wrote, or take it back. */
export interface Kept<T> {
  readonly keep: boolean;
  readonly value: T;
}

/** Runs the work so that what it wrote can be taken back without ending the transaction; a throw takes it back too. */
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

/** The unique index that a failed statement ran into, or null where it failed for another reason. */
export function violatedIndex(error: unknown): string | null {
  const isUnique = error instanceof pg.DatabaseError && error.code === "23505";
  return isUnique ? (error.constraint ?? null) : null;
}
