/**
 * Writes what a chunk publishes: the snapshots of its objects, their events, and a delivery for
 * each endpoint that subscribes to the event.
 *
 * SQL: each statement writes up to some hundred rows from arrays, where the typed client compiles a
 * statement for each number of rows.
 */
import type { Event, PublishedSnapshot, WebhookDelivery } from "../../gen/prisma/client.ts";
import type { Transaction } from "../database/pool.ts";
import type { ObjectKey } from "./shown-objects.ts";

/** The last published state of an object. */
export type Snapshot = Pick<PublishedSnapshot, "sequence" | "object">;

/** What to write. Each event and each delivery has its id. */
export interface Publication {
  readonly snapshots: readonly (ObjectKey & Snapshot)[];
  readonly events: readonly (ObjectKey &
    Pick<Event, "type" | "sequence" | "body" | "traceparent"> & { readonly eventId: string })[];
  readonly deliveries: readonly Pick<WebhookDelivery, "id" | "eventId" | "endpointId">[];
}

/** The kinds and the ids of objects, each as an array for `unnest`. */
export const columnsOf = (objects: readonly ObjectKey[]) => [
  objects.map(({ kind }) => kind),
  objects.map(({ id }) => id),
];

/** Writes all of it. The events are created `now`. */
export async function savePublication(
  tx: Transaction,
  organisationId: string,
  now: Date,
  { snapshots, events, deliveries }: Publication,
): Promise<void> {
  if (snapshots.length > 0) await saveSnapshots(tx, organisationId, snapshots);
  if (events.length > 0) await saveEvents(tx, organisationId, now, events);
  if (deliveries.length > 0) await saveDeliveries(tx, organisationId, deliveries);
}

async function saveSnapshots(
  tx: Transaction,
  organisationId: string,
  snapshots: Publication["snapshots"],
): Promise<void> {
  await tx.query({
    name: "save_published_snapshots",
    text: `INSERT INTO published_snapshots
        (organisation_id, object_kind, object_id, sequence, object)
      SELECT $1, * FROM unnest($2::text[], $3::uuid[], $4::bigint[], $5::text[])
      ON CONFLICT (organisation_id, object_kind, object_id)
        DO UPDATE SET sequence = EXCLUDED.sequence, object = EXCLUDED.object`,
    values: [
      organisationId,
      ...columnsOf(snapshots),
      snapshots.map(({ sequence }) => sequence),
      snapshots.map(({ object }) => object),
    ],
  });
}

async function saveEvents(
  tx: Transaction,
  organisationId: string,
  now: Date,
  events: Publication["events"],
): Promise<void> {
  await tx.query({
    name: "save_events",
    text: `INSERT INTO events
        (organisation_id, created_at, object_kind, object_id, id, type, sequence, body, traceparent)
      SELECT $1, $2, * FROM unnest(
        $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::bigint[], $8::text[], $9::text[])`,
    values: [
      organisationId,
      now,
      ...columnsOf(events),
      events.map(({ eventId }) => eventId),
      events.map(({ type }) => type),
      events.map(({ sequence }) => sequence),
      events.map(({ body }) => body),
      events.map(({ traceparent }) => traceparent),
    ],
  });
}

async function saveDeliveries(
  tx: Transaction,
  organisationId: string,
  deliveries: Publication["deliveries"],
): Promise<void> {
  await tx.query({
    name: "save_deliveries",
    text: `INSERT INTO webhook_deliveries (organisation_id, id, event_id, endpoint_id)
      SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::uuid[])`,
    values: [
      organisationId,
      deliveries.map(({ id }) => id),
      deliveries.map(({ eventId }) => eventId),
      deliveries.map(({ endpointId }) => endpointId),
    ],
  });
}
