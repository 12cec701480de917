/**
 * If publishing a chunk fails, each object is published alone. An object that fails alone is
 * rescheduled and blocks neither other objects nor deliveries.
 *
 * SQL: the new time is the server's clock plus an hour.
 */

import { isTransient } from "../database/errors.ts";
import type { Pool } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import {
  type PublishedChunk,
  PublishingLocked,
  type PublishingOrder,
  publishChunk,
} from "./publish-changes.ts";
import type { ObjectKey } from "./shown-objects.ts";

/** An object that was rescheduled, and why. */
export interface Unpublished extends ObjectKey {
  readonly error: unknown;
}

/** The result of a chunk, with the objects that were rescheduled. */
export interface PublishedIsolated extends PublishedChunk {
  readonly unpublished: readonly Unpublished[];
}

/**
 * How long to postpone an object that fails alone. The cause is in our code and a release repairs
 * it.
 */
const rescheduleFor = sql`interval '1 hour'`;

/** Whether another process publishes, or the cause passes: the caller repeats the whole chunk. */
function passes(error: unknown): boolean {
  return error instanceof PublishingLocked || isTransient(error);
}

const reschedule = command({
  name: "reschedule_publishing",
  text: sql`
    UPDATE outbox
    SET recorded_at = now() + ${rescheduleFor}
    WHERE organisation_id = $1 AND object_kind = $2 AND object_id = $3
  `,
});

/** Publishes a chunk, or each of its objects alone if that fails. Throws transient errors. */
export async function publishOrReschedule(
  pool: Pool,
  organisationId: string,
  objects: readonly ObjectKey[],
  order: PublishingOrder,
): Promise<PublishedIsolated> {
  try {
    return { ...(await publishChunk(pool, organisationId, objects, order)), unpublished: [] };
  } catch (error) {
    if (passes(error)) throw error;
  }
  let [events, deliveries] = [0, 0];
  const unpublished: Unpublished[] = [];
  for (const object of objects) {
    try {
      const published = await publishChunk(pool, organisationId, [object], order);
      events += published.events;
      deliveries += published.deliveries;
    } catch (error) {
      if (passes(error)) throw error;
      // Its entries stay for a later time.
      await reschedule(pool, organisationId, object.kind, object.id);
      unpublished.push({ ...object, error });
    }
  }
  return { events, deliveries, unpublished };
}
