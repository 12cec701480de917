/**
 * A chunk of telling that fails is told object by object, and an object that cannot be told alone is put off: it holds up no other, and no
 * delivery of its organisation.
 */
import pg from "pg";
import { type ObjectName, PublishingHeld, type PublishingOrder, type PublishedChunk, publishChunk } from "./publish-changes.ts";

/** An object that was put off, and why. */
export interface Unpublished extends ObjectName {
  readonly error: unknown;
}

/** What a chunk came to, and what of it was put off. */
export interface PublishedIsolated extends PublishedChunk {
  readonly untold: readonly Unpublished[];
}

/** For how long an object is left alone that cannot be told: the cause is ours, and is mended by a release. */
const rescheduleFor = "interval '1 hour'";

/**
 * A fault of the moment (SQLSTATE classes 40, 53, 55, 57, not a statement that takes too long: 57014), or another process at the same work:
 * whoever asked tries all of it again.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof PublishingHeld) return true;
  return error instanceof pg.DatabaseError && /^(40|53|55|57(?!014))/.test(error.code ?? "");
}

/** Tells a chunk, each object for itself where it fails. Throws what is of the moment. */
export async function publishOrReschedule(
  pool: pg.Pool,
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

/** Its marks stay, for a later time. */
async function reschedule(pool: pg.Pool, organisationId: string, { kind, id }: ObjectName): Promise<void> {
  await pool.query({
    name: "reschedule_publishing",
    text: `UPDATE outbox SET recorded_at = now() + ${rescheduleFor}
      WHERE organisation_id = $1 AND object_kind = $2 AND object_id = $3`,
    values: [organisationId, kind, id],
  });
}
