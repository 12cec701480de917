/**
 * Claims on due deliveries of one endpoint. A claim is a lease: other processes skip its rows until
 * it is over, also if the process dies. No index contains its end, so a claim writes no index.
 *
 * SQL: SKIP LOCKED, the server's clock, and another time for each of many rows.
 */

import { columns } from "../../gen/columns.ts";
import { float, int, pick, type RowOf, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, type Executor, query } from "../database/sql/statement.ts";
import { type EndpointKey, isOwn, isUnclaimed } from "./due-endpoints.ts";

/** What a claim reads of a delivery. */
const claimedRow = {
  ...pick(columns.webhookDelivery, "id", "eventId"),
  /** The event's body: the same bytes for each attempt. */
  body: text,
  /** The trace of the change that the event is about. Null if it had none. */
  traceparent: text.orNull(),
  /**
   * Since when attempts were due, as text that keeps its microseconds. If the delivery was resent
   * meanwhile, it has changed when the attempt is recorded.
   */
  beganAt: text,
  ageMs: float,
  /** Attempts since `beganAt`. */
  tries: int,
  /** The end of the lease, as text that keeps its microseconds. */
  claimedUntil: text,
};

/** A claimed delivery with the body to send. */
export type ClaimedDelivery = RowOf<typeof claimedRow>;

/**
 * The lease. A claimed delivery is sent within 20 seconds, its request takes 16 at most, and its
 * record ten with all repetitions.
 */
const claimTime = sql`interval '60 seconds'`;

const claim = query({
  name: "claim_deliveries",
  planned: "once",
  text: sql`
    WITH
      due AS (
        SELECT d.id
        FROM webhook_deliveries d
        WHERE
          d.organisation_id = $1
          AND d.endpoint_id = $2
          AND d.state = 'pending'
          AND d.due_at <= now()
          AND ${isUnclaimed}
        ORDER BY d.endpoint_id, d.due_at
        LIMIT $3
        FOR NO KEY UPDATE SKIP LOCKED
      ),
      claimed AS (
        UPDATE webhook_deliveries d
        SET claimed_until = now() + ${claimTime}
        FROM due
        WHERE ${isOwn} AND d.id = due.id
        RETURNING d.id, d.event_id, d.began_at, d.attempts, d.claimed_until, d.due_at
      )
    SELECT
      c.id, c.event_id, e.body, e.traceparent, c.began_at::text AS began_at,
      c.claimed_until::text AS claimed_until,
      (1000 * extract(epoch FROM now() - c.began_at))::float8 AS age_ms,
      CASE
        WHEN c.attempts = 0 THEN 0
        ELSE (
          SELECT count(*)
          FROM webhook_attempts t
          WHERE t.organisation_id = $1 AND t.delivery_id = c.id AND t.at >= c.began_at
        )::int
      END AS tries
    FROM
      claimed c
      JOIN events e ON e.organisation_id = $1 AND e.id = c.event_id
    ORDER BY c.due_at, c.id
  `,
  row: claimedRow,
});

/**
 * Claims up to `limit` due deliveries, the longest due first. Rows that another process has locked
 * are skipped.
 */
export async function claimDeliveries(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  limit: number,
): Promise<readonly ClaimedDelivery[]> {
  return claim(executor, organisationId, endpointId, limit);
}

/** The claim is the process's own: no other process has claimed, finished or resent it. */
const isStillClaimed = sql`d.id = c.id AND d.state = 'pending'
  AND d.claimed_until = c.claimed_until`;

const release = command({
  name: "release_deliveries",
  text: sql`
    UPDATE webhook_deliveries d
    SET claimed_until = NULL
    FROM unnest($2::uuid[], $3::timestamptz[]) AS c (id, claimed_until)
    WHERE d.organisation_id = $1 AND ${isStillClaimed}
  `,
});

/**
 * Ends the claim on deliveries that were not sent, unless another process has claimed them since.
 */
export async function releaseDeliveries(
  executor: Executor,
  { organisationId }: EndpointKey,
  claimed: readonly ClaimedDelivery[],
): Promise<void> {
  const ids = claimed.map(({ id }) => id);
  const claims = claimed.map(({ claimedUntil }) => claimedUntil);
  await release(executor, organisationId, ids, claims);
}

const defer = command({
  name: "defer_deliveries",
  text: sql`
    UPDATE webhook_deliveries d
    SET
      due_at = now() + c.pause_ms * interval '1 millisecond',
      claimed_until = NULL,
      last_error = $5,
      last_status = NULL
    FROM unnest($2::uuid[], $3::timestamptz[], $4::float8[]) AS c (id, claimed_until, pause_ms)
    WHERE d.organisation_id = $1 AND ${isStillClaimed}
  `,
});

/**
 * Postpones claimed deliveries that cannot be sent, each by its own milliseconds, and stores why.
 */
export async function deferDeliveries(
  executor: Executor,
  { organisationId }: EndpointKey,
  claimed: readonly (ClaimedDelivery & { readonly pauseMs: number })[],
  reason: string,
): Promise<void> {
  const ids = claimed.map(({ id }) => id);
  const claims = claimed.map(({ claimedUntil }) => claimedUntil);
  const pauses = claimed.map(({ pauseMs }) => pauseMs);
  await defer(executor, organisationId, ids, claims, pauses, reason);
}
