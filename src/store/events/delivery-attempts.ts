/**
 * Records attempts to deliver events to one endpoint in one statement: the attempts, their
 * deliveries, and the endpoint's health (WEBHOOK-5).
 *
 * SQL: one statement locks the endpoint and its deliveries and writes many rows of three tables.
 */

import { bool, int, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { type EndpointKey, isOwn } from "./due-endpoints.ts";

/** An attempt and its result. */
export interface Attempt {
  readonly deliveryId: string;
  /** The `beganAt` of its delivery when it was claimed. */
  readonly beganAt: string;
  /** The end of the claim under which it was sent. */
  readonly claimedUntil: string;
  /** How many milliseconds ago it was sent. */
  readonly agoMs: number;
  readonly latencyMs: number;
  /** The HTTP status. Null if no response came. */
  readonly status: number | null;
  /** What failed. Null if it was delivered. */
  readonly error: string | null;
  /** The beginning of the response body. Null if no response came. */
  readonly answer: string | null;
  /**
   * `gone`: disables the endpoint (WEBHOOK-6). If the endpoint's URL has changed since, it counts
   * as `failed`.
   */
  readonly verdict: "delivered" | "gone" | "failed";
  /** Milliseconds until the next attempt is due, if it was not delivered. */
  readonly pauseMs: number;
  /** No worker was there for long, so the time for attempts starts with this one. */
  readonly restarts: boolean;
  /** The trace of the change that the event is about, for the log. It is not stored again. */
  readonly traceparent?: string | null;
}

/** Attempts at one endpoint in the order in which they ended. Each is of another delivery. */
export interface AttemptRecord {
  readonly attempts: readonly Attempt[];
  /** The URL that was called. If the endpoint's URL has changed since, its health stays. */
  readonly url: string;
  /** This is the probe of an open breaker. */
  readonly isProbe: boolean;
  /**
   * How many milliseconds each further consecutive failure opens the breaker. The last number
   * counts for all later failures.
   */
  readonly breakerSteps: readonly number[];
  /** After this many milliseconds the time for attempts is over. No attempt is due later. */
  readonly wholeMs: number;
}

/**
 * How many deliveries were delivered or dropped, and whether these attempts disabled the endpoint.
 */
export type RecordedAttempts = RowOf<typeof recordedRow>;

const recordedRow = { delivered: int, dropped: int, hasDisabled: bool };

/**
 * How long the row of a healthy endpoint is not written. Its health has not changed, and concurrent
 * records would wait for each other.
 */
const healthyTime = sql`interval '10 seconds'`;

// Attempts that ran while the breaker opened add nothing: of concurrent failures only the first
// ones count. The endpoint is locked before the deliveries, as everywhere, and deliveries by rising
// id. A delivery with two concurrent attempts counts both and shows the successful one. A delivery
// that was resent meanwhile stays due at once, and the claim of another process stays.
const record = query({
  name: "record_attempts",
  planned: "once",
  text: sql`
    WITH
      results AS MATERIALIZED (
        SELECT *, clock_timestamp() - ago_ms * interval '1 millisecond' AS at
        FROM
          unnest(
            $3::uuid[], $4::timestamptz[], $5::float8[], $6::int[], $7::int[], $8::text[],
            $9::text[], $10::text[], $11::float8[], $12::boolean[], $21::timestamptz[]
          ) AS r (
            id, began_at, ago_ms, latency_ms, status, error, answer, verdict, pause_ms, restarts,
            claimed_until
          )
      ),
      counted AS (
        SELECT
          w.id,
          CASE
            WHEN $14 THEN least($15::int, $18::int)
            WHEN w.open_until > clock_timestamp()
            AND NOT $16 THEN w.failures
            ELSE least(w.failures + $15::int, greatest(w.failures + 1, $18::int))
          END AS failures,
          NOT $14 AND w.open_until > clock_timestamp() AND NOT $16 AS is_late
        FROM webhook_endpoints w
        WHERE
          w.organisation_id = $1
          AND w.id = $2
          AND w.url = $13
          AND NOT (
            $14
            AND $15::int = 0
            AND $19::text IS NULL
            AND w.failures = 0
            AND coalesce(w.succeeded_at > now() - ${healthyTime}, false)
          )
        FOR NO KEY UPDATE
      ),
      health AS (
        UPDATE webhook_endpoints w
        SET
          failures = c.failures,
          failing_since = CASE
            WHEN c.failures = 0 THEN NULL
            WHEN $14 THEN now()
            ELSE coalesce(w.failing_since, now())
          END,
          open_until = CASE
            WHEN c.is_late THEN w.open_until
            WHEN c.failures = 0 THEN NULL
            ELSE clock_timestamp() + interval '1 millisecond' * nullif(
              ($17::float8[])[least(c.failures, cardinality($17::float8[]))],
              0
            )
          END,
          succeeded_at = CASE WHEN $14 THEN now() ELSE w.succeeded_at END,
          status = CASE WHEN $19::text IS NULL THEN w.status ELSE 'disabled' END,
          disabled_at = CASE
            WHEN $19::text IS NULL THEN w.disabled_at
            ELSE coalesce(w.disabled_at, now())
          END,
          disabled_reason = CASE
            WHEN $19::text IS NULL THEN w.disabled_reason
            ELSE coalesce(w.disabled_reason, $19)
          END
        FROM counted c
        WHERE w.organisation_id = $1 AND w.id = c.id
        RETURNING w.disabled_at = now() AS has_disabled
      ),
      verdicts AS (SELECT count(*) = 0 AS has_moved FROM health),
      locked AS MATERIALIZED (
        SELECT
          d.id, r.began_at, r.at, r.latency_ms, r.status, r.error, r.answer, r.pause_ms, r.restarts,
          r.claimed_until,
          CASE WHEN v.has_moved AND r.verdict = 'gone' THEN 'failed' ELSE r.verdict END AS verdict
        FROM
          webhook_deliveries d
          JOIN results r ON r.id = d.id
          CROSS JOIN verdicts v
        WHERE ${isOwn} AND d.id = ANY ($3)
        ORDER BY d.id
        FOR NO KEY UPDATE OF d
      ),
      delivery AS (
        UPDATE webhook_deliveries d
        SET
          attempts = d.attempts + 1,
          last_status = CASE
            WHEN d.state = 'delivered'
            AND r.verdict <> 'delivered' THEN d.last_status
            ELSE r.status
          END,
          last_error = CASE
            WHEN d.state = 'delivered'
            AND r.verdict <> 'delivered' THEN d.last_error
            ELSE r.error
          END,
          state = CASE
            WHEN r.verdict = 'delivered' THEN 'delivered'
            WHEN d.state <> 'pending' THEN d.state
            WHEN r.verdict = 'gone' THEN 'cancelled'
            ELSE d.state
          END,
          finished_at = CASE
            WHEN r.verdict = 'failed'
            OR d.state = 'delivered' THEN d.finished_at
            ELSE coalesce(d.finished_at, now())
          END,
          due_at = CASE
            WHEN d.state <> 'pending'
            OR r.verdict <> 'failed' THEN NULL
            WHEN d.began_at <> r.began_at THEN d.due_at
            ELSE least(
              now() + r.pause_ms * interval '1 millisecond',
              CASE WHEN r.restarts THEN r.at ELSE d.began_at END + $20 * interval '1 millisecond'
            )
          END,
          claimed_until = CASE
            WHEN d.state = 'pending'
            AND r.verdict = 'failed' THEN nullif(d.claimed_until, r.claimed_until)
          END,
          began_at = CASE WHEN r.restarts AND d.began_at = r.began_at THEN r.at ELSE d.began_at END
        FROM locked r
        WHERE ${isOwn} AND d.id = r.id
        RETURNING d.id, d.attempts, d.state, r.at, r.latency_ms, r.status, r.error, r.answer
      ),
      attempt AS (
        INSERT INTO webhook_attempts
          (organisation_id, delivery_id, number, at, latency_ms, status, error, answer)
        SELECT $1, id, attempts, at, latency_ms, status, error, answer FROM delivery
      )
    SELECT
      count(*) FILTER (WHERE state = 'delivered')::int AS delivered,
      count(*) FILTER (WHERE state = 'cancelled')::int AS dropped,
      coalesce((SELECT has_disabled FROM health), false) AS has_disabled
    FROM delivery
  `,
  row: recordedRow,
});

/** Writes the attempts. Deliveries that no longer exist are skipped. */
export async function recordAttempts(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  { attempts, url, isProbe, breakerSteps, wholeMs }: AttemptRecord,
): Promise<RecordedAttempts> {
  const hasDelivered = attempts.some(({ verdict }) => verdict === "delivered");
  const lastDelivered = attempts.findLastIndex(({ verdict }) => verdict === "delivered");
  const [row] = await record(
    executor,
    organisationId,
    endpointId,
    attempts.map(({ deliveryId }) => deliveryId),
    attempts.map(({ beganAt }) => beganAt),
    attempts.map(({ agoMs }) => agoMs),
    attempts.map(({ latencyMs }) => Math.round(latencyMs)),
    attempts.map(({ status }) => status),
    attempts.map(({ error }) => error),
    attempts.map(({ answer }) => answer),
    attempts.map(({ verdict }) => verdict),
    attempts.map(({ pauseMs }) => pauseMs),
    attempts.map(({ restarts }) => restarts),
    url,
    hasDelivered,
    // Failures since the last success.
    attempts.length - 1 - lastDelivered,
    isProbe,
    breakerSteps,
    // The number of the failure that opens the breaker.
    breakerSteps.findIndex((ms) => ms > 0) + 1,
    attempts.find(({ verdict }) => verdict === "gone")?.error ?? null,
    wholeMs,
    attempts.map(({ claimedUntil }) => claimedUntil),
  );
  return row ?? { delivered: 0, dropped: 0, hasDisabled: false };
}
