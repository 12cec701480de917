/** Bounds long calls that need no key: how many are open in all, and how many on one connection. */

/** How many places there are. */
export interface PlaceLimits {
  readonly inAll: number;
  readonly perConnection: number;
}

/** Places that calls take and leave. */
export interface Places {
  /** Takes a place; null if there is none left. The returned function gives it back. */
  readonly enter: (connection: object) => (() => void) | null;
}

/** Makes them; the same connection is the same object. */
export function createPlaces({ inAll, perConnection }: PlaceLimits): Places {
  const byConnection = new Map<object, number>();
  let taken = 0;
  return {
    enter: (connection) => {
      const own = byConnection.get(connection) ?? 0;
      if (taken >= inAll || own >= perConnection) return null;
      taken += 1;
      byConnection.set(connection, own + 1);
      return () => {
        taken -= 1;
        const left = (byConnection.get(connection) ?? 1) - 1;
        if (left === 0) byConnection.delete(connection);
        else byConnection.set(connection, left);
      };
    },
  };
}
