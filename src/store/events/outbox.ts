/**
 * Finds unpublished work: organisations with outbox entries, their changed objects, and endpoints
 * with due deliveries (EVENT-1).
 *
 * SQL: both reads follow an index with LIMIT, group, and compare with the server's clock.
 */

import type { ObjectKind } from "../../domain/events/event.ts";
import { columns } from "../../gen/columns.ts";
import { binding } from "../database/bind.ts";
import type { Pool } from "../database/pool.ts";
import { instant } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, type Query, query } from "../database/sql/statement.ts";
import { findAllDueEndpoints, findDueEndpoints } from "./due-endpoints.ts";
import { publishOrReschedule } from "./publish-changes.ts";
import type { ObjectKey, WriteObject } from "./shown-objects.ts";

/** Store of the relay. */
export type OutboxStore = ReturnType<typeof createOutboxStore>;

/** Binds the store to a pool. `write` creates the JSON text of an object. */
export function createOutboxStore(pool: Pool, write: WriteObject) {
  const bound = binding(pool);
  return {
    findChangedOrganisations: bound(findChangedOrganisations),
    findChangedObjects: bound(findChangedObjects),
    publish: (organisationId: string, objects: readonly ObjectKey[], onLoaded: () => void) =>
      publishOrReschedule(pool, organisationId, objects, { write, onLoaded }),
    findDueEndpoints: bound(findDueEndpoints),
    findAllDueEndpoints: bound(findAllDueEndpoints),
  };
}

const findOrganisations = query({
  name: "find_changed_organisations",
  planned: "each time",
  text: sql`
    SELECT o.id, n.now
    FROM
      (SELECT now()) n
      LEFT JOIN organisations o
        ON ($1::uuid IS NULL OR o.id > $1)
        AND (
          SELECT c.seq
          FROM outbox c
          WHERE c.organisation_id = o.id
          ORDER BY c.organisation_id, c.seq
          LIMIT 1
        ) IS NOT NULL
    ORDER BY o.id
    LIMIT $2
  `,
  row: { id: columns.organisation.id.orNull(), now: instant },
});

/**
 * Up to `limit` organisations with outbox entries by rising id, after `after`, and the database's
 * time of the read. It reads across organisations and returns ids only. It follows an index, so
 * that one organisation's many entries do not slow down the search for others. It is planned each
 * time, for the tables' current sizes.
 */
export async function findChangedOrganisations(
  executor: Executor,
  after: string | null,
  limit: number,
) {
  const rows = await findOrganisations(executor, after, limit);
  const organisationIds = rows.map(({ id }) => id).filter((id) => id !== null);
  return { organisationIds, now: rows[0]?.now ?? new Date(0) };
}

/**
 * How many entries are read to find objects: enough for some per object, and few enough that a
 * million entries never cost one read more than some 15 ms.
 */
const entriesAtOnce = 10_000;

/**
 * Up to `limit` objects of the organisation with an entry from before `until`, longest waiting
 * first. Empty if none is left. If `until` is a minute ago or more, whole minutes are added to it.
 * So a long run leaves nothing behind, and still combines changes within a minute (EVENT-2).
 *
 * The instant is a sub-select, which is evaluated once. As a condition it would be evaluated for
 * each entry, an eighth of the time of the read.
 */
export const findChangedObjects: Query<
  ObjectKey,
  [organisationId: string, until: Date, limit: number]
> = query({
  name: "find_changed_objects",
  planned: "each time",
  text: sql`
    SELECT kind, id
    FROM
      (
        SELECT object_kind AS kind, object_id AS id, seq
        FROM outbox
        WHERE
          organisation_id = $1
          AND recorded_at <= (
            SELECT
              $2::timestamptz + interval '1 minute' * greatest(
                0,
                floor(extract(epoch FROM now() - $2::timestamptz) / 60)
              )
          )
        ORDER BY organisation_id, seq
        LIMIT ${entriesAtOnce}
      ) oldest
    GROUP BY kind, id
    ORDER BY min(seq)
    LIMIT $3
  `,
  row: {
    kind: columns.outboxEntry.objectKind.as<ObjectKind>(),
    id: columns.outboxEntry.objectId,
  },
});
