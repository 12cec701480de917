/**
 * Reads a page of a list, newest first by rising sequence number. Keyset pagination costs the same
 * for every page. OBJECT-3, OBJECT-4, OBJECT-5. SQL, because lists are a hot path, and one
 * statement reads their lines.
 */
import type pg from "pg";
import { Refusal } from "../../domain/refusal.ts";
import { plannedOnce, statementName } from "./planned-once.ts";

/** Selects a page: `limit` is 1 to 100, and the page starts after the object with this id. */
export interface PageRequest {
  readonly limit: number;
  readonly startingAfter: string | null;
}

/** A page, and whether another one follows. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly hasMore: boolean;
}

/** One condition of a list: SQL with `?` in place of its value. */
export interface Filter {
  readonly sql: string;
  readonly value: unknown;
  /**
   * Whether one plan is right for every value, because an index has the rows of each value in the
   * order of the list.
   */
  readonly sharesPlan?: boolean;
}

/**
 * A listable table. `from` is the SQL between FROM and WHERE, its main table under the alias `t`.
 * `shown` narrows the table to the rows that count as objects.
 */
export interface Listing<Row extends pg.QueryResultRow, T> {
  readonly table: string;
  readonly columns: string;
  readonly from: string;
  readonly shown?: string;
  readonly read: (row: Row) => T;
}

/** The rows of the largest page, and the one that shows whether another page follows. */
const maxRows = 101;

/**
 * Returns the page of an organisation's objects that pass all filters. Refuses `invalid_parameter`,
 * param `starting_after`.
 */
export async function listPage<Row extends pg.QueryResultRow, T>(
  pool: Pick<pg.Pool, "query">,
  organisationId: string,
  listing: Listing<Row, T>,
  filters: readonly Filter[],
  page: PageRequest,
): Promise<Page<T>> {
  const { text, values, isBounded } = pageStatement(organisationId, listing, filters, page);
  const { rows } = await pool.query<Row>(
    isBounded ? plannedOnce({ text, values }) : { name: statementName(text), text, values },
  );
  const objects = rows.map(listing.read);
  if (objects.length === 0 && page.startingAfter !== null)
    await requirePosition(pool, organisationId, listing, page);
  const hasMore = objects.length > page.limit;
  return { data: hasMore ? objects.slice(0, page.limit) : objects, hasMore };
}

/** The statement of a page. */
interface PageStatement {
  readonly text: string;
  readonly values: unknown[];
  /** Whether one plan is right for all values. */
  readonly isBounded: boolean;
}

/**
 * Returns the statement of a page. PostgreSQL expects a tenth of the rows for an unknown LIMIT. A
 * known bound inside makes one plan right for every limit.
 */
function pageStatement<Row extends pg.QueryResultRow>(
  organisationId: string,
  listing: Listing<Row, unknown>,
  filters: readonly Filter[],
  page: PageRequest,
): PageStatement {
  const values: unknown[] = [organisationId, page.limit + 1];
  const conditions = ["t.organisation_id = $1"];
  if (listing.shown !== undefined) conditions.push(listing.shown);
  for (const filter of filters) {
    values.push(filter.value);
    conditions.push(filter.sql.replaceAll("?", `$${values.length}`));
  }
  if (page.startingAfter !== null) {
    values.push(page.startingAfter);
    const shown = listing.shown === undefined ? "" : ` AND ${listing.shown.replaceAll("t.", "c.")}`;
    conditions.push(
      `t.seq < (SELECT c.seq FROM ${listing.table} c ` +
        `WHERE c.organisation_id = $1 AND c.id = $${values.length}${shown})`,
    );
  }
  const rows = `SELECT ${listing.columns} FROM ${listing.from}
    WHERE ${conditions.join(" AND ")} ORDER BY t.seq DESC`;
  const isBounded = page.limit < maxRows && filters.every(({ sharesPlan }) => sharesPlan === true);
  const text = isBounded
    ? `SELECT * FROM (${rows} LIMIT ${maxRows}) bounded LIMIT $2`
    : `${rows} LIMIT $2`;
  return { text, values, isBounded };
}

/**
 * Returns the object with this id. Null if it does not exist or belongs to another organisation.
 */
export async function getOne<Row extends pg.QueryResultRow, T>(
  client: Pick<pg.Pool, "query">,
  organisationId: string,
  listing: Listing<Row, T>,
  id: string,
): Promise<T | null> {
  const [found] = await getThese(client, organisationId, listing, [id]);
  return found ?? null;
}

/**
 * Returns the objects with these ids, in no order. Unknown ids and ids of another organisation are
 * left out.
 */
export async function getThese<Row extends pg.QueryResultRow, T>(
  client: Pick<pg.Pool, "query">,
  organisationId: string,
  listing: Listing<Row, T>,
  ids: readonly string[],
): Promise<readonly T[]> {
  if (ids.length === 0) return [];
  const shown = listing.shown === undefined ? "" : ` AND ${listing.shown}`;
  const text = `SELECT ${listing.columns} FROM ${listing.from}
    WHERE t.organisation_id = $1 AND t.id = ANY ($2)${shown}`;
  const { rows } = await client.query<Row>(plannedOnce({ text, values: [organisationId, ids] }));
  return rows.map(listing.read);
}

/**
 * Refuses an unknown position: an empty page after a position is right only if that position
 * exists.
 */
async function requirePosition<Row extends pg.QueryResultRow, T>(
  pool: Pick<pg.Pool, "query">,
  organisationId: string,
  listing: Listing<Row, T>,
  page: PageRequest,
): Promise<void> {
  if (
    page.startingAfter !== null &&
    (await getOne(pool, organisationId, listing, page.startingAfter)) === null
  ) {
    throw new Refusal(
      "invalid_parameter",
      "starting_after is not the id of an object of this list.",
      "starting_after",
    );
  }
}
