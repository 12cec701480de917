/**
 * The endpoint of deliveries as they find it: whether anything may be sent there, and what is due;
 * and the end of those whose time is over. A statement that holds an endpoint and deliveries takes
 * the endpoint first, and deliveries by rising id.
 */
import type pg from "pg";
import type { Encryption } from "../database/encryption.ts";
import { type AttemptRecord, type RecordedAttempts, recordAttempts } from "./delivery-attempts.ts";
import { type ClaimedDelivery, claimDeliveries, deferDeliveries, releaseDeliveries } from "./delivery-claims.ts";
import type { EndpointKey } from "./due-endpoints.ts";
import { endpointSecretBound } from "./signing-secrets.ts";

/** An endpoint, as something is to be sent to it. */
export interface EndpointState {
  readonly url: string;
  /** It takes nothing. */
  readonly isDisabled: boolean;
  /** Failures in a row, whatever was sent. */
  readonly failures: number;
  /** How long its breaker stays open, 0 where one attempt may go first; null where it is closed. */
  readonly openMs: number | null;
  /**
   * In how many milliseconds its next delivery is due, at most 0 where one is; null where none is
   * pending.
   */
  readonly dueMs: number | null;
  /** The secrets that sign, the newest first. Throws where one was sealed with a key that is not known here. */
  secrets(): readonly string[];
}

/** When the time for attempts is over, in milliseconds. */
export interface EndTimes {
  /** How long after they began. */
  readonly wholeMs: number;
  /**
   * For so long nobody was there: a delivery was not sent, and neither its endpoint's breaker nor
   * an attempt at it said why. Then its time begins anew, unless it is older than 30 days.
   */
  readonly awayMs: number;
}

/** What became of deliveries whose time was over. */
export interface EndOfTrying {
  readonly exhausted: number;
  /** Those whose time began anew. */
  readonly begun: readonly string[];
  /** Why their endpoint was disabled with them; null where it was not. */
  readonly disabledReason: string | null;
}

/** What deliveries to an endpoint ask of the database. */
export interface DeliveryStore {
  /** Null where there is no such endpoint. */
  load(key: EndpointKey): Promise<EndpointState | null>;
  claim(key: EndpointKey, limit: number): Promise<readonly ClaimedDelivery[]>;
  release(key: EndpointKey, claimed: readonly ClaimedDelivery[]): Promise<void>;
  defer(
    key: EndpointKey,
    claimed: readonly (ClaimedDelivery & { readonly pauseMs: number })[],
    reason: string,
  ): Promise<void>;
  /**
   * Takes the one attempt that goes first when the endpoint's breaker has been open; false where
   * another has taken it.
   */
  takeProbe(key: EndpointKey): Promise<boolean>;
  record(key: EndpointKey, attempts: AttemptRecord): Promise<RecordedAttempts>;
  /**
   * Ends up to `limit` deliveries that are due to an endpoint that is disabled; answers how many.
   */
  endDue(key: EndpointKey, limit: number): Promise<number>;
  /** Those that are due and whose time is over, up to `limit`. */
  findOverdue(key: EndpointKey, wholeMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Ends those of them whose time is over, and disables an endpoint that has not taken anything for
   * five days.
   */
  exhaust(key: EndpointKey, deliveryIds: readonly string[], times: EndTimes): Promise<EndOfTrying>;
}

/** For how long the attempt that goes first has the endpoint to itself: longer than an attempt takes. */
const probeTime = "interval '25 seconds'";

/** After so long without anything but failures an endpoint is disabled. */
const deadAfter = "interval '5 days'";

/** What its owner reads then. */
const deadReason = "It took nothing for five days";

/** What is older does not begin anew, so that it comes to an end also where it can never be sent. */
const restartWithin = "interval '30 days'";

const loadText = `SELECT w.url, w.status, w.failures, w.encrypted_secret, w.encryption_key_id, w.previous_key_id,
    CASE WHEN w.previous_until > now() THEN w.encrypted_previous END AS encrypted_previous,
    greatest(0, 1000 * extract(epoch FROM w.open_until - clock_timestamp()))::float8 AS open_ms, w.open_until IS NOT NULL AS is_open,
    (SELECT 1000 * extract(epoch FROM d.due_at - now()) FROM webhook_deliveries d
      WHERE d.organisation_id = $1 AND d.endpoint_id = $2 AND d.state = 'pending' ORDER BY d.endpoint_id, d.due_at LIMIT 1)::float8 AS due_ms
  FROM webhook_endpoints w WHERE w.organisation_id = $1 AND w.id = $2`;

interface LoadedRow {
  url: string;
  status: string;
  failures: number;
  encrypted_secret: Buffer;
  encryption_key_id: string;
  encrypted_previous: Buffer | null;
  previous_key_id: string;
  open_ms: number;
  is_open: boolean;
  due_ms: number | null;
}

/** The store over a pool; `sealing` opens the endpoints' secrets. */
export function createDeliveryStore(pool: Pick<pg.Pool, "query">, sealing: Encryption): DeliveryStore {
  return {
    load: (key) => load(pool, sealing, key),
    claim: (key, limit) => claimDeliveries(pool, key, limit),
    release: (key, claimed) => releaseDeliveries(pool, key, claimed),
    defer: (key, claimed, reason) => deferDeliveries(pool, key, claimed, reason),
    takeProbe: (key) => takeProbe(pool, key),
    record: (key, attempts) => recordAttempts(pool, key, attempts),
    endDue: (key, limit) => endDue(pool, key, limit),
    findOverdue: (key, wholeMs, limit) => findOverdue(pool, key, wholeMs, limit),
    exhaust: (key, ids, times) => exhaust(pool, key, ids, times),
  };
}

async function load(
  pool: Pick<pg.Pool, "query">,
  sealing: Encryption,
  { organisationId, endpointId }: EndpointKey,
): Promise<EndpointState | null> {
  const { rows } = await pool.query<LoadedRow>({
    name: "load_endpoint_of_deliveries",
    text: loadText,
    values: [organisationId, endpointId],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const { encrypted_previous: previous } = row;
  const open = (bytes: Buffer, keyId: string) => sealing.open({ bytes, keyId }, endpointSecretBound(endpointId));
  return {
    url: row.url,
    isDisabled: row.status === "disabled",
    failures: row.failures,
    openMs: row.is_open ? row.open_ms : null,
    dueMs: row.due_ms,
    secrets: () => [
      open(row.encrypted_secret, row.encryption_key_id),
      ...(previous === null ? [] : [open(previous, row.previous_key_id)]),
    ],
  };
}

async function takeProbe(pool: Pick<pg.Pool, "query">, { organisationId, endpointId }: EndpointKey): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "take_endpoint_probe",
    text: `UPDATE webhook_endpoints SET open_until = clock_timestamp() + ${probeTime}
      WHERE organisation_id = $1 AND id = $2 AND open_until <= clock_timestamp()`,
    values: [organisationId, endpointId],
  });
  return rowCount === 1;
}

async function endDue(
  pool: Pick<pg.Pool, "query">,
  { organisationId, endpointId }: EndpointKey,
  limit: number,
): Promise<number> {
  const { rowCount } = await pool.query({
    name: "end_due_deliveries",
    text: `WITH endpoint AS (
        SELECT id FROM webhook_endpoints WHERE organisation_id = $1 AND id = $2 AND status = 'disabled' FOR NO KEY UPDATE
      ), due AS (
        SELECT d.id FROM webhook_deliveries d JOIN endpoint w ON w.id = d.endpoint_id
        WHERE d.organisation_id = $1 AND d.endpoint_id = $2 AND d.state = 'pending' AND d.due_at <= now()
        ORDER BY d.endpoint_id, d.due_at LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED
      )
      UPDATE webhook_deliveries d SET state = 'cancelled', due_at = NULL, finished_at = now() FROM due
      WHERE d.organisation_id = $1 AND d.id = due.id`,
    values: [organisationId, endpointId, limit],
  });
  return rowCount ?? 0;
}

async function findOverdue(
  pool: Pick<pg.Pool, "query">,
  { organisationId, endpointId }: EndpointKey,
  wholeMs: number,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: "find_overdue_deliveries",
    text: `SELECT id FROM webhook_deliveries WHERE organisation_id = $1 AND endpoint_id = $2 AND state = 'pending' AND due_at <= now()
        AND began_at <= now() - $3 * interval '1 millisecond' LIMIT $4`,
    values: [organisationId, endpointId, wholeMs, limit],
  });
  return rows.map(({ id }) => id);
}

// An open breaker's time is as old as the last attempt at the endpoint, whatever was sent. The
// endpoint is taken first, as everywhere.
const exhaustText = `WITH endpoint AS MATERIALIZED (
    SELECT w.id, coalesce(w.open_until > now() - $5 * interval '1 millisecond', false) AS is_held,
      w.status = 'enabled' AND w.failing_since <= now() - ${deadAfter} AS is_dead
    FROM webhook_endpoints w WHERE w.organisation_id = $1 AND w.id = $2 FOR NO KEY UPDATE
  ), over AS MATERIALIZED (
    SELECT d.id, NOT w.is_held AND d.created_at > now() - ${restartWithin} AND NOT EXISTS (SELECT FROM webhook_attempts t
        WHERE t.organisation_id = $1 AND t.delivery_id = d.id AND t.at >= greatest(d.began_at, now() - $5 * interval '1 millisecond')) AS begins_again
    FROM webhook_deliveries d JOIN endpoint w ON w.id = d.endpoint_id
    WHERE d.organisation_id = $1 AND d.id = ANY ($3) AND d.state = 'pending' AND d.began_at <= now() - $4 * interval '1 millisecond'
    ORDER BY d.id FOR NO KEY UPDATE OF d
  ), exhausted AS (
    UPDATE webhook_deliveries d SET state = 'exhausted', due_at = NULL, finished_at = now() FROM over o
    WHERE d.organisation_id = $1 AND d.id = o.id AND NOT o.begins_again RETURNING d.id
  ), begun AS (
    UPDATE webhook_deliveries d SET began_at = now() FROM over o WHERE d.organisation_id = $1 AND d.id = o.id AND o.begins_again RETURNING d.id
  ), disabled AS (
    UPDATE webhook_endpoints w SET status = 'disabled', disabled_at = now(), disabled_reason = $6 FROM endpoint e
    WHERE w.organisation_id = $1 AND w.id = e.id AND e.is_dead AND EXISTS (SELECT FROM exhausted) RETURNING w.disabled_reason
  )
  SELECT (SELECT count(*)::int FROM exhausted) AS exhausted, ARRAY (SELECT id::text FROM begun) AS begun,
    (SELECT disabled_reason FROM disabled) AS disabled_reason`;

async function exhaust(
  pool: Pick<pg.Pool, "query">,
  { organisationId, endpointId }: EndpointKey,
  deliveryIds: readonly string[],
  { wholeMs, awayMs }: EndTimes,
): Promise<EndOfTrying> {
  const { rows } = await pool.query<{ exhausted: number; begun: string[]; disabled_reason: string | null }>({
    name: "exhaust_deliveries",
    text: exhaustText,
    values: [organisationId, endpointId, deliveryIds, wholeMs, awayMs, deadReason],
  });
  const [row] = rows;
  return {
    exhausted: row?.exhausted ?? 0,
    begun: row?.begun ?? [],
    disabledReason: row?.disabled_reason ?? null,
  };
}
