/**
 * Sends single events by hand: a test event, or one delivery again. Each write is in one
 * transaction with its log entry. The caller wakes the endpoint's workflow, and if that fails the
 * relay does. A test event is written by SQL, because one statement writes it with its delivery,
 * which is due by the server's clock.
 */
import { eventBody, testEventType } from "../../../domain/events/event.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { columns } from "../../../gen/columns.ts";
import { newId } from "../../database/ids.ts";
import { lockRow } from "../../database/lock-order.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { instant, pick, type RowOf } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { type Changed, changed, refuseIfIdTaken } from "../changes.ts";
import { disabled, type TestToSend } from "./resend-events.ts";

const shownRow = {
  ...pick(columns.webhookEndpoint, "id", "url", "description", "status", "createdAt"),
  // A CHECK excludes its nulls, because Prisma declares no list as NOT NULL.
  kinds: columns.webhookEndpoint.kinds.present(),
};

const endpointRow = { ...shownRow, livemode: columns.organisation.livemode, now: instant };

type LockedEndpoint = RowOf<typeof endpointRow>;

// Locked, so that no two events of the endpoint get the same number. Rounded to milliseconds, which
// is what a body shows.
const lockEndpoint = query({
  name: "lock_webhook_endpoint",
  text: sql`
    SELECT
      ${columnsOf(sql`w`, shownRow)}, o.livemode,
      date_trunc('milliseconds', now()) AS now
    FROM
      webhook_endpoints w
      JOIN organisations o ON o.id = w.organisation_id
    WHERE w.organisation_id = $1 AND w.id = $2
    FOR NO KEY UPDATE OF w
  `,
  row: endpointRow,
});

/**
 * Writes the event and its delivery, and returns the delivery's id. Null if the organisation has no
 * such endpoint. Refuses `invalid_state` for a disabled endpoint, and `idempotency_conflict`.
 */
export async function sendTest(
  tx: Transaction,
  organisationId: string,
  { endpointId, eventId }: TestToSend,
): Promise<Changed<string | null>> {
  const [endpoint] = await lockEndpoint(tx, organisationId, endpointId);
  if (endpoint === undefined) return changed(null);
  const earlier = await db(tx).webhookDelivery.findFirst({ where: { organisationId, eventId } });
  if (earlier !== null && earlier.endpointId !== endpoint.id)
    throw new Refusal(
      "idempotency_conflict",
      "This Idempotency-Key sent a test event to another endpoint.",
      "Idempotency-Key",
    );
  if (earlier !== null) return changed(earlier.id);
  if (endpoint.status !== "enabled") throw disabled();
  const sequence = await nextSequence(tx, organisationId, endpoint);
  await closeBreaker(tx, organisationId, endpoint.id);
  const deliveryId = newId();
  await saveTest(
    tx,
    organisationId,
    endpoint.id,
    eventId,
    deliveryId,
    testEventType,
    String(sequence),
    testBody(endpoint, eventId, sequence),
    endpoint.now,
  ).catch((error: unknown) => {
    refuseIfIdTaken(error, "events");
    throw error;
  });
  return changed(deliveryId, {
    targetKind: "webhook_delivery",
    targetId: deliveryId,
    organisationId,
    before: null,
    after: { endpoint: endpoint.id, event: eventId, eventType: testEventType },
  });
}

/**
 * Returns the number of the endpoint's next event. It also rises after earlier events were deleted,
 * which happens after 30 days. It is at least the age of the endpoint in seconds.
 */
async function nextSequence(
  tx: Transaction,
  organisationId: string,
  { id, createdAt, now }: LockedEndpoint,
): Promise<bigint> {
  const last = await db(tx).event.findFirst({
    where: { organisationId, objectKind: "webhook_endpoint", objectId: id },
    orderBy: { sequence: "desc" },
    select: { sequence: true },
  });
  const ageMs = now.getTime() - createdAt.getTime();
  const least = BigInt(Math.floor(ageMs / 1_000));
  const highest = last?.sequence ?? 0n;
  return (highest > least ? highest : least) + 1n;
}

function testBody(endpoint: LockedEndpoint, eventId: string, sequence: bigint): string {
  const { id, url, description, kinds, status, createdAt, livemode, now } = endpoint;
  const shown = { id, object: "webhook_endpoint", url, description, kinds, status };
  return eventBody({
    id: eventId,
    type: testEventType,
    createdAt: now,
    livemode,
    sequence,
    object: JSON.stringify({ ...shown, created: createdAt.toISOString() }),
    previousAttributes: null,
  });
}

const saveTest = command({
  name: "send_test_event",
  text: sql`
    WITH
      event AS (
        INSERT INTO events
          (id, organisation_id, type, object_kind, object_id, sequence, body, created_at)
        VALUES ($3, $1, $5, 'webhook_endpoint', $2, $6, $7, $8)
        RETURNING id
      )
    INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id)
    SELECT $4, $1, id, $2 FROM event
  `,
});

/**
 * Makes the delivery pending, in whatever state it was, and returns its id. Null if the
 * organisation has no such delivery. Refuses `invalid_state` if its endpoint is disabled.
 */
export async function resendDelivery(
  tx: Transaction,
  organisationId: string,
  id: string,
): Promise<Changed<string | null>> {
  const where = { organisationId, id };
  const select = { endpointId: true, endpoint: { select: { status: true } } };
  const current = await db(tx).webhookDelivery.findFirst({ where, select });
  if (current === null) return changed(null);
  if (current.endpoint.status !== "enabled") throw disabled();
  await closeBreaker(tx, organisationId, current.endpointId);
  const now = await lockRow(tx, "webhook_deliveries", organisationId, id);
  const delivery = await db(tx).webhookDelivery.findFirst({ where });
  if (delivery === null || now === null) return changed(null);
  await db(tx).webhookDelivery.update({
    where,
    data: { state: "pending", beganAt: now, dueAt: now, claimedUntil: null, finishedAt: null },
  });
  const { state, attempts, endpointId: endpoint, eventId: event } = delivery;
  const shown = { endpoint, event, attempts };
  return changed(id, {
    targetKind: "webhook_delivery",
    targetId: id,
    organisationId,
    before: { ...shown, state },
    after: { ...shown, state: "pending" },
  });
}

/**
 * Closes the endpoint's breaker, because an operator who sends by hand wants its answer now. The
 * endpoint is locked before the delivery, in the order that attempts use.
 */
async function closeBreaker(tx: Transaction, organisationId: string, id: string): Promise<void> {
  await db(tx).webhookEndpoint.updateMany({
    where: { organisationId, id, openUntil: { not: null } },
    data: { openUntil: null },
  });
}
