/**
 * Time limits of connections and queries that count only while this process could have read an
 * answer. A timer of pg also runs while the process is busy, for example with a flood of requests,
 * and would then report a database that has answered as unreachable.
 */
import pg from "pg";

/** A limit is counted in this many parts. However long the process was busy, it counts as one. */
const parts = 10;

/**
 * Calls `onEnd` after `limitMs`, unless the returned function is called before. Answers that have
 * already arrived are read first.
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

type Done = (error?: Error, ...results: unknown[]) => void;

/** Calls `begin` with a callback. Past the limit `done` gets the error, and `late` the answer. */
function limited(
  limitMs: number,
  message: string,
  done: Done,
  begin: (done: Done) => void,
  late: Done = () => undefined,
): void {
  let isOver = false;
  const stop = startTimeLimit(limitMs, () => {
    isOver = true;
    done(new Error(message));
  });
  begin((...answer) => {
    stop();
    if (isOver) late(...answer);
    else done(...answer);
  });
}

const connectMessage = "timeout exceeded when trying to connect";

/** Limits how long a caller waits for a free or new connection of the pool. */
export function limitWaiting(pool: pg.Pool, limitMs: number): void {
  const connect = pool.connect.bind(pool) as (done: Done) => void;
  const connectLimited = (done: Done) =>
    limited(limitMs, connectMessage, done, connect, (_error, _client, release) => {
      if (typeof release === "function") release();
    });
  pool.connect = ((done?: Done) => {
    if (done !== undefined) return connectLimited(done);
    return new Promise((resolve, reject) => {
      connectLimited((error, client) => (error ? reject(error) : resolve(client as pg.PoolClient)));
    });
  }) as typeof pool.connect;
}

/** Returns the clients of a pool. One that cannot connect within the limit closes its socket. */
export function clientsWithin(limitMs: number): new () => pg.Client {
  function createClient(settings: pg.ClientConfig): pg.Client {
    const client = new pg.Client(settings);
    const connect = client.connect.bind(client) as (done: Done) => void;
    const { stream } = (client as unknown as Connecting).connection;
    client.connect = ((done: Done) => {
      const stop = startTimeLimit(limitMs, () => stream.destroy(new Error(connectMessage)));
      connect((...answer) => {
        stop();
        done(...answer);
      });
    }) as typeof client.connect;
    return client;
  }
  return createClient as unknown as new () => pg.Client;
}

interface Connecting {
  readonly connection: { readonly stream: { destroy(error: Error): void } };
}

/**
 * Limits the queries of a connection. A query may have its own limit. The connection of a
 * query that is over its limit is not used again: the pool and `guard` close it.
 */
export function limitQueries(client: pg.PoolClient, limitMs: number): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const query = (...args: unknown[]): unknown => {
    const own = limitOf(args[0]) ?? limitMs;
    const done = args.at(-1);
    const begin = (last: Done) => void send(...args.slice(0, -1), last);
    if (typeof done === "function") return limited(own, queryMessage, done as Done, begin);
    const answered = send(...args);
    if (!(answered instanceof Promise)) return answered;
    return new Promise((resolve, reject) => {
      const stop = startTimeLimit(own, () => reject(new Error(queryMessage)));
      answered.then(resolve, reject).finally(stop);
    });
  };
  client.query = query as typeof client.query;
}

const queryMessage = "Query read timeout";

function limitOf(query: unknown): number | undefined {
  return typeof query === "object" && query !== null && "timeLimitMs" in query
    ? Number(query.timeLimitMs)
    : undefined;
}
