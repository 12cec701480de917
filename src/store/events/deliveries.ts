/**
 * One endpoint's state for its deliveries: whether it may be called, and what is due. Also ends
 * deliveries whose time is over. A statement that locks both takes the endpoint first, then
 * deliveries by rising id.
 *
 * SQL: every statement compares with the server's clock. Several also lock, or write many rows.
 */

import { columns } from "../../gen/columns.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Executor } from "../database/prisma/client.ts";
import { arrayOf, float, int, pick, type RowOf, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { type AttemptRecord, type RecordedAttempts, recordAttempts } from "./delivery-attempts.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  deferDeliveries,
  releaseDeliveries,
} from "./delivery-claims.ts";
import { type EndpointKey, isUnclaimed } from "./due-endpoints.ts";

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
interface EndTimes {
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
type EndOfTrying = RowOf<typeof endOfTryingRow>;

const endOfTryingRow = {
  exhausted: int,
  /** Deliveries whose time started again. */
  restarted: arrayOf(text),
  /** Why the endpoint was disabled with them. Null if it was not. */
  disabledReason: columns.webhookEndpoint.disabledReason,
};

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
const probeTime = sql`interval '25 seconds'`;

/** After this time with only failures an endpoint is disabled. */
const deadAfter = sql`interval '5 days'`;

/** The reason that the endpoint's owner reads. */
const deadReason = "It took nothing for five days";

/** Older deliveries do not start again, so that each ends even if it can never be sent. */
const restartWithin = sql`interval '30 days'`;

const pending = sql`FROM webhook_deliveries d
  WHERE d.organisation_id = $1 AND d.endpoint_id = $2 AND d.state = 'pending'`;

// Claims that have not expired are read only if everything due is claimed. Then they are few.
const loadEndpoint = query({
  name: "load_endpoint_of_deliveries",
  planned: "once",
  text: sql`SELECT w.url, w.status, w.failures, w.encrypted_secret, w.encryption_key_id,
      w.previous_key_id,
      CASE WHEN w.previous_until > now() THEN w.encrypted_previous END AS encrypted_previous,
      CASE WHEN w.open_until IS NOT NULL THEN
        greatest(0, 1000 * extract(epoch FROM w.open_until - clock_timestamp()))
      END::float8 AS open_ms,
      (1000 * extract(epoch FROM coalesce(
        (SELECT d.due_at ${pending} AND d.due_at <= now() AND ${isUnclaimed}
          ORDER BY d.endpoint_id, d.due_at LIMIT 1),
        least((SELECT min(d.claimed_until) ${pending} AND d.due_at <= now()),
          (SELECT d.due_at ${pending} AND d.due_at > now()
            ORDER BY d.endpoint_id, d.due_at LIMIT 1))) - now()))::float8 AS due_ms
    FROM webhook_endpoints w WHERE w.organisation_id = $1 AND w.id = $2`,
  row: {
    ...pick(columns.webhookEndpoint, "url", "status", "failures"),
    ...pick(columns.webhookEndpoint, "encryptedSecret", "encryptionKeyId"),
    ...pick(columns.webhookEndpoint, "encryptedPrevious", "previousKeyId"),
    openMs: float.orNull(),
    dueMs: float.orNull(),
  },
});

/** Binds the store to a pool. `encryption` decrypts the endpoints' secrets. */
export function createDeliveryStore(executor: Executor, encryption: Encryption): DeliveryStore {
  return {
    load: (key) => load(executor, encryption, key),
    claim: (key, limit) => claimDeliveries(executor, key, limit),
    release: (key, claimed) => releaseDeliveries(executor, key, claimed),
    defer: (key, claimed, reason) => deferDeliveries(executor, key, claimed, reason),
    takeProbe: (key) => takeProbe(executor, key),
    record: (key, attempts) => recordAttempts(executor, key, attempts),
    endDue: ({ organisationId, endpointId }, limit) =>
      endDueDeliveries(executor, organisationId, endpointId, limit),
    findOverdue: (key, wholeMs, limit) => findOverdue(executor, key, wholeMs, limit),
    exhaust: (key, ids, times) => exhaust(executor, key, ids, times),
  };
}

async function load(
  executor: Executor,
  encryption: Encryption,
  { organisationId, endpointId }: EndpointKey,
): Promise<EndpointState | null> {
  const [row] = await loadEndpoint(executor, organisationId, endpointId);
  if (row === undefined) return null;
  const { url, status, failures, openMs, dueMs } = row;
  const decrypt = (bytes: Buffer, keyId: string) =>
    encryption.decrypt({ bytes, keyId }, endpointSecretBound(endpointId));
  return {
    url,
    isDisabled: status === "disabled",
    failures,
    openMs,
    dueMs,
    secrets: () => [
      decrypt(row.encryptedSecret, row.encryptionKeyId),
      ...(row.encryptedPrevious === null || row.previousKeyId === null
        ? []
        : [decrypt(row.encryptedPrevious, row.previousKeyId)]),
    ],
  };
}

const takeEndpointProbe = command({
  name: "take_endpoint_probe",
  text: sql`
    UPDATE webhook_endpoints
    SET open_until = clock_timestamp() + ${probeTime}
    WHERE organisation_id = $1 AND id = $2 AND open_until <= clock_timestamp()
  `,
});

async function takeProbe(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
): Promise<boolean> {
  return (await takeEndpointProbe(executor, organisationId, endpointId)) === 1;
}

const endDueDeliveries = command({
  name: "end_due_deliveries",
  text: sql`
    WITH
      endpoint AS (
        SELECT id
        FROM webhook_endpoints
        WHERE organisation_id = $1 AND id = $2 AND status = 'disabled'
        FOR NO KEY UPDATE
      ),
      due AS (
        SELECT d.id
        FROM
          webhook_deliveries d
          JOIN endpoint w ON w.id = d.endpoint_id
        WHERE
          d.organisation_id = $1
          AND d.endpoint_id = $2
          AND d.state = 'pending'
          AND d.due_at <= now()
          AND ${isUnclaimed}
        ORDER BY d.endpoint_id, d.due_at
        LIMIT $3
        FOR NO KEY UPDATE OF d SKIP LOCKED
      )
    UPDATE webhook_deliveries d
    SET
      state = 'cancelled',
      due_at = NULL,
      claimed_until = NULL,
      finished_at = now()
    FROM due
    WHERE d.organisation_id = $1 AND d.id = due.id
  `,
});

const findOverdueDeliveries = query({
  name: "find_overdue_deliveries",
  text: sql`SELECT d.id ${pending} AND d.due_at <= now() AND ${isUnclaimed}
      AND d.began_at <= now() - $3 * interval '1 millisecond' LIMIT $4`,
  row: pick(columns.webhookDelivery, "id"),
});

async function findOverdue(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  wholeMs: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await findOverdueDeliveries(executor, organisationId, endpointId, wholeMs, limit);
  return rows.map(({ id }) => id);
}

// An open breaker was set by the last attempt at the endpoint, of any delivery. The endpoint is
// locked first, as everywhere.
const exhaustDeliveries = query({
  name: "exhaust_deliveries",
  text: sql`
    WITH
      endpoint AS MATERIALIZED (
        SELECT
          w.id,
          coalesce(w.open_until > now() - $5 * interval '1 millisecond', false) AS is_held,
          w.status = 'enabled' AND w.failing_since <= now() - ${deadAfter} AS is_dead
        FROM webhook_endpoints w
        WHERE w.organisation_id = $1 AND w.id = $2
        FOR NO KEY UPDATE
      ),
      over AS MATERIALIZED (
        SELECT
          d.id,
          NOT w.is_held
          AND d.created_at > now() - ${restartWithin}
          AND NOT EXISTS (
            SELECT
            FROM webhook_attempts t
            WHERE
              t.organisation_id = $1
              AND t.delivery_id = d.id
              AND t.at >= greatest(d.began_at, now() - $5 * interval '1 millisecond')
          ) AS restarts
        FROM
          webhook_deliveries d
          JOIN endpoint w ON w.id = d.endpoint_id
        WHERE
          d.organisation_id = $1
          AND d.id = ANY ($3)
          AND d.state = 'pending'
          AND d.began_at <= now() - $4 * interval '1 millisecond'
        ORDER BY d.id
        FOR NO KEY UPDATE OF d
      ),
      exhausted AS (
        UPDATE webhook_deliveries d
        SET
          state = 'exhausted',
          due_at = NULL,
          claimed_until = NULL,
          finished_at = now()
        FROM over o
        WHERE d.organisation_id = $1 AND d.id = o.id AND NOT o.restarts
        RETURNING d.id
      ),
      restarted AS (
        UPDATE webhook_deliveries d
        SET began_at = now()
        FROM over o
        WHERE d.organisation_id = $1 AND d.id = o.id AND o.restarts
        RETURNING d.id
      ),
      disabled AS (
        UPDATE webhook_endpoints w
        SET
          status = 'disabled',
          disabled_at = now(),
          disabled_reason = $6
        FROM endpoint e
        WHERE
          w.organisation_id = $1
          AND w.id = e.id
          AND e.is_dead
          AND EXISTS (SELECT FROM exhausted)
        RETURNING w.disabled_reason
      )
    SELECT
      (SELECT count(*)::int FROM exhausted) AS exhausted,
      ARRAY(SELECT id::text FROM restarted) AS restarted,
      (SELECT disabled_reason FROM disabled) AS disabled_reason
  `,
  row: endOfTryingRow,
});

async function exhaust(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  deliveryIds: readonly string[],
  { wholeMs, awayMs }: EndTimes,
): Promise<EndOfTrying> {
  const values = [organisationId, endpointId, deliveryIds, wholeMs, awayMs, deadReason];
  const [row] = await exhaustDeliveries(executor, ...values);
  return row ?? { exhausted: 0, restarted: [], disabledReason: null };
}

/** What the encryption of webhook endpoints' signing secrets is bound to. */

/**
 * The binding of an endpoint's encrypted secrets, the current and the previous one. They decrypt
 * for no other endpoint (ADMIN-3).
 */
export function endpointSecretBound(endpointId: string): string {
  return `webhook_endpoint/${endpointId}`;
}
