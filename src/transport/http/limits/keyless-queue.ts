/**
 * Starts calls that need no key one at a time, one for each iteration of the event loop. A request
 * with a key then waits for one such call and not for all. Connections alternate, so that a probe
 * waits for one call of each connection.
 */

interface Waiting {
  readonly connection: object;
  readonly starts: (() => void)[];
}

/**
 * Creates an empty queue. Returns a function that starts a call when its connection is next. One
 * connection is always the same object. The number of its open streams bounds its entries.
 */
export function createKeylessQueue(): (connection: object, start: () => void) => void {
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
  return (connection, start) => {
    const known = ofConnection.get(connection);
    if (known !== undefined) {
      known.starts.push(start);
      return;
    }
    if (waiting.length === 0) setImmediate(startOne);
    const added = { connection, starts: [start] };
    ofConnection.set(connection, added);
    waiting.push(added);
  };
}
