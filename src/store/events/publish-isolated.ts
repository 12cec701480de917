/**
 * A chunk of telling that fails is told object by object, and an object that cannot be told alone is put off: it holds up no other, and no
 * delivery of its organisation.
 */
import pg from "pg";
import { type ObjectName, TellingHeld, type TellingOrder, type ToldChunk, tellChunk } from "./publish-changes.ts";

/** An object that was put off, and why. */
export interface Untold extends ObjectName {
  readonly error: unknown;
}

/** What a chunk came to, and what of it was put off. */
export interface ToldApart extends ToldChunk {
  readonly untold: readonly Untold[];
}

/** For how long an object is left alone that cannot be told: the cause is ours, and is mended by a release. */
const putOffFor = "interval '1 hour'";

/**
 * A fault of the moment (SQLSTATE classes 40, 53, 55, 57, not a statement that takes too long: 57014), or another process at the same work:
 * whoever asked tries all of it again.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof TellingHeld) return true;
  return error instanceof pg.DatabaseError && /^(40|53|55|57(?!014))/.test(error.code ?? "");
}

/** Tells a chunk, each object for itself where it fails. Throws what is of the moment. */
export async function tellOrPutOff(
  pool: pg.Pool,
  organisationId: string,
  objects: readonly ObjectName[],
  order: TellingOrder,
): Promise<ToldApart> {
  try {
    return { ...(await tellChunk(pool, organisationId, objects, order)), untold: [] };
  } catch (error) {
    if (isPassing(error)) throw error;
  }
  let [events, deliveries] = [0, 0];
  const untold: Untold[] = [];
  for (const object of objects) {
    try {
      const told = await tellChunk(pool, organisationId, [object], order);
      events += told.events;
      deliveries += told.deliveries;
    } catch (error) {
      if (isPassing(error)) throw error;
      await putOff(pool, organisationId, object);
      untold.push({ ...object, error });
    }
  }
  return { events, deliveries, untold };
}

/** Its marks stay, for a later time. */
async function putOff(pool: pg.Pool, organisationId: string, { kind, id }: ObjectName): Promise<void> {
  await pool.query({
    name: "put_off_telling",
    text: `UPDATE object_changes SET marked_at = now() + ${putOffFor}
      WHERE organisation_id = $1 AND object_kind = $2 AND object_id = $3`,
    values: [organisationId, kind, id],
  });
}
