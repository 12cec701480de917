/**
 * Counts accepted usage events by hour, a minute after they were stored: a transaction that stores
 * events has ended by then. Each event is counted once. ADMIN-19
 *
 * SQL: one statement counts the events of all organisations, by the block index of `recorded_at`.
 */
import { inTransaction, type Pool } from "../database/pool.ts";
import { dbOfAll } from "../database/prisma/client.ts";
import { bool, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";

/** The instants as text, because a number of JavaScript has milliseconds only. */
const takeStep = query({
  name: "take_usage_hours",
  text: sql`
    SELECT
      c.until::text AS since,
      least(c.until + interval '1 hour', now() - interval '1 minute')::text AS until,
      c.until + interval '1 hour' < now() - interval '1 minute' AS has_more
    FROM usage_hours_counted c
    WHERE c.until < now() - interval '1 minute'
    FOR UPDATE SKIP LOCKED
  `,
  row: { since: text, until: text, hasMore: bool },
});

const count = command({
  name: "count_usage_hours",
  planned: "each time",
  text: sql`
    INSERT INTO usage_hours AS h (organisation_id, hour, events)
    SELECT e.organisation_id, date_trunc('hour', e.recorded_at, 'UTC'), count(*)
    FROM usage_events e
    WHERE e.recorded_at >= $1::timestamptz AND e.recorded_at < $2::timestamptz
    GROUP BY 1, 2
    ORDER BY 1, 2
    ON CONFLICT (organisation_id, hour) DO UPDATE SET events = h.events + excluded.events
  `,
});

const endStep = command({
  name: "end_usage_hours",
  text: sql`UPDATE usage_hours_counted SET until = $1::timestamptz`,
});

/** Longer than the days that are shown. */
const keptMs = 31 * 24 * 60 * 60 * 1_000;

/** Counts the next hour at most, and returns whether another one is to be counted. */
export async function countUsageHours(pool: Pool): Promise<boolean> {
  return inTransaction(
    pool,
    async (tx) => {
      const [step] = await takeStep(tx);
      if (step === undefined) return false;
      await count(tx, step.since, step.until);
      await endStep(tx, step.until);
      const old = { hour: { lt: new Date(Date.now() - keptMs) } };
      if (!step.hasMore) await dbOfAll(tx).usageHour.deleteMany({ where: old });
      return step.hasMore;
    },
    "BEGIN; SET LOCAL enable_seqscan = off",
  );
}
