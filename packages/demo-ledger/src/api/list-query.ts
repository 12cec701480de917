/**
 * Parses the query of a list (where, order, page, If-Modified-Since, comma lists) into SQL
 * conditions with parameters. Filters and orders that the adapter does not use are refused.
 */

/**
 * The map from Xero's names of a resource to columns: `filters` for one comparison in `where`,
 * `lists` for comma lists. `searched` are the columns of `searchTerm`, compared without regard to
 * case. Xero refuses the filters in `unindexed` in a large organisation (XERO-5).
 */
export interface ListColumns {
  readonly id: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly unindexed: readonly string[];
  readonly lists: Readonly<Record<string, string>>;
  readonly searched: readonly string[];
}

/** Conditions with their parameters. `$1` is the tenant. */
interface ListQuery {
  readonly conditions: readonly string[];
  readonly values: readonly unknown[];
  readonly order: string;
  readonly page: number | null;
  readonly pageSize: number;
  /** True if Xero refuses the query in an organisation with many records of the kind. */
  readonly isHeavy: boolean;
}

/** A query that cannot be parsed. The text is the message of the 400. */
interface UnreadableQuery {
  readonly kind: "unreadable";
  readonly message: string;
}

// Xero's default and largest page sizes.
const defaultPageSize = 100;
const maxPageSize = 1_000;

// Quotes and backslashes of the text are escaped.
const comparisonPattern = /^\s*([A-Za-z]+)\s*==\s*"((?:[^"\\]|\\.)*)"\s*$/;
const orderPattern = /^\s*UpdatedDateUTC(?:\s+(ASC|DESC))?\s*$/i;

/** Parses `where`, `order`, `page`, `pageSize`, comma lists and If-Modified-Since. */
export function readListQuery(
  tenantId: string,
  query: URLSearchParams,
  modifiedSince: string,
  { id, filters, unindexed, lists, searched }: ListColumns,
): ListQuery | UnreadableQuery {
  const conditions = ["tenant_id = $1"];
  const values: unknown[] = [tenantId];
  const bind = (value: unknown) => `$${values.push(value)}`;

  for (const [name, column] of Object.entries(lists)) {
    const wanted = query.get(name);
    if (wanted) conditions.push(`${column}::text = any(${bind(wanted.split(","))}::text[])`);
  }
  if (modifiedSince !== "") {
    const since = instantOfHeader(modifiedSince);
    if (since === null) return unreadable("If-Modified-Since is not a date");
    conditions.push(`updated_at > ${bind(since)}`);
  }
  const term = query.get("searchTerm");
  if (term && searched.length > 0) {
    const place = bind(term.toLowerCase());
    conditions.push(
      `(${searched.map((column) => `position(${place} in lower(${column})) > 0`).join(" or ")})`,
    );
  }
  const where = query.get("where");
  const [, field = "", quoted = ""] = comparisonPattern.exec(where ?? "") ?? [];
  if (where) {
    if (!Object.hasOwn(filters, field))
      return unreadable(`The where clause cannot be read: ${where}`);
    conditions.push(`${filters[field]}::text = ${bind(quoted.replace(/\\(.)/g, "$1"))}`);
  }
  const order = orderPattern.exec(query.get("order") ?? "UpdatedDateUTC");
  if (order === null) return unreadable("The order clause cannot be read");
  // Only a paged list has summaries.
  const page = query.get("page") ?? (isSummary(query) ? "1" : null);
  const pageSize = Number(query.get("pageSize") ?? defaultPageSize);
  return {
    conditions,
    values,
    order: `updated_at ${order[1] ?? "asc"}, ${id}`,
    page: page === null ? null : Math.max(1, Number(page) || 1),
    pageSize: Number.isNaN(pageSize)
      ? defaultPageSize
      : Math.min(maxPageSize, Math.max(1, Math.floor(pageSize))),
    isHeavy: unindexed.includes(field),
  };
}

/** Returns true if the query asks for `summaryOnly`. */
export function isSummary(query: URLSearchParams): boolean {
  return (query.get("summaryOnly") ?? "").toLowerCase() === "true";
}

/** Returns the clauses after FROM, with the page's limit if there is one. */
export function clausesOf(query: ListQuery): string {
  const page =
    query.page === null
      ? ""
      : ` limit ${query.pageSize} offset ${(query.page - 1) * query.pageSize}`;
  return `where ${query.conditions.join(" and ")} order by ${query.order}${page}`;
}

/** Returns the `pagination` member of a paged list, or no member without a page. */
export function paginationOf(query: ListQuery, itemCount: number): object {
  if (query.page === null) return {};
  const pageCount = Math.ceil(itemCount / query.pageSize);
  return { pagination: { page: query.page, pageSize: query.pageSize, pageCount, itemCount } };
}

// A time without a zone is in UTC, as Xero reads it.
function instantOfHeader(text: string): Date | null {
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2}|GMT|UTC)/i.test(text.slice(10));
  const at = new Date(hasZone ? text : `${text}Z`);
  return Number.isNaN(at.getTime()) ? null : at;
}

function unreadable(message: string): UnreadableQuery {
  return { kind: "unreadable", message };
}
