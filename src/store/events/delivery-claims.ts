/**
 * Claims on due deliveries of one endpoint. A claim is a lease: it moves the due time of its rows.
 * If the process dies, the deliveries are due again when the lease is over.
 *
 * SQL: SKIP LOCKED, the server's clock, and another time for each of many rows.
 */
import type { Executor } from "../database/client.ts";
import type { EndpointKey } from "./due-endpoints.ts";

/** A claimed delivery with the body to send. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly eventId: string;
  /** The event's body: the same bytes for each attempt. */
  readonly body: string;
  /** The trace of the change that the event is about. Null if it had none. */
  readonly traceparent: string | null;
  /**
   * Since when attempts were due, as text that keeps its microseconds. If the delivery was resent
   * meanwhile, it has changed when the attempt is recorded.
   */
  readonly beganAt: string;
  readonly ageMs: number;
  /** Attempts since `beganAt`. */
  readonly tries: number;
  /** The end of the lease, and the previous due time: a release needs both. */
  readonly claimedUntil: string;
  readonly wasDueAt: string;
}

/**
 * The lease. A claimed delivery is sent within 20 seconds, its request takes 16 at most, and its
 * record ten with all repetitions.
 */
const claimTime = "interval '60 seconds'";

/**
 * Claims up to `limit` due deliveries, the longest due first. Rows that another process has locked
 * are skipped.
 */
export async function claimDeliveries(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  limit: number,
): Promise<readonly ClaimedDelivery[]> {
  const { rows } = await executor.query<ClaimedDelivery>({
    name: "claim_deliveries",
    text: `WITH due AS (
        SELECT id, due_at FROM webhook_deliveries
        WHERE organisation_id = $1 AND endpoint_id = $2 AND state = 'pending' AND due_at <= now()
        ORDER BY endpoint_id, due_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
      ), claimed AS (
        UPDATE webhook_deliveries d SET due_at = now() + ${claimTime} FROM due
        WHERE d.organisation_id = $1 AND d.id = due.id
        RETURNING d.id, d.event_id, d.began_at, d.due_at AS claimed_until, due.due_at AS was_due_at
      )
      SELECT c.id, c.event_id AS "eventId", e.body, e.traceparent,
        c.began_at::text AS "beganAt", c.claimed_until::text AS "claimedUntil",
        c.was_due_at::text AS "wasDueAt",
        (1000 * extract(epoch FROM now() - c.began_at))::float8 AS "ageMs",
        (SELECT count(*) FROM webhook_attempts t WHERE t.organisation_id = $1
          AND t.delivery_id = c.id AND t.at >= c.began_at)::int AS tries
      FROM claimed c JOIN events e ON e.organisation_id = $1 AND e.id = c.event_id
      ORDER BY c.was_due_at, c.id`,
    values: [organisationId, endpointId, limit],
  });
  return rows;
}

/** The claim is the process's own: no other process has claimed, finished or resent it. */
const isStillClaimed = "d.id = c.id AND d.state = 'pending' AND d.due_at = c.claimed_until";

/**
 * Restores the due time of claimed deliveries that were not sent, unless another process has
 * claimed them since.
 */
export async function releaseDeliveries(
  executor: Executor,
  { organisationId }: EndpointKey,
  claimed: readonly ClaimedDelivery[],
): Promise<void> {
  await executor.query({
    name: "release_deliveries",
    text: `UPDATE webhook_deliveries d SET due_at = c.was_due_at
      FROM unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[])
        AS c (id, claimed_until, was_due_at)
      WHERE d.organisation_id = $1 AND ${isStillClaimed}`,
    values: [
      organisationId,
      claimed.map(({ id }) => id),
      claimed.map(({ claimedUntil }) => claimedUntil),
      claimed.map(({ wasDueAt }) => wasDueAt),
    ],
  });
}

/**
 * Postpones claimed deliveries that cannot be sent, each by its own milliseconds, and stores why.
 */
export async function deferDeliveries(
  executor: Executor,
  { organisationId }: EndpointKey,
  claimed: readonly (ClaimedDelivery & { readonly pauseMs: number })[],
  reason: string,
): Promise<void> {
  await executor.query({
    name: "defer_deliveries",
    text: `UPDATE webhook_deliveries d
      SET due_at = now() + c.pause_ms * interval '1 millisecond', last_error = $5,
        last_status = NULL
      FROM unnest($2::uuid[], $3::timestamptz[], $4::float8[]) AS c (id, claimed_until, pause_ms)
      WHERE d.organisation_id = $1 AND ${isStillClaimed}`,
    values: [
      organisationId,
      claimed.map(({ id }) => id),
      claimed.map(({ claimedUntil }) => claimedUntil),
      claimed.map(({ pauseMs }) => pauseMs),
      reason,
    ],
  });
}
