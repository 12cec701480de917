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

/** Creates an empty queue. The number of open streams of a connection bounds its entries. */
export function createKeylessQueue(): KeylessQueue {
  /** By connection, the next one first. */
  const waiting = new Map<object, (() => void)[]>();
  const startOne = (): void => {
    for (const [connection, starts] of waiting) {
      const start = starts.shift();
      waiting.delete(connection);
      if (starts.length > 0) waiting.set(connection, starts);
      if (waiting.size > 0) setImmediate(startOne);
      start?.();
      return;
    }
  };
  return {
    enter: (connection, start) => {
      const starts = waiting.get(connection);
      if (starts !== undefined) {
        starts.push(start);
        return;
      }
      if (waiting.size === 0) setImmediate(startOne);
      waiting.set(connection, [start]);
    },
  };
}
