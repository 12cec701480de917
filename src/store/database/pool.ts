/**
 * Owns the PostgreSQL connection pool of one process, its transactions, and the mapping of column
 * types to values. No value passes through a float. MONEY-1.
 */
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { type AcquireObserver, ConnectionPool, type Statement } from "./connection.ts";
import { sqlState } from "./errors.ts";
import { inTransactionSpan, isTraced } from "./trace-context.ts";

/** The connections of one process. A statement over it is a transaction by itself. */
export type Pool = pg.Pool;

/** A connection inside a transaction. */
export type Transaction = Pick<pg.PoolClient, "query">;

/**
 * Settings of a pool. `size` is the number of connections of this process. The server's
 * `max_connections` bounds the sum over all processes.
 */
interface PoolSettings {
  readonly databaseUrl: string;
  readonly size: number;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  /** Time limit for a free or new connection in milliseconds, if it is not the one of requests. */
  readonly connectTimeoutMs?: number;
  /** Time limit of a statement in milliseconds, if it is not the one of requests. */
  readonly statementTimeoutMs?: number;
  /** Called for each connection that was requested of the pool. */
  readonly onAcquire?: AcquireObserver;
}

/** The time limit of a statement. Every statement of the service takes milliseconds. */
const statementTimeoutMs = 10_000;

/**
 * How much longer than the server's time limit an answer is awaited. A connection may stay open and
 * silent (a partition, a failover), and the server's limit then never reaches us. It is longer than
 * that limit, so that the server's clear error comes first.
 */
const patience = 1.2;

/**
 * How long a request waits for a free or new connection before it fails because the database cannot
 * be reached.
 */
const connectTimeoutMs = 3_000;

/**
 * How long a connection without work stays open. A new one takes tens of milliseconds until it has
 * read the tables and planned its statements, which the calls of a quiet hour would each wait for.
 */
const idleTimeoutMs = 300_000;

/** Dates stay `YYYY-MM-DD` text (object id 1082). A Date would shift them by the server's zone. */
const dateType = 1082;

/** pg returns `numeric` and `bigint` as text by default. This makes dates text too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === dateType
      ? (text: string) => text
      : pg.types.getTypeParser(oid, format as "text")) as never,
};

/**
 * Creates a pool. Errors of idle connections are reported to `onError`, and the connection is
 * replaced.
 */
export function createPool(settings: PoolSettings, onError: (error: Error) => void): pg.Pool {
  const statementMs = settings.statementTimeoutMs ?? statementTimeoutMs;
  const pool = new ConnectionPool({
    connectionString: withSettings(settings.databaseUrl),
    max: settings.size,
    application_name: settings.name,
    connectLimitMs: settings.connectTimeoutMs ?? connectTimeoutMs,
    statement_timeout: statementMs,
    answerLimitMs: statementMs * patience,
    keepAlive: true,
    idleTimeoutMillis: idleTimeoutMs,
    // A transaction left open by a lost client would otherwise hold its row locks for ever.
    idle_in_transaction_session_timeout: statementTimeoutMs,
    types,
    onAcquire: settings.onAcquire,
  });
  pool.on("error", onError);
  return pool;
}

/**
 * Settings of each session. Prisma reads and writes every instant as if the session were in UTC,
 * and the server's own zone may be another one. Compiling a statement takes longer than each of
 * ours takes.
 */
const sessionSettings = "-c TimeZone=UTC -c jit=off";

/** Returns the address with the settings of the session. */
function withSettings(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return databaseUrl;
  const url = new URL(databaseUrl);
  const options = [url.searchParams.get("options"), sessionSettings];
  url.searchParams.set("options", options.filter((option) => option !== null).join(" "));
  return url.href;
}

/**
 * How often an aborted transaction is repeated. With one lock order a deadlock is a defect, and one
 * repeat resolves it. Five also resolve a deadlock of several transactions. They also leave the
 * caller an answer: PostgreSQL detects each deadlock in a second, and a caller waits for fifteen.
 */
const maxRepeats = 5;

/**
 * The longest pause before the first repeat in milliseconds, doubled with each. It separates the
 * transactions that met, and it is short compared with the second of detection.
 */
const repeatPauseMs = 20;

/**
 * Runs a transaction, and repeats it if PostgreSQL aborted it because of other transactions
 * (SQLSTATE class 40: deadlock, serialization conflict). Nothing of it is stored then, and the
 * transaction itself is correct. Side effects of `run` outside the database may happen several
 * times. INVARIANT-6.
 */
export async function repeatBrokenOff<T>(run: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await run();
    } catch (error) {
      if (repeats === maxRepeats || !/^40/.test(sqlState(error) ?? "")) throw error;
      await wait(Math.random() * repeatPauseMs * 2 ** repeats);
    }
  }
}

/**
 * Runs the work in one transaction on one connection. Commits when it returns and rolls back when
 * it throws. Repeats it if PostgreSQL aborted it because of other transactions. `begin` may hold
 * more statements than BEGIN, sent in the same message.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  begin = "BEGIN",
): Promise<T> {
  return repeatBrokenOff(() => inTransactionSpan(begin, (first) => runOnce(pool, work, first)));
}

/**
 * Returns what runs one statement that leaves work, which is a transaction by itself. Within a
 * trace it takes three statements, so that the work keeps the trace.
 */
export function tracing(pool: pg.Pool): Pick<pg.Pool, "query"> {
  if (!isTraced()) return pool;
  const query = (statement: Statement) => inTransaction(pool, (client) => client.query(statement));
  return { query: query as pg.Pool["query"] };
}

async function runOnce<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  begin: string,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks between two statements emits an error event. Unhandled, it would end
  // the process.
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

/** PostgreSQL itself refuses every write, lock of a row and sequence number after this. */
const beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/**
 * Runs the reads on one connection. All see the database as of the first of them, and none of them
 * waits for a writer or delays one.
 */
export function inSnapshot<T>(pool: Pool, read: (client: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(pool, read, beginSnapshot);
}
