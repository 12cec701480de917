/**
 * The lock between who stores usage and who bills it: a subscription's bucket, held shared by those who store, alone by who closes a bill.
 * Whatever is stored before a close is in it, whatever comes after it sees the next bill.
 */
import type { Client } from "../documents/issue-documents.ts";

/** The first key of these advisory locks, so that they meet no others: "usag" in ASCII. */
const lockClass = 0x75736167;

/**
 * How many buckets there are: few enough that any number of batches fits PostgreSQL's table of locks (6,400 with its defaults), and so many
 * that two subscriptions seldom share one. facts-performance §3.4.
 */
const bucketCount = 1024;

/** The buckets of these subscriptions, each once, rising: the order in which everybody takes them. */
function bucketsOf(subscriptionIds: Iterable<string>): readonly number[] {
  const buckets = new Set<number>();
  // The last digits are random in every version of UUID that is made here.
  for (const id of subscriptionIds) buckets.add(Number.parseInt(id.slice(-4), 16) % bucketCount);
  return [...buckets].sort((left, right) => left - right);
}

/**
 * SQL that takes the buckets shared until the transaction ends. A text without parameters, so that it can go to the database in one message with
 * the BEGIN before it: it holds whole numbers only.
 */
export function lockToStore(subscriptionIds: Iterable<string>): string {
  return lockText("pg_advisory_xact_lock_shared", bucketsOf(subscriptionIds));
}

// Sums planned over tables with little in them would read whole ones once these have grown: from here on the transaction uses indexes.
const readByIndex = "SET LOCAL enable_seqscan = off";

/** Takes the buckets alone until the transaction ends; after the rows of the subscriptions, before their usage is read. */
export async function lockToBill(client: Client, subscriptionIds: readonly string[]): Promise<void> {
  if (subscriptionIds.length === 0) return;
  await client.query(`${readByIndex}; ${lockText("pg_advisory_xact_lock", bucketsOf(subscriptionIds))}`);
}

/** Counted, so that it answers one row and not one for each lock. */
function lockText(lock: string, buckets: readonly number[]): string {
  return `SELECT count(${lock}(${lockClass}, b)) FROM (SELECT unnest('{${buckets.join(",")}}'::int[]) AS b ORDER BY b OFFSET 0) buckets`;
}
