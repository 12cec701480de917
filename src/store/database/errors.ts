/**
 * What errors of the database mean, of both clients: pg's own and Prisma's, which wraps what pg
 * threw. Nothing else classifies them (REQUEST-14).
 */
import pg from "pg";

/**
 * SQLSTATE classes and codes of a server that cannot serve: connection, shutdown, starting up, too
 * many connections.
 */
const unreachableStates = /^(08...|57P0[1-3]|53300)$/;

/** Node's error codes for a server that cannot be reached. */
const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
]);

/** What Prisma's adapter calls a socket that cannot be opened or breaks. */
const unreachableKinds = new Set(["DatabaseNotReachable", "ConnectionClosed", "SocketTimeout"]);

/** Messages of pg, which have no code, for a connection that cannot be opened or breaks. */
const unreachableMessages = new RegExp(
  [
    "timeout exceeded when trying to connect",
    "Connection terminated",
    "Cannot use a pool after calling end",
    "Query read timeout",
    "is not queryable",
  ].join("|"),
);

/**
 * Whether an error means that the database could not be reached or was lost. False for an error
 * that the database itself answered.
 */
export function isDatabaseUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnreachable);
  const kind = adapterCause(error)?.kind;
  if (kind !== undefined && unreachableKinds.has(kind)) return true;
  const code = sqlState(error) ?? (error as { code?: unknown }).code;
  if (typeof code === "string") return unreachableStates.test(code) || unreachableCodes.has(code);
  return unreachableMessages.test(error.message);
}

/**
 * Whether an error passes by itself: the database was lost, or SQLSTATE class 40 (conflict), 53
 * (resources), 55 (another object's state) or 57 (intervention). A statement timeout (57014) would
 * recur each time.
 */
export function isTransient(error: unknown): boolean {
  return isDatabaseUnreachable(error) || /^(40|53|55|57(?!014))/.test(sqlState(error) ?? "");
}

/** What Prisma's adapter says about an error of pg: its kind, the SQLSTATE and the constraint. */
interface AdapterCause {
  readonly kind?: string;
  readonly originalCode?: string;
  readonly constraint?: { readonly index?: string };
}

/** Returns what Prisma's adapter says about an error. Undefined for an error of pg itself. */
function adapterCause(error: Error): AdapterCause | undefined {
  // Prisma puts it into `meta` for a statement and into `cause` for a COMMIT.
  const { meta, cause } = error as {
    readonly cause?: AdapterCause;
    readonly meta?: { readonly driverAdapterError?: { readonly cause?: AdapterCause } };
  };
  return meta?.driverAdapterError?.cause ?? cause;
}

/** Returns the SQLSTATE of an error of pg or of Prisma's client, or null if it has none. */
export function sqlState(error: unknown): string | null {
  if (error instanceof pg.DatabaseError) return error.code ?? null;
  return error instanceof Error ? (adapterCause(error)?.originalCode ?? null) : null;
}

/**
 * Whether an error is PostgreSQL's with this SQLSTATE and, if one is passed, for this constraint.
 */
export function isDatabaseError(error: unknown, code: string, constraint?: string): boolean {
  if (sqlState(error) !== code) return false;
  return constraint === undefined || constraintOf(error) === constraint;
}

/** The violated constraint, or null if PostgreSQL or Prisma does not name it. */
function constraintOf(error: unknown): string | null {
  if (error instanceof pg.DatabaseError) return error.constraint ?? null;
  return error instanceof Error ? (adapterCause(error)?.constraint?.index ?? null) : null;
}

/** SQLSTATE of a violated unique constraint. */
export const uniqueViolation = "23505";
