/**
 * Reads a page of a list, newest first by rising sequence number. Keyset pagination costs the same
 * for every page. OBJECT-3, OBJECT-4, OBJECT-5. SQL, because lists are a hot path, and one
 * statement reads their lines.
 */
import { unknownPosition } from "../../domain/refusal.ts";
import { isId } from "./ids.ts";
import type { RowOf, Shape } from "./sql/columns.ts";
import { asSql, joinSql, type Sql, sql } from "./sql/sql.ts";
import {
  declare,
  type Executor,
  type Query,
  query,
  statementName,
  undeclaredQuery,
} from "./sql/statement.ts";

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
  readonly sql: Sql;
  readonly value: unknown;
  /**
   * Whether one plan is right for every value, because an index has the rows of each value in the
   * order of the list.
   */
  readonly sharesPlan?: boolean;
}

/** The condition on a value. None for an absent one, which excludes nothing. */
export function filter(condition: Sql, value: unknown, sharesPlan = false): readonly Filter[] {
  return (value ?? null) === null ? [] : [{ sql: condition, value, sharesPlan }];
}

/**
 * A listable table, with the alias `t`. `from` is the SQL between FROM and WHERE, the table itself
 * by default. `shown` narrows the table to the rows that count as objects.
 */
interface ListedTable<S extends Shape, T> {
  readonly table: Sql;
  readonly columns: Sql;
  readonly row: S;
  readonly from?: Sql;
  readonly shown?: Sql;
  readonly read: (row: RowOf<S>) => T;
}

/** A listable table with its statements. */
export interface Listing<S extends Shape, T> extends ListedTable<S, T> {
  /** Reads the objects with these ids. */
  readonly byIds: Query<RowOf<S>>;
}

/**
 * Declares a list with all of its filters. A page has the filters of its request, so that the
 * planner sees no others.
 */
export function listing<const S extends Shape, T>(
  name: string,
  table: ListedTable<S, T>,
  filters: readonly Filter[] = [],
): Listing<S, T> {
  declarePage(`list_${name}`, table, filters);
  const shown = table.shown === undefined ? sql`` : sql` AND ${table.shown}`;
  const byIds = query({
    name: `get_${name}`,
    planned: "once",
    text: sql`SELECT ${table.columns} FROM ${table.from ?? sql`${table.table} t`}
      WHERE t.organisation_id = $1 AND t.id = ANY ($2)${shown}`,
    row: table.row,
  });
  return { ...table, byIds };
}

/** Declares the page of a list with other filters than those of the list itself. */
export function declarePage<S extends Shape, T>(
  name: string,
  table: ListedTable<S, T>,
  filters: readonly Filter[],
): void {
  const { text } = pageStatement("", table, filters, { limit: 1, startingAfter: "" });
  declare({ name, text, row: table.row });
}

/** The rows of the largest page, and the one that shows whether another page follows. */
const maxRows = 101;

/**
 * Returns the page of an organisation's objects that pass all filters. Refuses `invalid_parameter`,
 * param `starting_after`.
 */
export async function listPage<S extends Shape, T>(
  executor: Executor,
  organisationId: string,
  listing: Listing<S, T>,
  filters: readonly Filter[],
  page: PageRequest,
): Promise<Page<T>> {
  const { text, values, isBounded } = pageStatement(organisationId, listing, filters, page);
  const settings = { name: statementName(text), text, row: listing.row };
  const read = undeclaredQuery(isBounded ? { ...settings, planned: "once" } : settings);
  const objects = (await read(executor, ...values)).map(listing.read);
  // An empty page after a position is right only if that position exists.
  const after = objects.length === 0 ? page.startingAfter : null;
  if (after !== null && (await getOne(executor, organisationId, listing, after)) === null)
    throw unknownPosition();
  const hasMore = objects.length > page.limit;
  return { data: hasMore ? objects.slice(0, page.limit) : objects, hasMore };
}

/**
 * Returns the statement of a page, and whether one plan is right for all values. PostgreSQL expects
 * a tenth of the rows for an unknown LIMIT. A known bound inside makes one plan right for every
 * limit.
 */
function pageStatement<S extends Shape, T>(
  organisationId: string,
  { table, columns, from = sql`${table} t`, shown }: ListedTable<S, T>,
  filters: readonly Filter[],
  page: PageRequest,
) {
  const values: unknown[] = [organisationId, page.limit + 1];
  const conditions = [sql`t.organisation_id = $1`];
  if (shown !== undefined) conditions.push(shown);
  for (const filter of filters) {
    values.push(filter.value);
    conditions.push(asSql(filter.sql.replaceAll("?", `$${values.length}`)));
  }
  if (page.startingAfter !== null) {
    values.push(page.startingAfter);
    const ofPosition = [sql`c.organisation_id = $1`, sql`c.id = $${values.length}`];
    if (shown !== undefined) ofPosition.push(asSql(shown.replaceAll("t.", "c.")));
    const position = joinSql(ofPosition, " AND ");
    conditions.push(sql`t.seq < (SELECT c.seq FROM ${table} c WHERE ${position})`);
  }
  const rows = sql`
    SELECT ${columns}
    FROM ${from}
    WHERE ${joinSql(conditions, " AND ")}
    ORDER BY t.seq DESC
  `;
  const isBounded = page.limit < maxRows && filters.every(({ sharesPlan }) => sharesPlan === true);
  const text = isBounded
    ? sql`SELECT * FROM (${rows} LIMIT ${maxRows}) bounded LIMIT $2`
    : sql`${rows} LIMIT $2`;
  return { text, values, isBounded };
}

/**
 * Returns the object with this id. Null if it does not exist or belongs to another organisation.
 */
export async function getOne<S extends Shape, T>(
  executor: Executor,
  organisationId: string,
  listing: Listing<S, T>,
  id: string,
): Promise<T | null> {
  const [found] = await getThese(executor, organisationId, listing, [id]);
  return found ?? null;
}

/**
 * Returns the objects with these ids, in no order. Unknown ids and ids of another organisation are
 * left out. An id that is no UUID identifies no object (REQUEST-12).
 */
export async function getThese<S extends Shape, T>(
  executor: Executor,
  organisationId: string,
  listing: Listing<S, T>,
  ids: readonly string[],
): Promise<readonly T[]> {
  const uuids = ids.filter(isId);
  if (uuids.length === 0) return [];
  const rows = await listing.byIds(executor, organisationId, uuids);
  return rows.map(listing.read);
}

/**
 * Binds a kind of objects: its pages by their filters, and one object by its id. Null if the
 * organisation has none with the id.
 */
export function collection<S extends Shape, T, Filters>(
  pool: Executor,
  listing: Listing<S, T>,
  toFilters: (filters: Filters) => readonly Filter[],
) {
  return {
    list: (organisationId: string, filters: Filters, page: PageRequest) =>
      listPage(pool, organisationId, listing, toFilters(filters), page),
    get: (organisationId: string, id: string) => getOne(pool, organisationId, listing, id),
  };
}

/**
 * Returns the page of `rows`, which begin with the position if there is one. Refuses
 * `invalid_parameter`, param `starting_after`, if they begin otherwise.
 */
export function pageAfter<T>(
  rows: readonly T[],
  { limit, startingAfter }: PageRequest,
  idOf: (row: T) => string,
): Page<T> {
  const [first] = rows;
  if (startingAfter === null) return { data: rows.slice(0, limit), hasMore: rows.length > limit };
  if (first === undefined || idOf(first) !== startingAfter) throw unknownPosition();
  return { data: rows.slice(1, limit + 1), hasMore: rows.length > limit + 1 };
}
