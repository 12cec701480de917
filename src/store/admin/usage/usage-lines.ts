/**
 * A stored usage event as one line of JSON, and a page of those that a bill has taken, for an
 * export (USAGE-18). SQL, because the database compares the lines of a drop with its own.
 */
import type { Pool } from "../../database/pool.ts";
import { text } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";

const inUtc = sql`AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** The line of event `e`. */
export const usageLine = sql`json_strip_nulls(json_build_object('id', e.event_id,
  'subscription', e.subscription_id, 'meter', e.meter_id, 'period', e.period_index, 'bill', e.bill,
  'quantity', e.quantity::text, 'timestamp', to_char(e.occurred_at ${inUtc}),
  'received', to_char(e.created_at ${inUtc}), 'voided_at', to_char(e.voided_at ${inUtc}),
  'void_reason', e.void_reason))::text`;

/**
 * Whether event `e` of subscription `s` can be dropped: its bill exists, and sums have counted the
 * usage from before they were introduced.
 */
export const isDroppable = sql`(e.bill < s.usage_billed AND NOT EXISTS (
  SELECT FROM unsummed_usage q WHERE q.organisation_id = s.organisation_id
    AND q.subscription_id = s.id))`;

/** Events that a page reads. It returns those that can be dropped. */
const pageSize = 1_000;

// The order of the primary key. Null is before the first id.
const loadPage = query({
  name: "export_usage_events",
  planned: "each time",
  text: sql`
    SELECT
      e.event_id,
      CASE WHEN e.occurred_at < $3::timestamptz AND ${isDroppable} THEN ${usageLine} END AS line
    FROM
      (
        SELECT *
        FROM usage_events
        WHERE organisation_id = $1 AND ($2::text IS NULL OR event_id > $2)
        ORDER BY event_id
        LIMIT ${pageSize}
      ) e
      JOIN subscriptions s ON s.organisation_id = $1 AND s.id = e.subscription_id
    ORDER BY e.event_id
  `,
  row: { eventId: text.orNull(), line: text.orNull() },
});

/** Lines of events. `next`: the last event that was read, null after the last. */
export interface ExportedUsage {
  readonly lines: readonly string[];
  readonly next: string | null;
}

/** Returns the events before an instant that a bill has taken, after this id. */
export async function exportUsage(
  pool: Pool,
  organisationId: string,
  before: Date,
  after: string | null,
): Promise<ExportedUsage> {
  const rows = await loadPage(pool, organisationId, after, before);
  const lines = rows.flatMap(({ line }) => line ?? []);
  const next = rows.length < pageSize ? null : (rows.at(-1)?.eventId ?? null);
  return { lines, next };
}
