/**
 * The way to PostgreSQL: the connections of a pool and the wait for one of them. Each statement of
 * the service and of Prisma passes `Connection`, which plans, limits and guards it, in this order.
 */
import pg from "pg";

/** A statement with its name and values. */
export interface Statement extends pg.QueryConfig {
  /** Its time limit, if it is not the one of the connection. */
  readonly timeLimitMs?: number;
  /** Whether the connection plans it once, for any values. */
  readonly isPlannedOnce?: boolean;
}

/** The driver's settings of a connection, and ours. */
export interface ConnectionSettings extends pg.ClientConfig {
  /** How long the server may take to accept the connection. */
  readonly connectLimitMs: number;
  /** How long an answer is awaited. */
  readonly answerLimitMs: number;
}

/** How a session's statements are planned. `default` is the server's own setting. */
type Planning = "default" | "once";

const planningChanges: Readonly<Record<Planning, string>> = {
  default: "RESET plan_cache_mode",
  once: "SET plan_cache_mode = force_generic_plan",
};

const connectMessage = "timeout exceeded when trying to connect";

/** A connection of a pool, which creates it by its option `Client`. */
export class Connection extends pg.Client {
  readonly #connectLimitMs: number;
  readonly #answerLimitMs: number;
  /** Null while unknown. */
  #planning: Planning | null = "default";

  constructor(settings: ConnectionSettings) {
    super(settings);
    this.#connectLimitMs = settings.connectLimitMs;
    this.#answerLimitMs = settings.answerLimitMs;
    // The server may end a connection before its requester can listen for errors. An unhandled
    // error event would end the process. The connection's next statement fails all the same.
    this.on("error", () => undefined);
  }

  /** Opens the connection, with a promise or the callback of the driver's pool. */
  override connect(done?: unknown): never {
    const stop = this.#breakAfter(this.#connectLimitMs, connectMessage);
    return answer(super.connect().finally(stop), done);
  }

  /** Runs a statement, with a promise or the callback of the driver's pool. */
  override query(...args: readonly unknown[]): never {
    const [statement, values] = args;
    const parameters = Array.isArray(values) ? values : undefined;
    return answer(this.#run(statement as string | Statement, parameters), args.at(-1));
  }

  async #run(statement: string | Statement, values?: unknown[]): Promise<pg.QueryResult> {
    const planning = planningOf(statement, values);
    if (planning !== null && planning !== this.#planning) await this.#plan(planning);
    const result = await this.#send(statement, values);
    if (result.command === "ROLLBACK") {
      // It also undid a change of the planning within its transaction.
      this.#planning = null;
      if (textOf(statement) === "COMMIT") throw new CommitRefused();
    }
    return result;
  }

  /** Changes how the next statements are planned. Those of one kind in a row cost nothing more. */
  async #plan(planning: Planning): Promise<void> {
    this.#planning = null;
    await this.#send(planningChanges[planning]);
    this.#planning = planning;
  }

  /**
   * Sends a statement and awaits its answer. The connection closes on each error that the server
   * has not answered. Otherwise a ROLLBACK could wait behind a hanging statement, and the next
   * transaction would commit both. INVARIANT-7.
   */
  async #send(statement: string | Statement, values?: unknown[]): Promise<pg.QueryResult> {
    const statementLimitMs = typeof statement === "string" ? undefined : statement.timeLimitMs;
    const stop = this.#breakAfter(statementLimitMs ?? this.#answerLimitMs, "Query read timeout");
    try {
      return await super.query(statement, values);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) void this.end().catch(() => undefined);
      throw error;
    } finally {
      stop();
    }
  }

  /** Breaks the connection after the limit: what waits on it fails with this message. */
  #breakAfter(limitMs: number, message: string): () => void {
    return startTimeLimit(limitMs, () => this.connection.stream.destroy(new Error(message)));
  }
}

/** Gets the wait in milliseconds, and whether a connection was free in time. */
export type AcquireObserver = (waitedMs: number, isAcquired: boolean) => void;

/** The driver's settings of a pool, and ours. */
export interface ConnectionPoolSettings extends pg.PoolConfig, ConnectionSettings {
  /** Called for each connection that was requested of the pool. */
  readonly onAcquire?: AcquireObserver | undefined;
}

/** The connections of a process. It limits and observes the wait for a free or new one. */
export class ConnectionPool extends pg.Pool {
  readonly #connectLimitMs: number;
  readonly #onAcquire: AcquireObserver | undefined;

  constructor(settings: ConnectionPoolSettings) {
    // The type of `Client` leaves out the settings, which the driver passes.
    super({ ...settings, Client: Connection as unknown as new () => pg.Client });
    this.#connectLimitMs = settings.connectLimitMs;
    this.#onAcquire = settings.onAcquire;
  }

  /** Returns a connection, with a promise or a callback, which the driver's `query` passes. */
  override connect(done?: unknown): never {
    return answer(this.#acquire(), done, (client) => client.release);
  }

  async #acquire(): Promise<pg.PoolClient> {
    const beganMs = performance.now();
    const acquired = super.connect();
    const limit = Promise.withResolvers<never>();
    const stop = startTimeLimit(this.#connectLimitMs, () =>
      limit.reject(new Error(connectMessage)),
    );
    try {
      const client = await Promise.race([acquired, limit.promise]);
      this.#onAcquire?.(performance.now() - beganMs, true);
      return client;
    } catch (error) {
      this.#onAcquire?.(performance.now() - beganMs, false);
      // One that comes later is for the next caller.
      acquired.then(
        (late) => late.release(),
        () => undefined,
      );
      throw error;
    } finally {
      stop();
    }
  }
}

/**
 * Returns the promise. The driver's pool passes a callback instead, which then gets the outcome and
 * `also`. The type `never` fits each overload of the driver, whose types a caller sees.
 */
function answer<T>(promise: Promise<T>, done: unknown, also?: (result: T) => unknown): never {
  if (typeof done !== "function") return promise as never;
  promise.then(
    (result) => done(undefined, result, also?.(result)),
    (error) => done(error),
  );
  return undefined as never;
}

/** Returns null for a statement without values, which has one plan in any case. */
function planningOf(statement: string | Statement, values?: unknown[]): Planning | null {
  if (typeof statement === "string") return values?.length ? "default" : null;
  if (statement.isPlannedOnce) return "once";
  return (values ?? statement.values)?.length ? "default" : null;
}

function textOf(statement: string | Statement): string {
  return typeof statement === "string" ? statement : statement.text;
}

/**
 * An error inside a transaction was caught and ignored. PostgreSQL has rolled the transaction back,
 * and answered its COMMIT with ROLLBACK.
 */
export class CommitRefused extends Error {
  constructor() {
    super("the transaction was broken off before its COMMIT, and nothing of it is kept");
  }
}

/** A limit is counted in this many parts. However long the process was busy, it counts as one. */
const parts = 10;

/**
 * Calls `onEnd` after `limitMs`, unless the returned function is called before. It counts only
 * while this process could have read an answer, and answers that have already arrived are read
 * first. A timer of the driver also runs while the process is busy, for example with a flood of
 * requests, and would then report a database that has answered as unreachable.
 */
export function startTimeLimit(limitMs: number, onEnd: () => void): () => void {
  let left = parts;
  let isStopped = false;
  let timer = setTimeout(next, limitMs / parts);
  function next(): void {
    left -= 1;
    if (left > 0) timer = setTimeout(next, limitMs / parts);
    else setImmediate(() => isStopped || onEnd());
  }
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
