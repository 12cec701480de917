/**
 * Finds unpublished work: organisations with outbox entries, their changed objects, and endpoints
 * with due deliveries (EVENT-1).
 */
import type { Pool } from "../database/pool.ts";
import { type EndpointKey, findAllDueEndpoints, findDueEndpoints } from "./due-endpoints.ts";
import type { ObjectName, WriteObject } from "./publish-changes.ts";
import { type PublishedIsolated, publishOrReschedule } from "./publish-isolated.ts";

/** Organisations with outbox entries by rising id, and the database's time of the read. */
export interface NewsPage {
  readonly organisationIds: readonly string[];
  readonly now: Date;
}

/** Store of the relay. */
export interface OutboxStore {
  findNews(after: string | null, limit: number): Promise<NewsPage>;
  findChanged(organisationId: string, until: Date, limit: number): Promise<readonly ObjectName[]>;
  tell(
    organisationId: string,
    objects: readonly ObjectName[],
    onLoaded: () => void,
  ): Promise<PublishedIsolated>;
  findDueEndpoints(organisationId: string): Promise<readonly EndpointKey[]>;
  findAllDueEndpoints(after: string | null, limit: number): Promise<readonly EndpointKey[]>;
}

/** Binds the store to a pool. `write` creates the JSON text of an object. */
export function createOutboxStore(pool: Pool, write: WriteObject): OutboxStore {
  return {
    findNews: (after, limit) => findNews(pool, after, limit),
    findChanged: (organisationId, until, limit) => findChanged(pool, organisationId, until, limit),
    tell: (organisationId, objects, onLoaded) =>
      publishOrReschedule(pool, organisationId, objects, { write, onLoaded }),
    findDueEndpoints: (organisationId) => findDueEndpoints(pool, organisationId),
    findAllDueEndpoints: (after, limit) => findAllDueEndpoints(pool, after, limit),
  };
}

/**
 * Up to `limit` organisations with outbox entries, after `after`. It reads across organisations and
 * returns ids only. It follows an index, so that one organisation's many entries do not slow down
 * the search for others. It is planned each time, for the tables' current sizes.
 */
export async function findNews(
  pool: Pick<Pool, "query">,
  after: string | null,
  limit: number,
): Promise<NewsPage> {
  const { rows } = await pool.query<{ id: string | null; now: Date }>({
    text: `SELECT o.id, n.now FROM (SELECT now()) n LEFT JOIN organisations o ON ($1::uuid IS NULL OR o.id > $1)
        AND (SELECT c.seq FROM outbox c WHERE c.organisation_id = o.id ORDER BY c.organisation_id, c.seq LIMIT 1) IS NOT NULL
      ORDER BY o.id LIMIT $2`,
    values: [after, limit],
  });
  const organisationIds = rows.map(({ id }) => id).filter((id) => id !== null);
  return { organisationIds, now: rows[0]?.now ?? new Date(0) };
}

/**
 * How many entries are read to find objects: enough for some per object, and few enough that a
 * million entries never cost one read more.
 */
const marksAtOnce = 20_000;

/**
 * Up to `limit` objects of the organisation with an entry from before `until`, longest waiting
 * first. Empty if none is left. If `until` is a minute ago or more, whole minutes are added to it.
 * So a long run leaves nothing behind, and still combines changes within a minute (EVENT-2).
 */
export async function findChanged(
  pool: Pick<Pool, "query">,
  organisationId: string,
  until: Date,
  limit: number,
): Promise<readonly ObjectName[]> {
  const { rows } = await pool.query<ObjectName>({
    text: `SELECT kind, id FROM (
        SELECT object_kind AS kind, object_id AS id, seq FROM outbox
        WHERE organisation_id = $1
          AND recorded_at <= $2::timestamptz + greatest(0, floor(extract(epoch FROM now() - $2::timestamptz) / 60)) * interval '1 minute'
        ORDER BY organisation_id, seq LIMIT ${marksAtOnce}) oldest
      GROUP BY kind, id ORDER BY min(seq) LIMIT $3`,
    values: [organisationId, until, limit],
  });
  return rows;
}
