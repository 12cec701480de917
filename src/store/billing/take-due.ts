/**
 * Takes due subscriptions for a chunk of the billing run: it locks their rows. A chunk locks the
 * usage of its subscriptions as well, and two chunks of different organisations often need a common
 * bucket. So a chunk prefers subscriptions whose buckets are free. SQL, because it locks.
 */
import { plannedOnce } from "../database/planned-once.ts";
import type { Transaction } from "../database/pool.ts";
import { performable } from "./due-organisations.ts";
import { bucketText, usageLockClass } from "./usage-locks.ts";

const dueText = `s.due_at <= $2 AND ${performable}`;
const lockText = "FOR NO KEY UPDATE OF s SKIP LOCKED";

const inOrderText = `SELECT s.id FROM subscriptions s
  WHERE s.organisation_id = $1 AND ${dueText}
  ORDER BY s.due_at, s.id LIMIT $3 ${lockText}`;

/** Takes subscriptions that are due, earliest due first, and skips locked rows. */
export function takeInOrder(
  client: Transaction,
  organisationId: string,
  now: Date,
  limit: number,
): Promise<readonly string[]> {
  return idsOf(client, inOrderText, [organisationId, now, limit]);
}

const amongText = `SELECT s.id FROM subscriptions s
  WHERE s.organisation_id = $1 AND ${dueText} AND s.id = ANY ($3::uuid[])
  ORDER BY s.due_at, s.id ${lockText}`;

/** Takes those of these subscriptions that are due, and skips locked rows. */
export function takeAmong(
  client: Transaction,
  organisationId: string,
  now: Date,
  ids: readonly string[],
): Promise<readonly string[]> {
  return idsOf(client, amongText, [organisationId, now, ids]);
}

/** Of so many times the limit those with free buckets are preferred. */
const window = 5;

// Buckets are taken before rows here. Neither is waited for, so no two transactions deadlock. A
// subscription without meters needs no bucket. Its plan's meters are the ones that are billed.
const freeText = `SELECT c.id FROM (
    SELECT s.id, s.plan_id FROM subscriptions s WHERE s.organisation_id = $1 AND ${dueText}
    ORDER BY s.due_at, s.id LIMIT $3 OFFSET 0) c
  WHERE CASE WHEN EXISTS (SELECT FROM plan_meters p WHERE p.organisation_id = $1
      AND p.plan_id = c.plan_id)
    THEN pg_try_advisory_xact_lock(${usageLockClass}, ${bucketText("c.id")}) ELSE true END
  LIMIT $4`;

/**
 * Takes due subscriptions whose buckets are free, among the earliest due, and takes the buckets.
 * If it takes none, the transaction must end before any lock is waited for.
 */
export async function takeFree(
  client: Transaction,
  organisationId: string,
  now: Date,
  limit: number,
): Promise<readonly string[]> {
  const ids = await idsOf(client, freeText, [organisationId, now, window * limit, limit]);
  return ids.length === 0 ? [] : takeAmong(client, organisationId, now, ids);
}

async function idsOf(
  client: Transaction,
  text: string,
  values: readonly unknown[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(plannedOnce({ text, values: [...values] }));
  return rows.map(({ id }) => id);
}
