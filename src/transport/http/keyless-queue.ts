/**
 * Starts calls that need no key one by one, one in each turn of the event loop: a request with a
 * key stands behind one of them, not behind all. Connections take turns, so that a prober waits for
 * one call of each.
 */

/** The queue of calls that wait to be started. */
export interface KeylessTurns {
  /** Starts the call when its connection's turn comes; the same connection is the same object. */
  readonly enter: (connection: object, start: () => void) => void;
}

/** Makes an empty queue. What waits is bounded by the streams that a connection may have open. */
export function createKeylessTurns(): KeylessTurns {
  /** In the order of their turns. */
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
