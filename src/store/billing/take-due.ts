/**
 * Takes due subscriptions for a chunk of the billing run: it locks their rows. A chunk locks the
 * usage of its subscriptions as well, and two chunks of different organisations often need a common
 * bucket. So a chunk prefers subscriptions whose buckets are free. SQL, because it locks.
 */
import { statementName } from "../database/page.ts";
import type { Transaction } from "../database/pool.ts";
import { performable } from "./due-organisations.ts";
import { bucketText, usageLockClass } from "./usage-locks.ts";

/** What to take. */
interface DueOrder {
  readonly organisationId: string;
  readonly now: Date;
  /** Take only these. Null means any. */
  readonly among: readonly string[] | null;
  readonly limit: number;
}

const takeText = `SELECT s.id FROM subscriptions s
  WHERE s.organisation_id = $1 AND s.due_at <= $2 AND ($4::uuid[] IS NULL OR s.id = ANY ($4))
    AND ${performable}
  ORDER BY s.due_at, s.id LIMIT $3 FOR NO KEY UPDATE OF s SKIP LOCKED`;

/** Takes the subscriptions that are due, earliest due first, and skips locked rows. */
export async function takeDue(
  client: Transaction,
  { organisationId, now, among, limit }: DueOrder,
): Promise<readonly string[]> {
  const values = [organisationId, now, limit, among];
  const { rows } = await client.query<{ id: string }>({
    name: statementName(takeText),
    text: takeText,
    values,
  });
  return rows.map(({ id }) => id);
}

/** Of so many times the limit those with free buckets are preferred. */
const window = 5;

// Buckets are taken before rows here. Neither is waited for, so no two transactions deadlock. A
// subscription without meters needs no bucket. Its plan's meters are the ones that are billed.
const freeText = `SELECT c.id FROM (
    SELECT s.id, s.plan_id FROM subscriptions s
    WHERE s.organisation_id = $1 AND s.due_at <= $2 AND ${performable}
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
  const { rows } = await client.query<{ id: string }>({
    name: statementName(freeText),
    text: freeText,
    values: [organisationId, now, window * limit, limit],
  });
  const among = rows.map(({ id }) => id);
  if (among.length === 0) return [];
  return takeDue(client, { organisationId, now, among, limit });
}
