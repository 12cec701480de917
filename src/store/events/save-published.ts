/**
 * Writes what a chunk publishes: the snapshots of its objects, their events, and a delivery for
 * each endpoint that subscribes to the event.
 *
 * SQL: one statement writes up to some hundred rows of each from arrays, where the typed client
 * compiles a statement for each number of rows.
 */
import type { Event, PublishedSnapshot, WebhookDelivery } from "../../gen/prisma/client.ts";
import type { Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
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

/** When the events of a publication were created, by the real clock and by the test clock. */
export type PublicationInstants = Pick<Event, "createdAt" | "clockAt">;

/** The kinds and the ids of objects, each as an array for `unnest`. */
export const keyArrays = (objects: readonly ObjectKey[]) => [
  objects.map(({ kind }) => kind),
  objects.map(({ id }) => id),
];

// A delivery refers to its event, which is checked when the statement ends.
const save = command({
  name: "save_publication",
  text: sql`
    WITH
      snapshot AS (
        INSERT INTO published_snapshots (organisation_id, object_kind, object_id, sequence, object)
        SELECT $1, * FROM unnest($3::text[], $4::uuid[], $5::bigint[], $6::text[])
        ON CONFLICT (organisation_id, object_kind, object_id) DO UPDATE
          SET
            sequence = EXCLUDED.sequence,
            object = EXCLUDED.object
      ),
      event AS (
        INSERT INTO events
          (
            organisation_id, created_at, clock_at, object_kind, object_id, id, type, sequence, body,
            traceparent
          )
        SELECT $1, $2, $17, *
        FROM
          unnest(
            $7::text[], $8::uuid[], $9::uuid[], $10::text[], $11::bigint[], $12::text[], $16::text[]
          )
      )
    INSERT INTO webhook_deliveries (organisation_id, id, event_id, endpoint_id)
    SELECT $1, * FROM unnest($13::uuid[], $14::uuid[], $15::uuid[])
  `,
});

/** Writes all of it in one statement. */
export async function savePublication(
  tx: Transaction,
  organisationId: string,
  { createdAt, clockAt }: PublicationInstants,
  { snapshots, events, deliveries }: Publication,
): Promise<void> {
  await save(
    tx,
    organisationId,
    createdAt,
    ...keyArrays(snapshots),
    snapshots.map(({ sequence }) => sequence),
    snapshots.map(({ object }) => object),
    ...keyArrays(events),
    events.map(({ eventId }) => eventId),
    events.map(({ type }) => type),
    events.map(({ sequence }) => sequence),
    events.map(({ body }) => body),
    deliveries.map(({ id }) => id),
    deliveries.map(({ eventId }) => eventId),
    deliveries.map(({ endpointId }) => endpointId),
    events.map(({ traceparent }) => traceparent),
    clockAt,
  );
}
