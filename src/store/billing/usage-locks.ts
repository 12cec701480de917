/**
 * Advisory locks between storing usage and billing it. Storing takes a subscription's bucket
 * shared, and closing a bill takes it exclusively. Usage stored before a close is on that bill.
 * Usage stored later sees the next bill (INVARIANT-4). SQL, because the typed client has no locks.
 */
import type { Transaction } from "../database/pool.ts";
import { readByIndex } from "../database/read-by-index.ts";
import { bigint, int } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/** First key of these advisory locks, so that they never meet other ones: "usag" in ASCII. */
export const usageLockClass = 0x75736167;

/**
 * Number of buckets. A full transaction of usage takes about 600 of them. PostgreSQL's lock table
 * takes 12,800 with its defaults: seven API processes at their limit. Two subscriptions still
 * seldom share a bucket.
 */
const bucketCount = 1024;

/**
 * The distinct buckets of these subscriptions, rising. Every transaction takes them in this order
 * (USAGE-11).
 */
export function bucketsOf(subscriptionIds: Iterable<string>): readonly number[] {
  const buckets = new Set<number>();
  // The last digits are random in every UUID version that the service creates.
  for (const id of subscriptionIds) buckets.add(Number.parseInt(id.slice(-4), 16) % bucketCount);
  return [...buckets].sort((left, right) => left - right);
}

/** SQL of the bucket of a subscription's id. */
export const bucketText = (id: Sql): Sql =>
  sql`(get_byte(uuid_send(${id}), 14) * 256 + get_byte(uuid_send(${id}), 15)) % ${bucketCount}`;

/** Takes buckets in their order. Returns one row with their count, not one row for each lock. */
const lockBy = (name: string, lock: Sql) =>
  query({
    name,
    planned: "once",
    text: sql`
      SELECT count(${lock}(${usageLockClass}, b)) AS locks
      FROM (SELECT unnest($1::int[]) AS b ORDER BY b OFFSET 0) buckets
    `,
    row: { locks: bigint },
  });

const lockShared = lockBy("lock_usage_to_store", sql`pg_advisory_xact_lock_shared`);
const lockExclusively = lockBy("lock_usage_to_bill", sql`pg_advisory_xact_lock`);

/** Takes the buckets shared until the transaction ends. */
export async function lockToStore(
  client: Transaction,
  subscriptionIds: Iterable<string>,
): Promise<void> {
  await lockShared(client, bucketsOf(subscriptionIds));
}

const tryShared = query({
  name: "try_lock_usage_to_store",
  planned: "once",
  text: sql`
    SELECT b AS bucket
    FROM unnest($1::int[]) AS b
    WHERE NOT pg_try_advisory_xact_lock_shared(${usageLockClass}, b)
  `,
  row: { bucket: int },
});

/**
 * Takes the buckets shared until the transaction ends, except those that a bill has or waits for.
 * Returns these.
 */
export async function tryLockToStore(
  client: Transaction,
  subscriptionIds: Iterable<string>,
): Promise<ReadonlySet<number>> {
  const taken = await tryShared(client, bucketsOf(subscriptionIds));
  return new Set(taken.map(({ bucket }) => bucket));
}

/**
 * Takes the buckets exclusively until the transaction ends. Call it after locking the
 * subscriptions' rows and before reading their usage.
 */
export async function lockToBill(
  client: Transaction,
  subscriptionIds: readonly string[],
): Promise<void> {
  if (subscriptionIds.length === 0) return;
  await readByIndex(client);
  await lockExclusively(client, bucketsOf(subscriptionIds));
}
