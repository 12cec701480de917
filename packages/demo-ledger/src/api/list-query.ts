/**
 * Parses the query of a list (where, order, page, If-Modified-Since, comma lists) into SQL
 * conditions with parameters.
 */

/**
 * The map from Xero's names of a resource to columns. Only these can be filtered and ordered by.
 * `cheap` are the names that Xero accepts at any volume. `OR` is accepted only over `cheapOr`
 * (XERO-5).
 */
export interface ListColumns {
  readonly fields: Readonly<Record<string, string>>;
  readonly id: string;
  readonly cheap: {
    readonly where: readonly string[];
    readonly order: readonly string[];
    readonly or: string | null;
  };
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

// One comparison. Quotes and backslashes of its text are escaped.
const comparisonPattern =
  /^\s*([A-Za-z.]+)\s*(==|!=)\s*(?:Guid\("([^"]*)"\)|"((?:[^"\\]|\\.)*)")\s*/;
const joinPattern = /^(AND|OR|&&|\|\|)\s*/i;

/**
 * Parses `where`, `order`, `page`, `pageSize` and If-Modified-Since. `lists` maps the names of
 * comma lists to columns. `searched` are the columns of `searchTerm`, compared without regard to
 * case.
 */
export function readListQuery(
  tenantId: string,
  query: URLSearchParams,
  modifiedSince: string,
  columns: ListColumns,
  lists: Readonly<Record<string, string>>,
  searched: readonly string[],
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
  const clause = query.get("where");
  const where = clause ? readWhere(clause, columns, bind) : null;
  if (clause && where === null) return unreadable(`The where clause cannot be read: ${clause}`);
  if (where) conditions.push(`(${where.condition})`);
  const order = readOrder(query.get("order"), columns);
  if (order === null) return unreadable("The order clause cannot be read");
  // Only a paged list has summaries.
  const page = query.get("page") ?? (isSummary(query) ? "1" : null);
  const pageSize = Number(query.get("pageSize") ?? defaultPageSize);
  return {
    conditions,
    values,
    order,
    page: page === null ? null : Math.max(1, Number(page) || 1),
    pageSize: Number.isNaN(pageSize)
      ? defaultPageSize
      : Math.min(maxPageSize, Math.max(1, Math.floor(pageSize))),
    isHeavy: isHeavy(where, (query.get("order") ?? "").trim().split(/\s+/)[0] ?? "", columns),
  };
}

/** Returns true if the query asks for `summaryOnly`. */
export function isSummary(query: URLSearchParams): boolean {
  return (query.get("summaryOnly") ?? "").toLowerCase() === "true";
}

/**
 * Returns true if Xero refuses the query because `count` is above its limit (XERO-5). It refuses
 * `OR`, `!=` and names without an index, whatever the query would find.
 */
export async function isTooMuch(
  query: ListQuery,
  most: number,
  count: () => Promise<number>,
): Promise<boolean> {
  return query.isHeavy && (await count()) > most;
}

function isHeavy(where: ReadWhere | null, ordered: string, { cheap }: ListColumns): boolean {
  const names = where?.names ?? [];
  const isOr = where?.isOr === true && names.some((name) => name !== cheap.or);
  const isOrdered = ordered === "" || cheap.order.includes(ordered);
  return (
    isOr ||
    where?.isUnequal === true ||
    names.some((name) => !cheap.where.includes(name)) ||
    !isOrdered
  );
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

/** A parsed clause: its condition, and whether Xero answers it at any volume. */
interface ReadWhere {
  readonly condition: string;
  readonly names: readonly string[];
  readonly isOr: boolean;
  readonly isUnequal: boolean;
}

function readWhere(
  text: string,
  columns: ListColumns,
  bind: (value: unknown) => string,
): ReadWhere | null {
  let rest = text.trim();
  let condition = "";
  let isOr = false;
  let isUnequal = false;
  const names: string[] = [];
  for (;;) {
    const match = comparisonPattern.exec(rest);
    if (!match) return null;
    const [whole, field = "", operator, guid, quoted] = match;
    const column = Object.hasOwn(columns.fields, field) ? columns.fields[field] : undefined;
    if (column === undefined) return null;
    const value = guid ?? (quoted ?? "").replace(/\\(.)/g, "$1");
    condition += `${column}::text ${operator === "==" ? "=" : "is distinct from"} ${bind(value)}`;
    names.push(field);
    isUnequal ||= operator === "!=";
    rest = rest.slice(whole.length);
    if (rest === "") return { condition, names, isOr, isUnequal };
    const join = joinPattern.exec(rest);
    if (!join) return null;
    const isAnd = join[1] === "&&" || join[1]?.toUpperCase() === "AND";
    isOr ||= !isAnd;
    condition += isAnd ? " and " : " or ";
    rest = rest.slice(join[0].length);
  }
}

function readOrder(text: string | null, columns: ListColumns): string | null {
  if (text === null || text.trim() === "") return `updated_at, ${columns.id}`;
  const match = /^([A-Za-z.]+)(?:\s+(ASC|DESC))?$/i.exec(text.trim());
  const field = match?.[1] ?? "";
  const column = Object.hasOwn(columns.fields, field) ? columns.fields[field] : undefined;
  return column === undefined ? null : `${column} ${match?.[2] ?? "asc"}, ${columns.id}`;
}

function unreadable(message: string): UnreadableQuery {
  return { kind: "unreadable", message };
}
