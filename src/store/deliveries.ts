/**
 * Deliveries of events to webhook endpoints, as an attempt reads and writes them: what is to be sent and whether it may be, what came of it,
 * and the health of the endpoint by which others are held back. Where a statement holds both, it takes the endpoint first.
 */
import type pg from "pg";
import { type AttemptRecord, recordAttempt, type SavedAttempt } from "./delivery-attempts.ts";
import { endpointSecretBound } from "./endpoint-secrets.ts";
import { inTransaction } from "./pool.ts";
import type { Sealing } from "./sealing.ts";

/** Which delivery. */
export interface DeliveryKey {
  readonly organisationId: string;
  readonly deliveryId: string;
}

/** How a delivery stands once nothing is done for it any more. */
export type SettledDelivery = "delivered" | "exhausted" | "cancelled";

/** A delivery that an attempt may be made for. */
export interface PendingDelivery {
  readonly kind: "pending";
  readonly endpointId: string;
  readonly url: string;
  /** The endpoint takes nothing. */
  readonly isDisabled: boolean;
  /** The event's, the same bytes for each attempt. */
  readonly body: string;
  /** Since when attempts were due. */
  readonly ageMs: number;
  /** Attempts since then. */
  readonly tries: number;
  /** Failures of the endpoint in a row, whatever was sent. */
  readonly failures: number;
  /** How long the endpoint's breaker stays open, 0 where one attempt may go first; null where it is closed. */
  readonly openMs: number | null;
  /** The database's clock, as text that keeps its microseconds. */
  readonly loadedAt: string;
  /** The secrets that sign, the newest first. Throws where one was sealed with a key that is not known here. */
  secrets(): readonly string[];
}

/** What is there for an id: something of the past, too, may be asked for. */
export type LoadedDelivery = PendingDelivery | { readonly kind: "settled"; readonly outcome: SettledDelivery };

/** What attempts ask of the database. */
export interface DeliveryStore {
  /** A delivery that is no longer there, like its event, counts as one that is given up. */
  load(key: DeliveryKey): Promise<LoadedDelivery>;
  /** Takes the one attempt that goes first when an endpoint's breaker has been open; false where another has taken it. */
  takeTrial(organisationId: string, endpointId: string): Promise<boolean>;
  record(key: DeliveryKey, attempt: AttemptRecord): Promise<SavedAttempt>;
  /** Notes when it is tried next, and, where `reason` is given, why nothing is sent before. */
  putOff(key: DeliveryKey, inMs: number, reason: string | null): Promise<void>;
  /** Ends a delivery to an endpoint that is disabled; what it had become meanwhile where it was no longer pending. */
  giveUp(key: DeliveryKey): Promise<SettledDelivery>;
  /** Ends a delivery whose time is over, and disables an endpoint that has not taken anything for five days. */
  exhaust(key: DeliveryKey, times: EndTimes): Promise<EndOfTrying>;
}

/** When a delivery whose time is over goes on nevertheless, in milliseconds. */
export interface EndTimes {
  /** It was asked for again within these. */
  readonly recentMs: number;
  /**
   * For so long nobody was there: it was not sent, and neither its endpoint's breaker nor an attempt at it said why. Then its time begins
   * anew, unless it is older than 30 days.
   */
  readonly awayMs: number;
}

/** The end of trying. */
export interface EndOfTrying {
  /** Null where it goes on. */
  readonly outcome: SettledDelivery | null;
  /** The endpoint that was disabled with it. */
  readonly disabled: { readonly endpointId: string; readonly reason: string } | null;
}

/**
 * How much later than planned an attempt may come before the delivery's workflow counts as lost and is started anew. An attempt takes 20
 * seconds at most, and what waits for its turn says so again each minute.
 */
export const lateMs = 10 * 60_000;

/** For how long the attempt that goes first has the endpoint to itself: longer than an attempt takes. */
const trialTime = "interval '25 seconds'";

/** After so long without anything but failures an endpoint is disabled. */
const deadAfter = "interval '5 days'";

/** What its owner reads then. */
const deadReason = "It took nothing for five days";

/** What is older does not begin anew, so that it comes to an end also where it can never be sent. */
const anewWithin = "interval '30 days'";

const loadText = `SELECT d.state, d.endpoint_id, w.url, w.status, w.failures, w.sealed_secret, w.sealing_key_id, w.previous_key_id, e.body,
    CASE WHEN w.previous_until > now() THEN w.sealed_previous END AS sealed_previous, clock_timestamp()::text AS loaded_at,
    (1000 * extract(epoch FROM clock_timestamp() - d.began_at))::float8 AS age_ms,
    (SELECT count(*) FROM webhook_attempts t WHERE t.organisation_id = $1 AND t.delivery_id = $2 AND t.at >= d.began_at)::int AS tries,
    greatest(0, 1000 * extract(epoch FROM w.open_until - clock_timestamp()))::float8 AS open_ms, w.open_until IS NOT NULL AS is_open
  FROM webhook_deliveries d JOIN webhook_endpoints w ON w.organisation_id = $1 AND w.id = d.endpoint_id
    JOIN events e ON e.organisation_id = $1 AND e.id = d.event_id
  WHERE d.organisation_id = $1 AND d.id = $2`;

interface LoadedRow {
  state: SettledDelivery | "pending";
  endpoint_id: string;
  url: string;
  status: string;
  failures: number;
  sealed_secret: Buffer;
  sealing_key_id: string;
  sealed_previous: Buffer | null;
  previous_key_id: string;
  body: string;
  loaded_at: string;
  age_ms: number;
  tries: number;
  open_ms: number;
  is_open: boolean;
}

/** The store over a pool; `sealing` opens the endpoints' secrets. */
export function createDeliveryStore(pool: pg.Pool, sealing: Sealing): DeliveryStore {
  return {
    load: (key) => load(pool, sealing, key),
    takeTrial: (organisationId, endpointId) => takeTrial(pool, organisationId, endpointId),
    record: ({ organisationId, deliveryId }, attempt) => recordAttempt(pool, organisationId, deliveryId, attempt),
    putOff: (key, inMs, reason) => putOff(pool, key, inMs, reason),
    giveUp: (key) => giveUp(pool, key),
    exhaust: (key, times) => exhaust(pool, key, times),
  };
}

async function load(pool: pg.Pool, sealing: Sealing, key: DeliveryKey): Promise<LoadedDelivery> {
  const { rows } = await pool.query<LoadedRow>({
    name: "load_delivery",
    text: loadText,
    values: [key.organisationId, key.deliveryId],
  });
  const [row] = rows;
  if (row === undefined) return { kind: "settled", outcome: "cancelled" };
  if (row.state !== "pending") return { kind: "settled", outcome: row.state };
  const { endpoint_id: endpointId, sealed_previous: previous } = row;
  const open = (bytes: Buffer, keyId: string) => sealing.open({ bytes, keyId }, endpointSecretBound(endpointId));
  return {
    kind: "pending",
    endpointId,
    url: row.url,
    isDisabled: row.status === "disabled",
    body: row.body,
    ageMs: row.age_ms,
    tries: row.tries,
    failures: row.failures,
    openMs: row.is_open ? row.open_ms : null,
    loadedAt: row.loaded_at,
    secrets: () => [
      open(row.sealed_secret, row.sealing_key_id),
      ...(previous === null ? [] : [open(previous, row.previous_key_id)]),
    ],
  };
}

async function takeTrial(pool: pg.Pool, organisationId: string, endpointId: string): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "take_endpoint_trial",
    text: `UPDATE webhook_endpoints SET open_until = clock_timestamp() + ${trialTime}
      WHERE organisation_id = $1 AND id = $2 AND open_until <= clock_timestamp()`,
    values: [organisationId, endpointId],
  });
  return rowCount === 1;
}

async function putOff(pool: pg.Pool, key: DeliveryKey, inMs: number, reason: string | null): Promise<void> {
  await pool.query({
    name: "put_off_delivery",
    text: `UPDATE webhook_deliveries SET due_at = now() + $3 * interval '1 millisecond', last_error = coalesce($4, last_error),
        last_status = CASE WHEN $4::text IS NULL THEN last_status END
      WHERE organisation_id = $1 AND id = $2 AND state = 'pending'`,
    values: [key.organisationId, key.deliveryId, inMs + lateMs, reason],
  });
}

async function giveUp(pool: pg.Pool, { organisationId, deliveryId }: DeliveryKey): Promise<SettledDelivery> {
  const { rows } = await pool.query<{ state: SettledDelivery }>({
    name: "give_up_delivery",
    text: `WITH given_up AS (
        UPDATE webhook_deliveries SET state = 'cancelled', due_at = NULL, settled_at = now()
        WHERE organisation_id = $1 AND id = $2 AND state = 'pending' RETURNING state)
      SELECT state FROM given_up
      UNION ALL SELECT state FROM webhook_deliveries
        WHERE organisation_id = $1 AND id = $2 AND state <> 'pending' AND NOT EXISTS (SELECT FROM given_up)`,
    values: [organisationId, deliveryId],
  });
  return rows[0]?.state ?? "cancelled";
}

interface ExhaustedRow {
  state: SettledDelivery | "pending";
  is_recent: boolean;
  begins_anew: boolean;
}

function exhaust(pool: pg.Pool, key: DeliveryKey, times: EndTimes): Promise<EndOfTrying> {
  const { organisationId, deliveryId } = key;
  const ends = (outcome: SettledDelivery | null): EndOfTrying => ({ outcome, disabled: null });
  return inTransaction(pool, async (client) => {
    // The endpoint first, as everywhere. An open breaker's time is as old as the last attempt at the endpoint, whatever was sent.
    const { rows: endpoints } = await client.query<{ id: string; is_held: boolean; is_dead: boolean }>({
      name: "hold_endpoint_of_delivery",
      text: `SELECT w.id, coalesce(w.open_until > now() - $3 * interval '1 millisecond', false) AS is_held,
          w.status = 'enabled' AND w.failing_since <= now() - ${deadAfter} AS is_dead
        FROM webhook_endpoints w JOIN webhook_deliveries d ON d.organisation_id = $1 AND d.id = $2 AND d.endpoint_id = w.id
        WHERE w.organisation_id = $1 FOR NO KEY UPDATE OF w`,
      values: [organisationId, deliveryId, times.awayMs],
    });
    const [endpoint] = endpoints;
    if (endpoint === undefined) return ends("cancelled");
    const { rows } = await client.query<ExhaustedRow>({
      name: "hold_delivery",
      text: `SELECT d.state, d.began_at > now() - $3 * interval '1 millisecond' AS is_recent,
          d.created_at > now() - ${anewWithin} AND NOT EXISTS (SELECT FROM webhook_attempts t WHERE t.organisation_id = $1 AND t.delivery_id = $2
            AND t.at >= greatest(d.began_at, now() - $4 * interval '1 millisecond')) AS begins_anew
        FROM webhook_deliveries d WHERE d.organisation_id = $1 AND d.id = $2 FOR NO KEY UPDATE`,
      values: [organisationId, deliveryId, times.recentMs, times.awayMs],
    });
    const [row] = rows;
    if (row === undefined) return ends("cancelled");
    if (row.state !== "pending") return ends(row.state);
    if (row.is_recent) return ends(null);
    if (row.begins_anew && !endpoint.is_held) {
      await client.query({
        name: "begin_delivery_anew",
        text: "UPDATE webhook_deliveries SET began_at = now() WHERE organisation_id = $1 AND id = $2",
        values: [organisationId, deliveryId],
      });
      return ends(null);
    }
    await client.query({
      name: "exhaust_delivery",
      text: `UPDATE webhook_deliveries SET state = 'exhausted', due_at = NULL, settled_at = now()
        WHERE organisation_id = $1 AND id = $2`,
      values: [organisationId, deliveryId],
    });
    if (!endpoint.is_dead) return ends("exhausted");
    await client.query({
      name: "disable_dead_endpoint",
      text: `UPDATE webhook_endpoints SET status = 'disabled', disabled_at = now(), disabled_reason = $3
        WHERE organisation_id = $1 AND id = $2`,
      values: [organisationId, endpoint.id, deadReason],
    });
    return { outcome: "exhausted", disabled: { endpointId: endpoint.id, reason: deadReason } };
  });
}
