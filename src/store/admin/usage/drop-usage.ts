/**
 * Exports usage events that bills have taken, each as a line of JSON, and drops exported ones, of
 * which the ids stay (USAGE-18). Each line of a drop must be the stored event still, its bill must
 * exist, and the sum of its bill must equal its events before the first of them is dropped. SQL,
 * because it compares lines and sums.
 */
import { Refusal } from "../../../domain/refusal.ts";
import { columns } from "../../../gen/columns.ts";
import { shareOrganisation } from "../../billing/locked-subscription.ts";
import { lockName } from "../../database/lock-order.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { readByIndex } from "../../database/read-by-index.ts";
import { bool, pick, text } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { type Changed, changed } from "../changes.ts";

/** Lines of an export by the ids of their events. `events`, `checksum`: of the whole export. */
export interface DropToSave {
  readonly lines: ReadonlyMap<string, string>;
  readonly events: string;
  readonly checksum: string;
  readonly reason: string;
}

const inUtc = sql`AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** The line of event `e`. */
const usageLine = sql`json_strip_nulls(json_build_object('id', e.event_id,
  'subscription', e.subscription_id, 'meter', e.meter_id, 'period', e.period_index, 'bill', e.bill,
  'quantity', e.quantity::text, 'timestamp', to_char(e.occurred_at ${inUtc}),
  'received', to_char(e.created_at ${inUtc}), 'voided_at', to_char(e.voided_at ${inUtc}),
  'void_reason', e.void_reason))::text`;

/**
 * Whether event `e` of subscription `s` can be dropped: its bill exists, and sums have counted the
 * usage from before they were introduced.
 */
const isDroppable = sql`(e.bill < s.usage_billed AND NOT EXISTS (
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

/**
 * Returns the lines of events before an instant that a bill has taken, after this id. `next`: the
 * last event that was read, null after the last.
 */
export async function exportUsage(
  pool: Pool,
  organisationId: string,
  before: Date,
  after: string | null,
) {
  const rows = await loadPage(pool, organisationId, after, before);
  const lines = rows.flatMap(({ line }) => line ?? []);
  const next = rows.length < pageSize ? null : (rows.at(-1)?.eventId ?? null);
  return { lines, next };
}

/** The class of the advisory lock on the dropped ids of an organisation: "drop" in ASCII. */
const lockClass = 0x64726f70;

// A subscription's events of a bill that exists change no more, so their count needs no lock.

const findStates = query({
  name: "find_usage_to_drop",
  planned: "each time",
  text: sql`
    SELECT
      r.id AS event_id,
      coalesce(e.line = r.line, false) AS is_equal,
      coalesce(e.is_droppable, false) AS is_droppable,
      e.line IS NULL AND is_dropped_usage($1, r.id) AS is_dropped
    FROM
      unnest($2::text[], $3::text[]) AS r (id, line)
      LEFT JOIN LATERAL (
        SELECT ${usageLine} AS line, ${isDroppable} AS is_droppable
        FROM
          usage_events e
          JOIN subscriptions s ON s.organisation_id = $1 AND s.id = e.subscription_id
        WHERE e.organisation_id = $1 AND e.event_id = r.id
        LIMIT 1
      ) e
        ON true
  `,
  row: {
    eventId: text.orNull(),
    isEqual: bool.orNull(),
    isDroppable: bool.orNull(),
    isDropped: bool.orNull(),
  },
});

// A bill that exists has the number of its events too. Events are counted once a sum: before the
// first is dropped.
const findDifference = query({
  name: "find_difference_before_drop",
  planned: "each time",
  text: sql`
    SELECT g.subscription_id, g.bill, g.period_index
    FROM
      (
        SELECT DISTINCT e.subscription_id, e.bill, e.period_index, e.meter_id
        FROM
          unnest($2::text[]) AS r (id)
          CROSS JOIN LATERAL (
            SELECT *
            FROM usage_events e
            WHERE e.organisation_id = $1 AND e.event_id = r.id AND e.voided_at IS NULL
            LIMIT 1
          ) e
      ) g
      LEFT JOIN usage_sums u
        ON (u.subscription_id, u.bill, u.period_index, u.meter_id) = (
          g.subscription_id, g.bill, g.period_index, g.meter_id
        )
        AND u.organisation_id = $1
      LEFT JOIN usage_bills b
        ON (b.subscription_id, b.bill, b.period_index, b.meter_id) = (
          g.subscription_id, g.bill, g.period_index, g.meter_id
        )
        AND b.organisation_id = $1
      CROSS JOIN LATERAL (
        SELECT count(*) AS events, sum(e.quantity) AS quantity
        FROM usage_events e
        WHERE
          u.dropped_events = 0
          AND e.subscription_id = g.subscription_id
          AND e.bill = g.bill
          AND e.period_index = g.period_index
          AND e.meter_id = g.meter_id
          AND e.voided_at IS NULL
      ) e
    WHERE
      (u.events, u.quantity) IS DISTINCT FROM (b.events, b.quantity)
      OR u.dropped_events = 0
      AND (u.events, u.quantity) IS DISTINCT FROM (e.events, e.quantity)
    LIMIT 1
  `,
  row: pick(columns.usageSum, "subscriptionId", "bill", "periodIndex"),
});

const keepIds = command({
  name: "keep_usage_ids",
  text: sql`SELECT FROM keep_usage_ids($1, $2)`,
});

const deleteEvents = command({
  name: "drop_usage_events",
  planned: "each time",
  text: sql`DELETE FROM usage_events WHERE organisation_id = $1 AND event_id = ANY ($2)`,
});

/**
 * Drops the events of these lines in the transaction. Returns how many, and how many an earlier
 * call had dropped (`before`). Lines whose events were dropped before are
 * left out, so that a drop that was broken off goes on. Refuses `invalid_state`.
 */
export async function saveDrop(
  tx: Transaction,
  organisationId: string,
  { lines, events, checksum, reason }: DropToSave,
): Promise<Changed<{ readonly dropped: number; readonly before: number }>> {
  await shareOrganisation(tx, organisationId);
  await lockName(tx, lockClass, organisationId);
  await readByIndex(tx);
  const given = [[...lines.keys()], [...lines.values()]];
  const states = await findStates(tx, organisationId, ...given);
  const stored = states.filter(({ isDropped }) => isDropped !== true);
  for (const { eventId, isEqual, isDroppable } of stored) {
    if (isEqual !== true) throw notAsExported(eventId);
    if (isDroppable !== true)
      throw new Refusal("invalid_state", `The event ${eventId} is on no bill yet.`);
  }
  const ids = stored.flatMap(({ eventId }) => eventId ?? []);
  const result = { dropped: ids.length, before: states.length - ids.length };
  if (ids.length === 0) return changed(result);
  const [difference] = await findDifference(tx, organisationId, ids);
  if (difference !== undefined) throw differs(difference);
  await keepIds(tx, organisationId, ids);
  await deleteEvents(tx, organisationId, ids);
  const dropped = { droppedUsageEvents: ids.length, first: ids[0], last: ids.at(-1) };
  return changed(result, {
    targetKind: "organisation",
    targetId: organisationId,
    organisationId,
    before: null,
    after: { ...dropped, exportedEvents: events, exportChecksum: checksum, reason },
  });
}

function notAsExported(eventId: string | null): Refusal {
  return new Refusal("invalid_state", `No event ${eventId} is stored as it was exported.`);
}

function differs({
  subscriptionId,
  bill,
  periodIndex,
}: {
  readonly subscriptionId: string;
  readonly bill: number;
  readonly periodIndex: number;
}): Refusal {
  const place = `bill ${bill} and period ${periodIndex} of subscription ${subscriptionId}`;
  const message = `The sum of ${place} differs from its events or its bill. Nothing was dropped.`;
  return new Refusal("invalid_state", message);
}
