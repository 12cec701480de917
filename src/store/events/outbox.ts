/**
 * What there is to tell: which organisations have changes that nobody was told of, and of which
 * objects; and which endpoints have deliveries due.
 */
import type pg from "pg";
import { type EndpointKey, findAllDueEndpoints, findDueEndpoints } from "./due-endpoints.ts";
import type { ObjectName, WriteObject } from "./publish-changes.ts";
import { type PublishedIsolated, publishOrReschedule } from "./publish-isolated.ts";

/** Organisations that have something to be told, by rising id, and the database's instant at which they had. */
export interface NewsPage {
  readonly organisationIds: readonly string[];
  readonly now: Date;
}

/** What telling asks of the database. */
export interface OutboxStore {
  findNews(after: string | null, limit: number): Promise<NewsPage>;
  findChanged(organisationId: string, until: Date, limit: number): Promise<readonly ObjectName[]>;
  tell(organisationId: string, objects: readonly ObjectName[], onLoaded: () => void): Promise<PublishedIsolated>;
  findDueEndpoints(organisationId: string): Promise<readonly EndpointKey[]>;
  findAllDueEndpoints(after: string | null, limit: number): Promise<readonly EndpointKey[]>;
}

/** The store over a pool; `write` makes the text of objects. */
export function createOutboxStore(pool: pg.Pool, write: WriteObject): OutboxStore {
  return {
    findNews: (after, limit) => findNews(pool, after, limit),
    findChanged: (organisationId, until, limit) => findChanged(pool, organisationId, until, limit),
    tell: (organisationId, objects, onLoaded) => publishOrReschedule(pool, organisationId, objects, { write, onLoaded }),
    findDueEndpoints: (organisationId) => findDueEndpoints(pool, organisationId),
    findAllDueEndpoints: (after, limit) => findAllDueEndpoints(pool, after, limit),
  };
}

/**
 * Up to `limit` organisations that have marks, from the one after `after` on. Looks over all
 * organisations: it carries ids only. Asked in the order of an index, so that where nearly
 * everything is one organisation's the others are not looked for row by row; and planned each time,
 * by what the tables hold then.
 */
export async function findNews(pool: Pick<pg.Pool, "query">, after: string | null, limit: number): Promise<NewsPage> {
  const { rows } = await pool.query<{ id: string | null; now: Date }>({
    text: `SELECT o.id, n.now FROM (SELECT now()) n LEFT JOIN organisations o ON ($1::uuid IS NULL OR o.id > $1)
        AND (SELECT c.seq FROM outbox c WHERE c.organisation_id = o.id ORDER BY c.organisation_id, c.seq LIMIT 1) IS NOT NULL
      ORDER BY o.id LIMIT $2`,
    values: [after, limit],
  });
  const organisationIds = rows.map(({ id }) => id).filter((id) => id !== null);
  return { organisationIds, now: rows[0]?.now ?? new Date(0) };
}

/** Marks that are looked at for their objects: some for each object, and few enough that a million of them cost one look no more. */
const marksAtOnce = 20_000;

/**
 * Objects of the organisation that have a mark of before `until`, up to `limit` of those that wait longest; none where nothing is left. Where
 * `until` is a minute ago or more it is whole minutes later: telling that takes long leaves nothing waiting for its end, and goes on combining
 * what changes within a minute.
 */
export async function findChanged(
  pool: Pick<pg.Pool, "query">,
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
