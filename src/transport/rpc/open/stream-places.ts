/**
 * Limits long calls that need no key: how many are open in total, and how many on one connection.
 */

/** The number of places. */
interface PlaceLimits {
  readonly inAll: number;
  readonly perConnection: number;
}

/** The places of open calls. */
export interface Places {
  /** Takes a place. Returns the function that releases it, or null if none is left. */
  readonly enter: (connection: object) => (() => void) | null;
}

/** Creates the places. One connection is always the same object. */
export function createPlaces({ inAll, perConnection }: PlaceLimits): Places {
  const byConnection = new WeakMap<object, number>();
  let open = 0;
  return {
    enter: (connection) => {
      const ofConnection = byConnection.get(connection) ?? 0;
      if (open >= inAll || ofConnection >= perConnection) return null;
      open += 1;
      byConnection.set(connection, ofConnection + 1);
      return () => {
        open -= 1;
        const left = (byConnection.get(connection) ?? 1) - 1;
        if (left === 0) byConnection.delete(connection);
        else byConnection.set(connection, left);
      };
    },
  };
}
