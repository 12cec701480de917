/**
 * Sends events by hand: a test event, one delivery again, or all events that an endpoint has
 * missed. Each write is in one transaction with its log entry. Written deliveries are due at once.
 * The caller wakes the endpoint's workflow, and if that fails the relay does.
 */

import { eventBody, testEventType } from "../../../domain/events/event.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { newId } from "../../database/ids.ts";
import type { Transaction } from "../../database/pool.ts";
import type { Changed } from "../changes.ts";
import type { EventsToResend, ResendOutcome, ResentCounts, TestToSend } from "./resend-orders.ts";

interface EndpointRow {
  url: string;
  description: string;
  kinds: string[];
  status: string;
  created_at: Date;
  livemode: boolean;
  now: Date;
}

// Locked, so that no two events of the endpoint get the same number. Rounded to milliseconds, which
// is what a body shows.
const endpointText = `SELECT w.url, w.description, w.kinds, w.status, w.created_at, o.livemode, date_trunc('milliseconds', now()) AS now
  FROM webhook_endpoints w JOIN organisations o ON o.id = w.organisation_id
  WHERE w.organisation_id = $1 AND w.id = $2 FOR NO KEY UPDATE OF w`;

const earlierText = `SELECT d.id, d.endpoint_id, d.event_id FROM webhook_deliveries d
  WHERE d.organisation_id = $1 AND d.event_id = $2`;

// The number also rises after earlier events were deleted, which happens after 30 days. It is at
// least the age of the endpoint in seconds.
const sequenceText = `SELECT greatest(coalesce(max(sequence), 0), floor(extract(epoch FROM now() - $3::timestamptz))::bigint) + 1 AS sequence
  FROM events WHERE organisation_id = $1 AND object_kind = 'webhook_endpoint' AND object_id = $2`;

const testText = `WITH event AS (
    INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body, created_at)
    VALUES ($3, $1, $5, 'webhook_endpoint', $2, $6, $7, $8) RETURNING id
  )
  INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id)
  SELECT $4, $1, id, $2 FROM event`;

/** Writes the event and its delivery. Null if the organisation has no such endpoint. */
export async function sendTest(
  client: Transaction,
  organisationId: string,
  { endpointId, eventId }: TestToSend,
): Promise<Changed<ResendOutcome | null>> {
  const endpoint = await first<EndpointRow>(client, endpointText, [organisationId, endpointId]);
  if (endpoint === null) return { result: null, changes: [] };
  const earlier = await first<DeliveryRow>(client, earlierText, [organisationId, eventId]);
  if (earlier !== null) {
    const isSame = earlier.endpoint_id === endpointId.toLowerCase();
    return { result: isSame ? due(organisationId, earlier) : { kind: "other" }, changes: [] };
  }
  if (endpoint.status !== "enabled") return { result: { kind: "disabled" }, changes: [] };
  const { url, description, kinds, status, created_at: createdAt, livemode, now } = endpoint;
  const count = await first<{ sequence: string }>(client, sequenceText, [
    organisationId,
    endpointId,
    createdAt,
  ]);
  const sequence = BigInt(count?.sequence ?? 1);
  const shown = {
    id: endpointId.toLowerCase(),
    object: "webhook_endpoint",
    url,
    description,
    kinds,
    status,
  };
  const body = eventBody({
    id: eventId,
    type: testEventType,
    createdAt: now,
    livemode,
    sequence,
    object: JSON.stringify({ ...shown, created: createdAt.toISOString() }),
    previousAttributes: null,
  });
  const id = newId();
  await passBreaker(client, organisationId, endpointId);
  const values = [
    organisationId,
    endpointId,
    eventId,
    id,
    testEventType,
    String(sequence),
    body,
    now,
  ];
  await client.query({ name: "send_test_event", text: testText, values });
  const delivery = { endpoint: shown.id, event: eventId, eventType: testEventType };
  const change = {
    targetKind: "webhook_delivery",
    targetId: id,
    organisationId,
    before: null,
    after: delivery,
  } as const;
  return {
    result: due(organisationId, { id, endpoint_id: shown.id, event_id: eventId }),
    changes: [change],
  };
}

interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
}

function due(organisationId: string, row: DeliveryRow): ResendOutcome {
  const { id: deliveryId, endpoint_id: endpointId, event_id: eventId } = row;
  return { kind: "due", delivery: { organisationId, deliveryId, eventId, endpointId } };
}

const resendText = `UPDATE webhook_deliveries
  SET state = 'pending', began_at = now(), due_at = now(), finished_at = NULL
  WHERE organisation_id = $1 AND id = $2`;

const standingText = `SELECT d.endpoint_id, w.status FROM webhook_deliveries d
    JOIN webhook_endpoints w ON w.organisation_id = d.organisation_id AND w.id = d.endpoint_id
  WHERE d.organisation_id = $1 AND d.id = $2`;

const heldText = `SELECT id, endpoint_id, event_id, state, attempts FROM webhook_deliveries
  WHERE organisation_id = $1 AND id = $2 FOR NO KEY UPDATE`;

/**
 * Makes the delivery pending, in whatever state it was. Null if the organisation has no delivery
 * with this id.
 */
export async function resendDelivery(
  client: Transaction,
  organisationId: string,
  id: string,
): Promise<Changed<ResendOutcome | null>> {
  const key = [organisationId, id];
  const standing = await first<{ endpoint_id: string; status: string }>(client, standingText, key);
  if (standing === null) return { result: null, changes: [] };
  if (standing.status !== "enabled") return { result: { kind: "disabled" }, changes: [] };
  await passBreaker(client, organisationId, standing.endpoint_id);
  const row = await first<DeliveryRow & { state: string; attempts: number }>(client, heldText, key);
  if (row === null) return { result: null, changes: [] };
  await client.query({ name: "resend_delivery", text: resendText, values: key });
  const { state, attempts, endpoint_id: endpoint, event_id: event } = row;
  const shown = { endpoint, event, attempts };
  const target = { targetKind: "webhook_delivery", targetId: row.id, organisationId } as const;
  const change = { ...target, before: { ...shown, state }, after: { ...shown, state: "pending" } };
  return { result: due(organisationId, row), changes: [change] };
}

/**
 * Closes the endpoint's breaker, because an operator who sends by hand wants its answer now. The
 * endpoint is locked before the delivery, in the order that attempts use.
 */
async function passBreaker(
  client: Transaction,
  organisationId: string,
  endpointId: string,
): Promise<void> {
  await client.query({
    name: "pass_endpoint_breaker",
    text: "UPDATE webhook_endpoints SET open_until = NULL WHERE organisation_id = $1 AND id = $2 AND open_until IS NOT NULL",
    values: [organisationId, endpointId],
  });
}

/** The first key of the advisory lock, which separates it from others: "rsnd" in ASCII. */
const lockClass = 0x72736e64;

const lockText = "SELECT pg_advisory_xact_lock($1, hashtext($2))";

// Without statistics of the tables, the planner would read and sort all of them for each page.
const readByIndex = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off";

/**
 * Events in a statement. It takes tens of milliseconds, a few hundred if all of them must be sent.
 */
const pageSize = 2_000;

/**
 * Statements in a call. They take a few seconds at most, which bounds the caller's wait and the
 * lock.
 */
const pageLimit = 10;

// Scans from the newest event backwards, so that older events are not read. Transactions commit in
// a slightly different order than they begin.
const beginText = `SELECT seq FROM events WHERE organisation_id = $1 AND created_at < $2::timestamptz - interval '1 minute'
  ORDER BY seq DESC LIMIT 1`;

const afterText = "SELECT seq FROM events WHERE organisation_id = $1 AND id = $2";

// Events are deleted after 30 days, so those close to that age are left out. Pending deliveries are
// not locked, so that no attempt waits for this statement.
const pageText = `WITH page AS MATERIALIZED (
    SELECT id, seq, type, object_kind, created_at FROM events WHERE organisation_id = $1 AND seq > $3 ORDER BY seq LIMIT $4
  ), wanted AS (
    SELECT p.id AS event_id, p.seq FROM page p JOIN webhook_endpoints w ON w.organisation_id = $1 AND w.id = $2
    WHERE p.created_at >= greatest($5, now() - interval '29 days 23 hours') AND p.object_kind <> 'webhook_endpoint'
      AND (cardinality(w.kinds) = 0 OR p.type = ANY (w.kinds))
  ), standing AS MATERIALIZED (
    SELECT w.event_id, w.seq, d.id, d.state FROM wanted w LEFT JOIN LATERAL (
      SELECT d.id, d.state FROM webhook_deliveries d
      WHERE d.organisation_id = $1 AND d.event_id = w.event_id AND d.endpoint_id = $2 LIMIT 1
    ) d ON true
  ), resent AS (
    UPDATE webhook_deliveries d SET state = 'pending', began_at = now(), due_at = now(), finished_at = NULL FROM standing s
    WHERE d.organisation_id = $1 AND d.id = s.id AND s.state = ANY ($6::text[]) AND d.state = ANY ($6::text[]) RETURNING 1
  ), missed AS (
    SELECT event_id, row_number() OVER (ORDER BY seq) AS place FROM standing WHERE id IS NULL
  ), added AS (
    INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id)
    SELECT n.id, $1, m.event_id, $2 FROM missed m JOIN unnest($7::uuid[]) WITH ORDINALITY AS n (id, place) USING (place) ORDER BY place
    ON CONFLICT (event_id, endpoint_id) DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM resent) AS resent, (SELECT count(*)::int FROM added) AS added,
    (SELECT count(*)::int FROM page) AS found, l.seq AS last, l.id AS last_event
  FROM (SELECT seq, id FROM page ORDER BY seq DESC LIMIT 1) l`;

interface PageRow {
  resent: number;
  added: number;
  found: number;
  last: string;
  last_event: string;
}

/**
 * Makes the deliveries of the next 20,000 events pending, and adds missing ones. Null if the
 * organisation has no such endpoint. Refuses `invalid_parameter`, param `after_event`.
 */
export async function resendSince(
  client: Transaction,
  organisationId: string,
  events: EventsToResend,
): Promise<Changed<ResentCounts | "disabled" | null>> {
  const { endpointId } = events;
  // One call at a time: two calls would deadlock on each other's rows.
  await client.query(readByIndex);
  await client.query({ text: lockText, values: [lockClass, endpointId.toLowerCase()] });
  const endpoint = await first<{ status: string }>(
    client,
    "SELECT status FROM webhook_endpoints WHERE organisation_id = $1 AND id = $2",
    [organisationId, endpointId],
  );
  if (endpoint === null) return { result: null, changes: [] };
  if (endpoint.status !== "enabled") return { result: "disabled", changes: [] };
  const states = ["exhausted", "cancelled", ...(events.includeDelivered ? ["delivered"] : [])];
  const result = await resendPages(client, organisationId, events, states);
  const { resent, added } = result;
  if (resent + added === 0) return { result, changes: [] };
  const target = {
    targetKind: "webhook_endpoint",
    targetId: endpointId.toLowerCase(),
    organisationId,
  } as const;
  const { since: resentSince, includeDelivered } = events;
  return {
    result,
    changes: [{ ...target, before: {}, after: { resentSince, includeDelivered, resent, added } }],
  };
}

async function resendPages(
  client: Transaction,
  organisationId: string,
  events: EventsToResend,
  states: readonly string[],
): Promise<ResentCounts> {
  let [resent, added] = [0, 0];
  let from = await seqBefore(client, organisationId, events);
  for (let pages = 1; ; pages += 1) {
    const ids = Array.from({ length: pageSize }, () => newId());
    const values = [organisationId, events.endpointId, from, pageSize, events.since, states, ids];
    const page = await first<PageRow>(client, pageText, values);
    if (page === null) return { resent, added, lastEvent: null };
    resent += page.resent;
    added += page.added;
    if (page.found < pageSize) return { resent, added, lastEvent: null };
    if (pages === pageLimit) return { resent, added, lastEvent: page.last_event };
    from = page.last;
  }
}

/** Returns the number of the last event that is left out. */
async function seqBefore(
  client: Transaction,
  organisationId: string,
  { since, afterEvent }: EventsToResend,
): Promise<string> {
  if (afterEvent === null) {
    return (await first<{ seq: string }>(client, beginText, [organisationId, since]))?.seq ?? "0";
  }
  const last = await first<{ seq: string }>(client, afterText, [organisationId, afterEvent]);
  if (last !== null) return last.seq;
  throw new Refusal(
    "invalid_parameter",
    "after_event is not the id of an event that is kept.",
    "after_event",
  );
}

async function first<Row extends object>(
  client: Transaction,
  text: string,
  values: readonly unknown[],
): Promise<Row | null> {
  const { rows } = await client.query<Row>({ text, values: [...values] });
  return rows[0] ?? null;
}
