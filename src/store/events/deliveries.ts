/**
 * One endpoint's state for its deliveries: whether it may be called, and what is due. Also ends
 * deliveries whose time is over. A statement that locks both takes the endpoint first, then
 * deliveries by rising id.
 *
 * SQL: every statement compares with the server's clock. Several also lock, or write many rows.
 */

import { columns } from "../../gen/columns.ts";
import { binding } from "../database/bind.ts";
import type { Encryption } from "../database/encryption.ts";
import { float, pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, type Executor, query } from "../database/sql/statement.ts";
import { recordAttempts } from "./delivery-attempts.ts";
import { claimDeliveries, deferDeliveries, releaseDeliveries } from "./delivery-claims.ts";
import { type EndpointKey, isUnclaimed } from "./due-endpoints.ts";
import { exhaust, findOverdue, pending } from "./exhaust-deliveries.ts";

/** An endpoint's state when something is to be sent to it. */
export type EndpointState = NonNullable<Awaited<ReturnType<typeof load>>>;

/** Store of the deliveries to an endpoint. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** How long a probe has the endpoint to itself: longer than an attempt takes. */
const probeTime = sql`interval '25 seconds'`;

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
    /**
     * How long the breaker stays open. It is 0 if one probe may be sent, and null if the breaker is
     * closed (WEBHOOK-5).
     */
    openMs: float.orNull(),
    /**
     * Until the next delivery is due. It is at most 0 if one is due, and null if none is pending.
     */
    dueMs: float.orNull(),
  },
});

/** Binds the store to a pool. `encryption` decrypts the endpoints' secrets. */
export function createDeliveryStore(executor: Executor, encryption: Encryption) {
  const bound = binding(executor);
  return {
    /** Null if there is no such endpoint. */
    load: (key: EndpointKey) => load(executor, encryption, key),
    claim: bound(claimDeliveries),
    release: bound(releaseDeliveries),
    defer: bound(deferDeliveries),
    /**
     * Takes the single probe after the endpoint's breaker was open. False if another process has
     * it.
     */
    takeProbe: async ({ organisationId, endpointId }: EndpointKey) =>
      (await takeEndpointProbe(executor, organisationId, endpointId)) === 1,
    record: bound(recordAttempts),
    /** Ends up to `limit` due deliveries to a disabled endpoint and returns how many. */
    endDue: ({ organisationId, endpointId }: EndpointKey, limit: number) =>
      endDueDeliveries(executor, organisationId, endpointId, limit),
    /** Up to `limit` due deliveries whose time is over. */
    findOverdue: bound(findOverdue),
    /**
     * Ends those deliveries if their time is over. Disables an endpoint that has accepted nothing
     * for five days.
     */
    exhaust: bound(exhaust),
  };
}

async function load(
  executor: Executor,
  encryption: Encryption,
  { organisationId, endpointId }: EndpointKey,
) {
  const [row] = await loadEndpoint(executor, organisationId, endpointId);
  if (row === undefined) return null;
  const { url, status, failures, openMs, dueMs } = row;
  const decrypt = (bytes: Buffer, keyId: string) =>
    encryption.decrypt({ bytes, keyId }, endpointSecretBound(endpointId));
  return {
    url,
    /** The endpoint accepts nothing. */
    isDisabled: status === "disabled",
    /** Consecutive failures of any deliveries. */
    failures,
    openMs,
    dueMs,
    /** The signing secrets, the newest first. Throws if one was encrypted with an unknown key. */
    secrets: (): readonly string[] => [
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

/**
 * The binding of an endpoint's encrypted secrets, the current and the previous one. They decrypt
 * for no other endpoint (ADMIN-3).
 */
export function endpointSecretBound(endpointId: string): string {
  return `webhook_endpoint/${endpointId}`;
}
