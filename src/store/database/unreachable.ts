/**
 * Errors of a database that could not be reached or was lost, of both clients: pg's own and
 * Prisma's, which wraps what pg threw. Nothing else classifies them (REQUEST-14).
 */
import { adapterCause, sqlState } from "./pool.ts";

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
