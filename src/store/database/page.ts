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

/**
 * A statement that returns a page in its own form. `selectRows` returns the SQL that selects
 * columns of the page's rows, newest first. It may be used several times. `read` returns the
 * objects, newest first.
 */
export interface PageStatement<T> {
  readonly text: (selectRows: (columns: string) => string) => string;
  readonly read: (rows: readonly pg.QueryResultRow[]) => readonly T[];
}

/** The rows of the largest page, and the one that shows whether another page follows. */
const mostRows = 101;

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
  const statement: PageStatement<T> = {
    text: (selectRows) => selectRows(listing.columns),
    read: (rows) => (rows as readonly Row[]).map(listing.read),
  };
  return listPageBy(pool, organisationId, { listing, statement, filters, page });
}

/** A page, its filters, and the statement that reads it. */
interface PageQuery<Row extends pg.QueryResultRow, T> {
  readonly listing: Listing<Row, unknown>;
  readonly statement: PageStatement<T>;
  readonly filters: readonly Filter[];
  readonly page: PageRequest;
}

/** The same with another statement than the one of the listing's columns. */
export async function listPageBy<Row extends pg.QueryResultRow, T>(
  pool: Pick<pg.Pool, "query">,
  organisationId: string,
  { listing, statement, filters, page }: PageQuery<Row, T>,
): Promise<Page<T>> {
  const { values, selectRows, isBounded } = pageOf(organisationId, listing, filters, page);
  const text = statement.text(selectRows);
  const { rows } = await pool.query(
    isBounded ? plannedOnce({ text, values }) : { name: statementName(text), text, values },
  );
  const objects = statement.read(rows);
  if (objects.length === 0 && page.startingAfter !== null)
    await requirePosition(pool, organisationId, listing, page);
  const hasMore = objects.length > page.limit;
  return { data: hasMore ? objects.slice(0, page.limit) : objects, hasMore };
}

/** The rows of a page's statement. */
interface PageRows {
  readonly values: unknown[];
  readonly selectRows: (columns: string) => string;
  /** Whether one plan is right for all values. */
  readonly isBounded: boolean;
}

/**
 * Returns the values of a page's statement, and the SQL of its rows. PostgreSQL expects a tenth of
 * the rows for an unknown LIMIT. A known bound inside makes one plan right for every limit.
 */
function pageOf<Row extends pg.QueryResultRow>(
  organisationId: string,
  listing: Listing<Row, unknown>,
  filters: readonly Filter[],
  page: PageRequest,
): PageRows {
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
  const selected = `FROM ${listing.from} WHERE ${conditions.join(" AND ")} ORDER BY t.seq DESC`;
  const isBounded = page.limit < mostRows && filters.every(({ sharesPlan }) => sharesPlan === true);
  const selectRows = (columns: string) =>
    isBounded
      ? `SELECT * FROM (SELECT ${columns} ${selected} LIMIT ${mostRows}) bounded LIMIT $2`
      : `SELECT ${columns} ${selected} LIMIT $2`;
  return { values, selectRows, isBounded };
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
  const rows = await readRows(client, organisationId, listing, ids);
  return rows.map(listing.read);
}

/** Returns the rows of the objects with these ids, as `getThese` returns the objects. */
export async function readRows<Row extends pg.QueryResultRow>(
  client: Pick<pg.Pool, "query">,
  organisationId: string,
  listing: Listing<Row, unknown>,
  ids: readonly string[],
): Promise<readonly Row[]> {
  if (ids.length === 0) return [];
  const shown = listing.shown === undefined ? "" : ` AND ${listing.shown}`;
  const text = `SELECT ${listing.columns} FROM ${listing.from}
    WHERE t.organisation_id = $1 AND t.id = ANY ($2)${shown}`;
  const { rows } = await client.query<Row>(plannedOnce({ text, values: [organisationId, ids] }));
  return rows;
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
