/** The pool of PostgreSQL connections of one process, and how column types become values: nothing passes through a float. */
import pg from "pg";

/** What a pool needs. `size`: connections of this process; the server's `max_connections` bounds the sum over all. */
export interface PoolSettings {
  readonly databaseUrl: string;
  readonly size: number;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  /** How long a free connection or a new one is waited for, in milliseconds, where that is not what requests wait. */
  readonly connectTimeoutMs?: number;
  /** After which a statement is broken off, in milliseconds, if it is not one of a request. */
  readonly statementTimeoutMs?: number;
}

/** A statement that runs longer than this is broken off: every one of ours takes milliseconds. */
const statementTimeoutMs = 10_000;

/**
 * How long an answer is waited for: a connection may stay open and silent (a partition, a failover), and the server's own
 * time limit never reaches us then. A little longer than that one, so that its clear error comes first.
 */
const patience = 1.2;

/** How long a request waits for a free connection or a new one before it is told that the database cannot be reached. */
const connectTimeoutMs = 3_000;

/** Dates stay `YYYY-MM-DD` text (object id 1082): a Date would shift them by the server's zone. */
const dateType = 1082;

/** `numeric` and `bigint` are text by default in pg; dates are made so too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === dateType ? (text: string) => text : pg.types.getTypeParser(oid, format as "text")) as never,
};

/** A pool; errors of idle connections are told to `onError` and the connection replaced. */
export function createPool(settings: PoolSettings, onError: (error: Error) => void): pg.Pool {
  const statementMs = settings.statementTimeoutMs ?? statementTimeoutMs;
  const pool = new pg.Pool({
    connectionString: settings.databaseUrl,
    max: settings.size,
    application_name: settings.name,
    connectionTimeoutMillis: settings.connectTimeoutMs ?? connectTimeoutMs,
    statement_timeout: statementMs,
    query_timeout: statementMs * patience,
    keepAlive: true,
    // A transaction left open by a lost client would hold its row locks for ever.
    idle_in_transaction_session_timeout: statementTimeoutMs,
    types,
  });
  pool.on("error", onError);
  // One that is ended by the server in the moment in which it comes about is told of it before whoever asked for it can listen, and what nobody
  // hears ends the process. Its first statement fails all the same.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/**
 * Runs the work in one transaction on one connection: committed when it returns, rolled back when it throws. `begin` may hold more than
 * the beginning, sent in the same message.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  begin = "BEGIN",
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks between two statements tells so by an event that, unheard, would end the process.
  const onError = (failure: Error) => {
    broken = failure;
  };
  client.on("error", onError);
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK").catch((failure: Error) => {
      broken ??= failure;
    });
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** Whether an error is PostgreSQL's, with this SQLSTATE (and, where given, about this constraint). */
export function isDatabaseError(error: unknown, code: string, constraint?: string): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code !== code) return false;
  return constraint === undefined || error.constraint === constraint;
}

/** SQLSTATE of a unique constraint that was hit. */
export const uniqueViolation = "23505";
