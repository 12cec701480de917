/**
 * One endpoint's state for its deliveries: whether it may be called, and what is due. Also ends
 * deliveries whose time is over. A statement that locks both takes the endpoint first, then
 * deliveries by rising id.
 */

import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { type AttemptRecord, type RecordedAttempts, recordAttempts } from "./delivery-attempts.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  deferDeliveries,
  releaseDeliveries,
} from "./delivery-claims.ts";
import type { EndpointKey } from "./due-endpoints.ts";
import { endpointSecretBound } from "./signing-secrets.ts";

/** An endpoint's state when something is to be sent to it. */
export interface EndpointState {
  readonly url: string;
  /** The endpoint accepts nothing. */
  readonly isDisabled: boolean;
  /** Consecutive failures of any deliveries. */
  readonly failures: number;
  /**
   * How long the breaker stays open. It is 0 if one probe may be sent, and null if the breaker is
   * closed (WEBHOOK-5).
   */
  readonly openMs: number | null;
  /**
   * Milliseconds until the next delivery is due. It is at most 0 if one is due, and null if none is
   * pending.
   */
  readonly dueMs: number | null;
  /** The signing secrets, the newest first. Throws if one was encrypted with an unknown key. */
  secrets(): readonly string[];
}

/** Limits of the time for attempts, in milliseconds. */
export interface EndTimes {
  /** How long after the first due time attempts end. */
  readonly wholeMs: number;
  /**
   * A gap in which no worker was there: neither an attempt nor an open breaker explains why a
   * delivery was not sent. After it the time starts again, unless the delivery is older than 30
   * days.
   */
  readonly awayMs: number;
}

/** What happened to deliveries whose time was over. */
export interface EndOfTrying {
  readonly exhausted: number;
  /** Deliveries whose time started again. */
  readonly begun: readonly string[];
  /** Why the endpoint was disabled with them. Null if it was not. */
  readonly disabledReason: string | null;
}

/** Store of the deliveries to an endpoint. */
export interface DeliveryStore {
  /** Null if there is no such endpoint. */
  load(key: EndpointKey): Promise<EndpointState | null>;
  claim(key: EndpointKey, limit: number): Promise<readonly ClaimedDelivery[]>;
  release(key: EndpointKey, claimed: readonly ClaimedDelivery[]): Promise<void>;
  defer(
    key: EndpointKey,
    claimed: readonly (ClaimedDelivery & { readonly pauseMs: number })[],
    reason: string,
  ): Promise<void>;
  /**
   * Takes the single probe after the endpoint's breaker was open. False if another process has it.
   */
  takeProbe(key: EndpointKey): Promise<boolean>;
  record(key: EndpointKey, attempts: AttemptRecord): Promise<RecordedAttempts>;
  /** Ends up to `limit` due deliveries to a disabled endpoint and returns how many. */
  endDue(key: EndpointKey, limit: number): Promise<number>;
  /** Up to `limit` due deliveries whose time is over. */
  findOverdue(key: EndpointKey, wholeMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Ends those deliveries if their time is over. Disables an endpoint that has accepted nothing for
   * five days.
   */
  exhaust(key: EndpointKey, deliveryIds: readonly string[], times: EndTimes): Promise<EndOfTrying>;
}

/** How long a probe has the endpoint to itself: longer than an attempt takes. */
const probeTime = "interval '25 seconds'";

/** After this time with only failures an endpoint is disabled. */
const deadAfter = "interval '5 days'";

/** The reason that the endpoint's owner reads. */
const deadReason = "It took nothing for five days";

/** Older deliveries do not start again, so that each ends even if it can never be sent. */
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

/** Binds the store to a pool. `encryption` decrypts the endpoints' secrets. */
export function createDeliveryStore(
  pool: Pick<Pool, "query">,
  encryption: Encryption,
): DeliveryStore {
  return {
    load: (key) => load(pool, encryption, key),
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
  pool: Pick<Pool, "query">,
  encryption: Encryption,
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
  const open = (bytes: Buffer, keyId: string) =>
    encryption.decrypt({ bytes, keyId }, endpointSecretBound(endpointId));
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

async function takeProbe(
  pool: Pick<Pool, "query">,
  { organisationId, endpointId }: EndpointKey,
): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "take_endpoint_probe",
    text: `UPDATE webhook_endpoints SET open_until = clock_timestamp() + ${probeTime}
      WHERE organisation_id = $1 AND id = $2 AND open_until <= clock_timestamp()`,
    values: [organisationId, endpointId],
  });
  return rowCount === 1;
}

async function endDue(
  pool: Pick<Pool, "query">,
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
  pool: Pick<Pool, "query">,
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

// An open breaker was set by the last attempt at the endpoint, of any delivery. The endpoint is
// locked first, as everywhere.
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
  pool: Pick<Pool, "query">,
  { organisationId, endpointId }: EndpointKey,
  deliveryIds: readonly string[],
  { wholeMs, awayMs }: EndTimes,
): Promise<EndOfTrying> {
  const { rows } = await pool.query<{
    exhausted: number;
    begun: string[];
    disabled_reason: string | null;
  }>({
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
