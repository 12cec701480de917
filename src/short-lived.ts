/**
 * A list and a Map for what comes and goes with every request. V8's own Map and Set copy their
 * table after a few removals, and each abandoned table keeps the next one. Once one of them is in
 * the old generation, all later ones stay reachable with everything in them until the next full
 * collection: the requests of many seconds. Full collections then come often, and take both
 * processors.
 */

/** The place of an item in its list. */
interface Place<Item> {
  /** Null after the item is removed, so that an abandoned place keeps nothing. */
  item: Item | null;
}

/** Items in the order of their arrival. Each is removed by its place. */
export interface ShortLivedList<Item> extends Iterable<Item> {
  /** The number of items. */
  readonly size: number;
  /** Adds an item at the end. */
  add(item: Item): Place<Item>;
  /** Removes an item of this list. Returns false if it was removed before. */
  remove(place: Place<Item>): boolean;
  /** Removes the first item and returns it. Undefined if the list is empty. */
  shift(): Item | undefined;
  /** Removes the items for which `isOver` returns true. */
  removeWhere(isOver: (item: Item) => boolean): void;
}

/** Has the meaning and the order of a Map by strings. An iteration meets what it adds. */
export interface ShortLivedMap<Value> extends Iterable<readonly [string, Value]> {
  /** The number of entries. */
  readonly size: number;
  get(key: string): Value | undefined;
  has(key: string): boolean;
  /** Replaces the value in its place, or adds an entry at the end. */
  set(key: string, value: Value): void;
  /** Removes an entry. Returns whether there was one. */
  delete(key: string): boolean;
  /** Removes the entry that was added first, if there is one. */
  deleteOldest(): void;
  clear(): void;
  keys(): Iterable<string>;
  values(): Iterable<Value>;
}

/** Removed items whose places are kept before a copy, however short the list is. */
const fewestRemoved = 32;

/** Creates an empty list. */
export function createShortLivedList<Item extends NonNullable<unknown>>(): ShortLivedList<Item> {
  let places: Place<Item>[] = [];
  /** All places before this one are empty. */
  let first = 0;
  let size = 0;
  let iterating = 0;

  const firstPlace = (): Place<Item> | undefined => {
    while (first < places.length && places[first]?.item === null) first += 1;
    return places[first];
  };

  const remove = (place: Place<Item>): boolean => {
    if (place.item === null) return false;
    place.item = null;
    size -= 1;
    return true;
  };

  return {
    get size() {
      return size;
    },
    add: (item) => {
      const removed = places.length - size;
      if (iterating === 0 && removed > Math.max(fewestRemoved, size)) {
        places = places.filter((place) => place.item !== null);
        first = 0;
      }
      const place: Place<Item> = { item };
      places.push(place);
      size += 1;
      return place;
    },
    remove,
    shift: () => {
      const place = firstPlace();
      const item = place?.item ?? undefined;
      if (place !== undefined) remove(place);
      return item;
    },
    removeWhere: (isOver) => {
      for (const place of places) if (place.item !== null && isOver(place.item)) remove(place);
    },
    *[Symbol.iterator]() {
      firstPlace();
      iterating += 1;
      try {
        for (let at = first; at < places.length; at += 1) {
          const item = places[at]?.item ?? null;
          if (item !== null) yield item;
        }
      } finally {
        iterating -= 1;
      }
    },
  };
}

interface Entry<Value> {
  readonly key: string;
  value: Value;
}

/** Creates an empty Map. */
export function createShortLivedMap<Value>(): ShortLivedMap<Value> {
  const entries = createShortLivedList<Entry<Value>>();
  /** Also of removed entries, whose places are empty. */
  let placeOf = new Map<string, Place<Entry<Value>>>();

  const entryOf = (key: string): Entry<Value> | undefined => placeOf.get(key)?.item ?? undefined;

  /** Copies what is left into a new table, which no abandoned one knows. */
  const copyPlaces = (): void => {
    const left = new Map<string, Place<Entry<Value>>>();
    for (const [key, place] of placeOf) if (place.item !== null) left.set(key, place);
    placeOf = left;
  };

  const remove = (key: string): boolean => {
    const place = placeOf.get(key);
    return place !== undefined && entries.remove(place);
  };

  return {
    get size() {
      return entries.size;
    },
    get: (key) => entryOf(key)?.value,
    has: (key) => entryOf(key) !== undefined,
    set: (key, value) => {
      const known = entryOf(key);
      if (known !== undefined) {
        known.value = value;
        return;
      }
      placeOf.set(key, entries.add({ key, value }));
      if (placeOf.size > fewestRemoved + 2 * entries.size) copyPlaces();
    },
    delete: remove,
    deleteOldest: () => void entries.shift(),
    clear: () => {
      for (const { key } of entries) remove(key);
    },
    *keys() {
      for (const { key } of entries) yield key;
    },
    *values() {
      for (const { value } of entries) yield value;
    },
    *[Symbol.iterator]() {
      for (const { key, value } of entries) yield [key, value] as const;
    },
  };
}
