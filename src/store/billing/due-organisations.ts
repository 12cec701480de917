/**
 * Finds organisations with something due, and counts what is due and what is parked. SQL, because
 * it reads over all organisations by the database's clock, and counts.
 */
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { int, pick, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";

/** SQL: due subscription `s` can be billed now. A running end bills its subscription itself. */
export const performable = sql`(s.parked_until IS NULL OR s.parked_until <= now()) AND NOT EXISTS (
    SELECT 1 FROM ledger_jobs e WHERE e.organisation_id = s.organisation_id
      AND e.subscription_id = s.id
      AND e.kind = 'end_subscription' AND e.state IN ('ready', 'sending', 'uncertain'))`;

/**
 * SQL: organisation `o` has an advancing test clock. The clock bills its organisation itself, at
 * each due instant on the way.
 */
export const advancing = sql`EXISTS (SELECT 1 FROM clock_advances a WHERE a.organisation_id = o.id
  AND a.finished_at IS NULL)`;

const findDue = query({
  name: "find_due_organisations",
  text: sql`
    SELECT o.id
    FROM organisations o
    WHERE
      ($1::uuid IS NULL OR o.id > $1)
      AND NOT ${advancing}
      AND (
        SELECT s.id
        FROM subscriptions s
        WHERE
          s.organisation_id = o.id
          AND s.due_at <= coalesce(o.test_clock, now())
          AND ${performable}
        ORDER BY s.organisation_id, s.due_at
        LIMIT 1
      ) IS NOT NULL
    ORDER BY o.id
    LIMIT $2
  `,
  row: pick(columns.organisation, "id"),
});

/**
 * Up to `limit` organisations with something due by their own clocks, by rising id after `after`.
 * It reads across organisations and returns ids only. The earliest due subscription of each is
 * looked up by index: EXISTS is a join, for which PostgreSQL may read everything that is due.
 */
export async function findDueOrganisations(
  pool: Pool,
  after: string | null,
  limit: number,
): Promise<readonly string[]> {
  const rows = await findDue(pool, after, limit);
  return rows.map(({ id }) => id);
}

const countsRow = { due: int, parked: int };

/** How many subscriptions are due and how many are parked. */
export type BillingCounts = RowOf<typeof countsRow>;

const count = query({
  name: "count_due",
  text: sql`
    SELECT
      (
        SELECT count(*)::int
        FROM subscriptions s
        WHERE
          s.organisation_id = o.id
          AND s.due_at <= coalesce(o.test_clock, now())
          AND ${performable}
      ) AS due,
      (
        SELECT count(*)::int
        FROM subscriptions s
        WHERE s.organisation_id = o.id AND s.parked_until IS NOT NULL
      ) AS parked
    FROM organisations o
    WHERE o.id = $1
  `,
  row: countsRow,
});

/** Counts subscriptions that are due by the organisation's clock and billable, and parked ones. */
export async function countDue(executor: Executor, organisationId: string): Promise<BillingCounts> {
  const [row] = await count(executor, organisationId);
  return row ?? { due: 0, parked: 0 };
}
