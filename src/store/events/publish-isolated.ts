/**
 * If publishing a chunk fails, each object is published alone. An object that fails alone is
 * rescheduled and blocks neither other objects nor deliveries.
 */
import { DatabaseError, type Pool } from "../database/pool.ts";
import {
  type ObjectName,
  type PublishedChunk,
  PublishingHeld,
  type PublishingOrder,
  publishChunk,
} from "./publish-changes.ts";

/** An object that was rescheduled, and why. */
export interface Unpublished extends ObjectName {
  readonly error: unknown;
}

/** The result of a chunk, with the objects that were rescheduled. */
export interface PublishedIsolated extends PublishedChunk {
  readonly untold: readonly Unpublished[];
}

/**
 * How long to postpone an object that fails alone. The cause is in our code and a release repairs
 * it.
 */
const rescheduleFor = "interval '1 hour'";

/**
 * Transient: another process publishes, or SQLSTATE class 40, 53, 55 or 57, except a statement
 * timeout (57014). The caller repeats the whole chunk.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof PublishingHeld) return true;
  return error instanceof DatabaseError && /^(40|53|55|57(?!014))/.test(error.code ?? "");
}

/** Publishes a chunk, or each of its objects alone if that fails. Throws transient errors. */
export async function publishOrReschedule(
  pool: Pool,
  organisationId: string,
  objects: readonly ObjectName[],
  order: PublishingOrder,
): Promise<PublishedIsolated> {
  try {
    return { ...(await publishChunk(pool, organisationId, objects, order)), untold: [] };
  } catch (error) {
    if (isPassing(error)) throw error;
  }
  let [events, deliveries] = [0, 0];
  const untold: Unpublished[] = [];
  for (const object of objects) {
    try {
      const told = await publishChunk(pool, organisationId, [object], order);
      events += told.events;
      deliveries += told.deliveries;
    } catch (error) {
      if (isPassing(error)) throw error;
      await reschedule(pool, organisationId, object);
      untold.push({ ...object, error });
    }
  }
  return { events, deliveries, untold };
}

/** Its entries stay for a later time. */
async function reschedule(
  pool: Pool,
  organisationId: string,
  { kind, id }: ObjectName,
): Promise<void> {
  await pool.query({
    name: "reschedule_publishing",
    text: `UPDATE outbox SET recorded_at = now() + ${rescheduleFor}
      WHERE organisation_id = $1 AND object_kind = $2 AND object_id = $3`,
    values: [organisationId, kind, id],
  });
}
