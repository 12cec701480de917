/**
 * Advisory locks between storing usage and billing it. Storing takes a subscription's bucket
 * shared, and closing a bill takes it exclusively. Usage stored before a close is on that bill.
 * Usage stored later sees the next bill (INVARIANT-4). SQL, because the typed client has no locks.
 */
import type { Transaction } from "../database/pool.ts";

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
export const bucketText = (id: string): string =>
  `(get_byte(uuid_send(${id}), 14) * 256 + get_byte(uuid_send(${id}), 15)) % ${bucketCount}`;

/**
 * SQL that takes the buckets shared until the transaction ends. It has no parameters, so that it
 * can be sent in one message after BEGIN. It holds only whole numbers.
 */
export function lockToStore(subscriptionIds: Iterable<string>): string {
  return lockText("pg_advisory_xact_lock_shared", bucketsOf(subscriptionIds));
}

/**
 * Takes the buckets shared until the transaction ends, except those that a bill has or waits for.
 * Returns these.
 */
export async function tryLockToStore(
  client: Transaction,
  subscriptionIds: Iterable<string>,
): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ bucket: number }>(
    `SELECT b AS bucket FROM unnest('{${bucketsOf(subscriptionIds).join(",")}}'::int[]) AS b
      WHERE NOT pg_try_advisory_xact_lock_shared(${usageLockClass}, b)`,
  );
  return new Set(rows.map(({ bucket }) => bucket));
}

// Plans made while the tables were small would scan grown tables. From here on the transaction uses
// indexes.
const readByIndex = "SET LOCAL enable_seqscan = off";

/** Reads usage without a lock, in a snapshot. Usage that is stored meanwhile is not in it. */
export async function readUnlocked(client: Transaction): Promise<void> {
  await client.query(readByIndex);
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
  await client.query(
    `${readByIndex}; ${lockText("pg_advisory_xact_lock", bucketsOf(subscriptionIds))}`,
  );
}

/** SQL that takes the locks and returns one row with their count, not one row for each lock. */
function lockText(lock: string, buckets: readonly number[]): string {
  return `SELECT count(${lock}(${usageLockClass}, b))
    FROM (SELECT unnest('{${buckets.join(",")}}'::int[]) AS b ORDER BY b OFFSET 0) buckets`;
}
