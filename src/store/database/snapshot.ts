/** Reads that belong together, in one transaction that cannot write. */
import { inTransaction, type Pool, type Transaction } from "./pool.ts";

/** PostgreSQL itself refuses every write, lock of a row and sequence number after this. */
const beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/**
 * Runs the reads on one connection. All see the database as of the first of them, and none of them
 * waits for a writer or delays one.
 */
export function inSnapshot<T>(pool: Pool, read: (client: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(pool, read, beginSnapshot);
}
