/** Limits what is open at once: in all, and of one connection, address or caller. */

/** The number of places. */
interface PlaceLimits {
  readonly inAll: number;
  readonly ofOne: number;
}

/**
 * Creates the places, all of them free. Returns a function that takes one: it returns the function
 * that releases the place, or null if none is left.
 */
export function createPlaces<Key>({
  inAll,
  ofOne,
}: PlaceLimits): (key: Key) => (() => void) | null {
  const counts = new Map<Key, number>();
  let open = 0;
  return (key) => {
    const count = counts.get(key) ?? 0;
    if (open >= inAll || count >= ofOne) return null;
    open += 1;
    counts.set(key, count + 1);
    return () => {
      open -= 1;
      const left = (counts.get(key) ?? 1) - 1;
      if (left === 0) counts.delete(key);
      else counts.set(key, left);
    };
  };
}
