/**
 * Starts calls that need no key one at a time, one for each iteration of the event loop. A request
 * with a key then waits for one such call and not for all. Connections alternate, so that a probe
 * waits for one call of each connection.
 */

/** The queue of calls to be started. */
interface KeylessQueue {
  /** Starts the call when its connection is next. One connection is always the same object. */
  readonly enter: (connection: object, start: () => void) => void;
}

interface Waiting {
  readonly connection: object;
  readonly starts: (() => void)[];
}

/** Creates an empty queue. The number of open streams of a connection bounds its entries. */
export function createKeylessQueue(): KeylessQueue {
  /** The next connection first. */
  const waiting: Waiting[] = [];
  const ofConnection = new WeakMap<object, Waiting>();
  const startOne = (): void => {
    const next = waiting.shift();
    if (next === undefined) return;
    const start = next.starts.shift();
    if (next.starts.length > 0) waiting.push(next);
    else ofConnection.delete(next.connection);
    if (waiting.length > 0) setImmediate(startOne);
    start?.();
  };
  return {
    enter: (connection, start) => {
      const known = ofConnection.get(connection);
      if (known !== undefined) {
        known.starts.push(start);
        return;
      }
      if (waiting.length === 0) setImmediate(startOne);
      const added = { connection, starts: [start] };
      ofConnection.set(connection, added);
      waiting.push(added);
    },
  };
}
