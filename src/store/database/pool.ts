/**
 * The pool of PostgreSQL connections of one process, its transactions, and how column types become
 * values: nothing passes through a float.
 */
import { setTimeout as wait } from "node:timers/promises";
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
  pool.on("connect", guard);
  return pool;
}

/**
 * Makes a new connection safe for every transaction on it, also for Prisma's. A connection ends on
 * each error that the server has not answered: a ROLLBACK may wait behind a statement that hangs,
 * and the next transaction would commit both. COMMIT of a transaction that is broken off answers
 * ROLLBACK, and throws here. facts-prisma §0.
 */
function guard(client: pg.PoolClient): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const onAnswer = (query: unknown, answer: unknown): unknown => {
    if (isCommit(query) && (answer as pg.QueryResult).command === "ROLLBACK") throw new CommitRefused();
    return answer;
  };
  const onError = (error: unknown): never => {
    // The types of a pool's client leave out `end`, which each has.
    if (!(error instanceof pg.DatabaseError)) void (client as unknown as pg.Client).end().catch(() => undefined);
    throw error;
  };
  const guarded = (...args: unknown[]): unknown => {
    const answered = send(...args);
    if (!(answered instanceof Promise)) return answered;
    return answered.then((answer) => onAnswer(args[0], answer), onError);
  };
  client.query = guarded as typeof client.query;
}

function isCommit(query: unknown): boolean {
  return (typeof query === "string" ? query : (query as { readonly text?: unknown } | null)?.text) === "COMMIT";
}

/** An error inside a transaction was caught and passed over: PostgreSQL has kept nothing of it. */
export class CommitRefused extends Error {
  constructor() {
    super("the transaction was broken off before its COMMIT, and nothing of it is kept");
  }
}

/**
 * How often what PostgreSQL broke off is begun again. With one order of locks a deadlock is a
 * defect, and one repeat ends it; five end it also where several meet, and leave a caller an
 * answer: PostgreSQL takes a second to find each, and a caller waits for fifteen.
 */
const mostRepeats = 5;

/**
 * The longest pause before the first repeat, doubled with each: those who met do not meet again,
 * and it is short beside that second.
 */
const repeatPauseMs = 20;

/**
 * Runs a transaction, and again where PostgreSQL broke it off for the sake of others (SQLSTATE
 * class 40: deadlock, conflict of snapshots): nothing of it is kept then, and nothing is wrong with
 * it. What `run` does outside the database it may do several times.
 */
export async function repeatBrokenOff<T>(run: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await run();
    } catch (error) {
      if (repeats === mostRepeats || !/^40/.test(sqlState(error) ?? "")) throw error;
      await wait(Math.random() * repeatPauseMs * 2 ** repeats);
    }
  }
}

interface AdapterCause {
  readonly cause?: { readonly originalCode?: string };
}

/** The SQLSTATE of an error, of pg or of Prisma's client; null for an error that has none. */
export function sqlState(error: unknown): string | null {
  if (error instanceof pg.DatabaseError) return error.code ?? null;
  if (!(error instanceof Error)) return null;
  // Of a statement Prisma puts it into `meta`, of a COMMIT into `cause`.
  const { meta, cause } = error as AdapterCause & { readonly meta?: { readonly driverAdapterError?: AdapterCause } };
  return meta?.driverAdapterError?.cause?.originalCode ?? cause?.originalCode ?? null;
}

/**
 * Runs the work in one transaction on one connection: committed when it returns, rolled back when
 * it throws, and run again where PostgreSQL broke it off for the sake of others. `begin` may hold
 * more than the beginning, sent in the same message.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  begin = "BEGIN",
): Promise<T> {
  return repeatBrokenOff(() => runOnce(pool, work, begin));
}

async function runOnce<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>, begin: string): Promise<T> {
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
