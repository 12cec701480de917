/** What came of an attempt to deliver an event, written in one statement: the attempt, its delivery, and the endpoint's health. */
import type pg from "pg";

/** An attempt that was made. */
export interface AttemptRecord {
  readonly endpointId: string;
  /** Where it was sent. An endpoint that has moved meanwhile is none the better or worse for it. */
  readonly url: string;
  /** When it was sent: `loadedAt` of its delivery. */
  readonly at: string;
  readonly latencyMs: number;
  /** Null where no answer came. */
  readonly status: number | null;
  /** What went wrong; null where it was delivered. */
  readonly error: string | null;
  /** The beginning of the answer; null where none came. */
  readonly answer: string | null;
  /** `gone`: nothing is to be sent there ever again; where the endpoint has moved it is a failure like others. */
  readonly verdict: "delivered" | "gone" | "failed";
  /** In how many milliseconds somebody must be at it again, where it was not delivered. */
  readonly dueInMs: number;
  /** It was the one attempt that went first while the endpoint's breaker had been open. */
  readonly isTrial: boolean;
  /** For how many milliseconds each further failure in a row opens the breaker; the last counts for all after it. */
  readonly breakerSteps: readonly number[];
  /** Nobody was there to try for long: the time for attempts begins with this one. */
  readonly beginsAnew: boolean;
}

/** How the delivery stands now. */
export interface SavedAttempt {
  readonly state: "pending" | "delivered" | "exhausted" | "cancelled";
  /** Whether it was this attempt that disabled the endpoint. */
  readonly hasDisabled: boolean;
}

/**
 * How long an endpoint that takes everything is not written to: its health is as it was, and all of its deliveries would wait for each other.
 */
const healthyTime = "interval '10 seconds'";

// An attempt that was under way as the breaker opened says nothing new: of those beside each other only the first ones count. The endpoint is
// taken before the delivery, as everywhere; a delivery of which two attempts were under way at once counts both, and shows the one that was taken.
const recordText = `
WITH health AS (
  UPDATE webhook_endpoints w SET
    failures = CASE WHEN $9 = 'delivered' THEN 0 WHEN w.open_until > clock_timestamp() AND NOT $11 THEN w.failures ELSE w.failures + 1 END,
    failing_since = CASE WHEN $9 <> 'delivered' THEN coalesce(w.failing_since, now()) END,
    open_until = CASE WHEN $9 = 'delivered' THEN NULL WHEN w.open_until > clock_timestamp() AND NOT $11 THEN w.open_until
      ELSE clock_timestamp() + nullif(($12::float8[])[least(w.failures + 1, cardinality($12::float8[]))], 0) * interval '1 millisecond' END,
    succeeded_at = CASE WHEN $9 = 'delivered' THEN now() ELSE w.succeeded_at END,
    status = CASE WHEN $9 = 'gone' THEN 'disabled' ELSE w.status END,
    disabled_at = CASE WHEN $9 = 'gone' THEN coalesce(w.disabled_at, now()) ELSE w.disabled_at END,
    disabled_reason = CASE WHEN $9 = 'gone' THEN coalesce(w.disabled_reason, $7) ELSE w.disabled_reason END
  WHERE w.organisation_id = $1 AND w.id = $3 AND w.url = $14
    AND NOT ($9 = 'delivered' AND w.failures = 0 AND coalesce(w.succeeded_at > now() - ${healthyTime}, false))
  RETURNING w.disabled_at = now() AS has_disabled
), verdict AS (
  SELECT CASE WHEN $9 = 'gone' AND count(*) = 0 THEN 'failed' ELSE $9 END AS kind FROM health
), delivery AS (
  UPDATE webhook_deliveries d SET attempts = d.attempts + 1,
    last_status = CASE WHEN d.state = 'delivered' AND v.kind <> 'delivered' THEN d.last_status ELSE $6 END,
    last_error = CASE WHEN d.state = 'delivered' AND v.kind <> 'delivered' THEN d.last_error ELSE $7 END,
    state = CASE WHEN v.kind = 'delivered' THEN 'delivered' WHEN d.state <> 'pending' THEN d.state WHEN v.kind = 'gone' THEN 'cancelled'
      ELSE d.state END,
    settled_at = CASE WHEN v.kind = 'failed' OR d.state = 'delivered' THEN d.settled_at ELSE coalesce(d.settled_at, now()) END,
    due_at = CASE WHEN d.state = 'pending' AND v.kind = 'failed' THEN now() + $10 * interval '1 millisecond' END,
    began_at = CASE WHEN $13 THEN $4 ELSE d.began_at END
  FROM verdict v WHERE d.organisation_id = $1 AND d.id = $2
  RETURNING d.attempts, d.state
), attempt AS (
  INSERT INTO webhook_attempts (organisation_id, delivery_id, number, at, latency_ms, status, error, answer)
  SELECT $1, $2, attempts, $4, $5, $6, $7, $8 FROM delivery
)
SELECT state, coalesce((SELECT has_disabled FROM health), false) AS has_disabled FROM delivery`;

/** Writes it. A delivery that is no longer there counts as one that was given up. */
export async function recordAttempt(
  pool: Pick<pg.Pool, "query">,
  organisationId: string,
  deliveryId: string,
  attempt: AttemptRecord,
): Promise<SavedAttempt> {
  const { rows } = await pool.query<{ state: SavedAttempt["state"]; has_disabled: boolean }>({
    name: "record_attempt",
    text: recordText,
    values: [
      organisationId,
      deliveryId,
      attempt.endpointId,
      attempt.at,
      Math.round(attempt.latencyMs),
      attempt.status,
      attempt.error,
      attempt.answer,
      attempt.verdict,
      attempt.dueInMs,
      attempt.isTrial,
      attempt.breakerSteps,
      attempt.beginsAnew,
      attempt.url,
    ],
  });
  const [row] = rows;
  return { state: row?.state ?? "cancelled", hasDisabled: row?.has_disabled ?? false };
}
