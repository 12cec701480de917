/**
 * Takes due subscriptions for a chunk of the billing run: it locks their rows. A chunk locks the
 * usage of its subscriptions as well, and two chunks of different organisations often need a common
 * bucket. So a chunk prefers subscriptions whose buckets are free. SQL, because it locks.
 */
import { columns } from "../../gen/columns.ts";
import type { Transaction } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { performable } from "./due-organisations.ts";
import { bucketText, usageLockClass } from "./usage-locks.ts";

const isDue = sql`s.due_at <= $2 AND ${performable}`;
const locked = sql`FOR NO KEY UPDATE OF s SKIP LOCKED`;

/** Declares what takes subscriptions that are due, and returns their ids. */
function take<Which extends readonly unknown[]>(name: string, text: Sql) {
  const read = query({ name, planned: "once", text, row: pick(columns.subscription, "id") });
  return async (client: Transaction, organisationId: string, now: Date, ...which: Which) => {
    const rows = await read(client, organisationId, now, ...which);
    return rows.map(({ id }) => id);
  };
}

/** Takes subscriptions that are due, earliest due first, and skips locked rows. */
export const takeInOrder = take<[limit: number]>(
  "take_due_in_order",
  sql`SELECT s.id FROM subscriptions s
    WHERE s.organisation_id = $1 AND ${isDue}
    ORDER BY s.due_at, s.id LIMIT $3 ${locked}`,
);

/** Takes those of these subscriptions that are due, and skips locked rows. */
export const takeAmong = take<[ids: readonly string[]]>(
  "take_due_among",
  sql`SELECT s.id FROM subscriptions s
    WHERE s.organisation_id = $1 AND ${isDue} AND s.id = ANY ($3::uuid[])
    ORDER BY s.due_at, s.id ${locked}`,
);

/** Of so many times the limit those with free buckets are preferred. */
const window = 5;

// Buckets are taken before rows here. Neither is waited for, so no two transactions deadlock. A
// subscription without meters needs no bucket. Its plan's meters are the ones that are billed.
const free = take<[preferred: number, limit: number]>(
  "take_due_free",
  sql`
    SELECT c.id
    FROM
      (
        SELECT s.id, s.plan_id
        FROM subscriptions s
        WHERE s.organisation_id = $1 AND ${isDue}
        ORDER BY s.due_at, s.id
        LIMIT $3 OFFSET 0
      ) c
    WHERE
      CASE
        WHEN EXISTS (
          SELECT
          FROM plan_meters p
          WHERE p.organisation_id = $1 AND p.plan_id = c.plan_id
        ) THEN pg_try_advisory_xact_lock(${usageLockClass}, ${bucketText(sql`c.id`)})
        ELSE true
      END
    LIMIT $4
  `,
);

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
  const ids = await free(client, organisationId, now, window * limit, limit);
  return ids.length === 0 ? [] : takeAmong(client, organisationId, now, ids);
}
