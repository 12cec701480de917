/**
 * The sums of usage, which triggers keep as events are stored and voided. Usage from before they
 * were introduced is summed after the migration, in batches. SQL: it sums and locks.
 */
import { columns } from "../../gen/columns.ts";
import { createPool, inTransaction, type Pool } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { lockToBill } from "./usage-locks.ts";

// The index of these events lacks the organisation, but `s` is the organisation's.
const isOpen = sql`e.subscription_id = s.id AND e.bill >= s.usage_billed
  AND e.voided_at IS NULL`;

const counted = sql`e.bill, e.period_index, e.meter_id, count(*) AS events,
    sum(e.quantity) AS quantity`;

const groups = sql`GROUP BY e.bill, e.period_index, e.meter_id`;

const isUnsummed = sql`EXISTS (SELECT FROM unsummed_usage q
    WHERE q.organisation_id = s.organisation_id AND q.subscription_id = s.id)`;

/**
 * SQL of the usage of subscription `s` that is on no bill yet, as rows of `bill`, `period_index`,
 * `meter_id`, `events` and `quantity`. Usage that is not summed yet is read from its events.
 */
export const openUsage = sql`(
  SELECT u.bill, u.period_index, u.meter_id, u.events, u.quantity FROM usage_sums u
  WHERE u.organisation_id = s.organisation_id AND u.subscription_id = s.id
    AND u.bill >= s.usage_billed AND u.events > 0 AND NOT ${isUnsummed}
  UNION ALL SELECT ${counted} FROM usage_events e WHERE ${isOpen} AND ${isUnsummed} ${groups})`;

// Nobody waits for these rows.
const take = query({
  name: "take_unsummed_usage",
  text: sql`
    SELECT organisation_id, subscription_id
    FROM unsummed_usage
    ORDER BY subscription_id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
  `,
  row: columns.unsummedUsage,
});

const forget = command({
  name: "forget_usage_sums",
  text: sql`
    DELETE FROM usage_sums
    WHERE organisation_id = ANY ($1::uuid[]) AND subscription_id = ANY ($2::uuid[])
  `,
});

const setSummed = command({
  name: "set_usage_summed",
  text: sql`
    DELETE FROM unsummed_usage
    WHERE organisation_id = ANY ($1::uuid[]) AND subscription_id = ANY ($2::uuid[])
  `,
});

// A bill that exists has the sum of its events, which never change.
const insertSums = command({
  name: "sum_earlier_usage",
  planned: "each time",
  text: sql`INSERT INTO usage_sums (organisation_id, subscription_id, bill, period_index,
    meter_id, events, quantity)
  SELECT s.organisation_id, s.id, e.bill, e.period_index, e.meter_id, e.events, e.quantity
  FROM subscriptions s CROSS JOIN LATERAL (
    SELECT b.bill, b.period_index, b.meter_id, b.events, b.quantity FROM usage_bills b
    WHERE b.organisation_id = s.organisation_id AND b.subscription_id = s.id
      AND b.bill < s.usage_billed
    UNION ALL SELECT ${counted} FROM usage_events e WHERE ${isOpen} ${groups}) e
  WHERE s.organisation_id = ANY ($1::uuid[]) AND s.id = ANY ($2::uuid[])`,
});

/**
 * Sums the earlier usage of so many subscriptions, in one transaction. Their usage is locked as for
 * a bill, so that no event is stored or voided meanwhile, and what triggers have summed of it is
 * replaced. Returns how many it summed, zero once all are.
 */
export function sumEarlierBatch(pool: Pool, limit: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    const taken = await take(client, limit);
    const ids = taken.map(({ subscriptionId }) => subscriptionId);
    const organisationIds = taken.map(({ organisationId }) => organisationId);
    await lockToBill(client, ids);
    await forget(client, organisationIds, ids);
    await insertSums(client, organisationIds, ids);
    await setSummed(client, organisationIds, ids);
    return ids.length;
  });
}

/** Reports of as many subscriptions wait for a batch: milliseconds for most. */
const batchSize = 50;

/** A batch with the open usage of a subscription of billions of events takes this long at most. */
const statementTimeoutMs = 3_600_000;

/**
 * Sums all usage from before the sums were introduced. Several processes may do so at once, beside
 * those that serve. What a killed one has not summed is left to the next.
 */
export async function sumEarlierUsage(
  databaseUrl: string,
  log: (line: string) => void,
): Promise<void> {
  const settings = { databaseUrl, size: 1, name: "billing migrate", statementTimeoutMs };
  const pool = createPool(settings, () => undefined);
  try {
    let summed = 0;
    for (let taken = -1; taken !== 0; summed += taken)
      taken = await sumEarlierBatch(pool, batchSize);
    if (summed > 0) log(`summed the earlier usage of ${summed} subscriptions`);
  } finally {
    await pool.end();
  }
}
