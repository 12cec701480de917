/**
 * Sends all events again that an endpoint has missed. The write is in one transaction with its log
 * entry. The deliveries are due at once. SQL, because one statement writes thousands of them.
 */
import { Refusal } from "../../../domain/refusal.ts";
import { columns } from "../../../gen/columns.ts";
import { newId } from "../../database/ids.ts";
import { lockName } from "../../database/lock-order.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { readByIndex } from "../../database/read-by-index.ts";
import { int, pick } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { type Changed, changed } from "../changes.ts";

/** A test event for an endpoint. `eventId` is new, or that of an earlier try of the same call. */
export interface TestToSend {
  readonly endpointId: string;
  readonly eventId: string;
}

/** The refusal to send something to an endpoint that is disabled. */
export function disabled(): Refusal {
  return new Refusal("invalid_state", "The endpoint is disabled: enable it first.");
}

/**
 * The events to send to an endpoint again: those since an instant, and before `until`.
 * `includeDelivered` includes delivered ones. With `afterEvent`, only events after that one. An
 * empty list of kinds stands for all.
 */
export interface EventsToResend {
  readonly endpointId: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly kinds: readonly string[];
  readonly includeDelivered: boolean;
  readonly afterEvent: string | null;
}

/** The first key of the advisory lock, which separates it from others: "rsnd" in ASCII. */
const lockClass = 0x72736e64;

// Without statistics of the tables, the planner would read and sort all of them for each page.
const readInOrder = command({
  name: "read_events_in_order",
  text: sql`SET LOCAL enable_bitmapscan = off`,
});

/**
 * Events in a statement. It takes tens of milliseconds, a few hundred if all of them must be sent.
 */
const pageSize = 2_000;

/**
 * Statements in a call. They take a few seconds at most, which bounds the caller's wait and the
 * lock.
 */
const pageLimit = 10;

// Events are deleted after 30 days, so those close to that age are left out. Pending deliveries are
// not locked, so that no attempt waits for this statement.
const resendPage = query({
  name: "resend_missed_events",
  planned: "each time",
  text: sql`
    WITH
      page AS MATERIALIZED (
        SELECT id, seq, type, object_kind, created_at
        FROM events
        WHERE organisation_id = $1 AND seq > $3 AND seq <= $8::bigint
        ORDER BY seq
        LIMIT $4
      ),
      wanted AS (
        SELECT p.id AS event_id, p.seq
        FROM
          page p
          JOIN webhook_endpoints w ON w.organisation_id = $1 AND w.id = $2
        WHERE
          p.created_at >= greatest($5, now() - interval '29 days 23 hours')
          AND p.object_kind <> 'webhook_endpoint'
          AND (cardinality(w.kinds) = 0 OR p.type = ANY (w.kinds))
          AND p.created_at < $9
          AND (cardinality($10::text[]) = 0 OR p.type = ANY ($10::text[]))
      ),
      standing AS MATERIALIZED (
        SELECT w.event_id, w.seq, d.id, d.state
        FROM
          wanted w
          LEFT JOIN LATERAL (
            SELECT d.id, d.state
            FROM webhook_deliveries d
            WHERE d.organisation_id = $1 AND d.event_id = w.event_id AND d.endpoint_id = $2
            LIMIT 1
          ) d
            ON true
      ),
      resent AS (
        UPDATE webhook_deliveries d
        SET
          state = 'pending',
          began_at = now(),
          due_at = now(),
          claimed_until = NULL,
          finished_at = NULL
        FROM standing s
        WHERE
          d.organisation_id = $1
          AND d.id = s.id
          AND s.state = ANY ($6::text[])
          AND d.state = ANY ($6::text[])
        RETURNING 1
      ),
      missed AS (
        SELECT event_id, row_number() OVER (ORDER BY seq) AS place FROM standing WHERE id IS NULL
      ),
      added AS (
        INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id)
        SELECT n.id, $1, m.event_id, $2
        FROM
          missed m
          JOIN unnest($7::uuid[]) WITH ORDINALITY AS n (id, place) USING (place)
        ORDER BY place
        ON CONFLICT (event_id, endpoint_id) DO NOTHING
        RETURNING 1
      )
    SELECT
      (SELECT count(*)::int FROM resent) AS resent,
      (SELECT count(*)::int FROM added) AS added,
      (SELECT count(*)::int FROM page) AS found,
      l.seq, l.id
    FROM (SELECT seq, id FROM page ORDER BY seq DESC LIMIT 1) l
  `,
  /** The counts of a page, and its last event. */
  row: { ...pick(columns.event, "seq", "id"), resent: int, added: int, found: int },
});

/**
 * Makes the deliveries of the next 20,000 events pending, and adds missing ones. Null if the
 * organisation has no such endpoint. Refuses `invalid_parameter`, param `after_event`.
 */
export async function resendSince(
  tx: Transaction,
  organisationId: string,
  events: EventsToResend,
): Promise<Changed<Awaited<ReturnType<typeof resendPages>> | null>> {
  const id = events.endpointId.toLowerCase();
  await readByIndex(tx);
  await readInOrder(tx);
  // One call at a time: two calls would deadlock on each other's rows.
  await lockName(tx, lockClass, id);
  const where = { organisationId, id };
  const endpoint = await db(tx).webhookEndpoint.findFirst({ where, select: { status: true } });
  if (endpoint === null) return changed(null);
  if (endpoint.status !== "enabled") throw disabled();
  const result = await resendPages(tx, organisationId, events);
  const { resent, added } = result;
  if (resent + added === 0) return changed(result);
  const { since: resentSince, until, kinds, includeDelivered } = events;
  return changed(result, {
    targetKind: "webhook_endpoint",
    targetId: id,
    organisationId,
    before: {},
    after: {
      resentSince,
      ...(until === null ? {} : { resentUntil: until }),
      ...(kinds.length === 0 ? {} : { resentKinds: kinds }),
      includeDelivered,
      resent,
      added,
    },
  });
}

/**
 * Returns the counts of deliveries that are pending again and that were added. `lastEvent`: events
 * after it remain. Null if none do.
 */
async function resendPages(
  tx: Transaction,
  organisationId: string,
  { endpointId, since, until, kinds, includeDelivered, afterEvent }: EventsToResend,
) {
  const states = ["exhausted", "cancelled", ...(includeDelivered ? ["delivered"] : [])];
  let [resent, added] = [0, 0];
  let from = String(
    afterEvent === null
      ? await seqBefore(tx, organisationId, new Date(since.getTime() - overlapMs))
      : await seqOf(tx, organisationId, afterEvent),
  );
  const end = until ?? endOfTime;
  const to = String(await seqBefore(tx, organisationId, new Date(end.getTime() + overlapMs)));
  for (let pages = 1; ; pages += 1) {
    const ids = Array.from({ length: pageSize }, () => newId());
    const [page] = await resendPage(
      tx,
      organisationId,
      endpointId,
      from,
      pageSize,
      since,
      states,
      ids,
      to,
      end,
      kinds,
    );
    if (page === undefined) return { resent, added, lastEvent: null };
    resent += page.resent;
    added += page.added;
    if (page.found < pageSize) return { resent, added, lastEvent: null };
    if (pages === pageLimit) return { resent, added, lastEvent: page.id };
    from = page.seq;
  }
}

/** After every event. */
const endOfTime = new Date("9999-01-01T00:00:00Z");

/**
 * How much earlier and later than the requested instants events are read. Transactions commit in
 * a slightly different order than they begin.
 */
const overlapMs = 60_000;

/**
 * Returns the number of the last event before an instant, 0 for none. It scans from the newest
 * event backwards, so that older events are not read.
 */
async function seqBefore(tx: Transaction, organisationId: string, before: Date): Promise<bigint> {
  const last = await db(tx).event.findFirst({
    where: { organisationId, createdAt: { lt: before } },
    orderBy: { seq: "desc" },
    select: { seq: true },
  });
  return last?.seq ?? 0n;
}

/** Returns the number of this event. Refuses `invalid_parameter`, param `after_event`. */
async function seqOf(tx: Transaction, organisationId: string, id: string): Promise<bigint> {
  const where = { organisationId, id };
  const event = await db(tx).event.findFirst({ where, select: { seq: true } });
  if (event !== null) return event.seq;
  throw new Refusal(
    "invalid_parameter",
    "after_event is not the id of an event that is kept.",
    "after_event",
  );
}
