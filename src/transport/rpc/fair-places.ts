/**
 * A fixed number of places, shared fairly by groups. A free place goes to the waiting group that
 * holds the fewest. Among equals it goes to the one that got a place longest ago.
 */

/** How many places there are, and the most that one group may hold. */
interface PlaceLimits {
  readonly places: number;
  /** Below `places`, so that a group's first item starts at once while another one is busy. */
  readonly mostOfGroup: number;
}

/** The places. An item is anything that stands for a piece of work. */
export interface FairPlaces<Item> {
  /**
   * Takes a place for a group and returns null, or queues the item. Then it returns the function
   * that removes the item, which returns false if it does not wait any more. `isBegun` items, which
   * had a place before, precede the other items of their group.
   */
  enter(group: string, item: Item, isBegun: boolean): (() => boolean) | null;
  /** Gives a place of the group back. Returns the item that has it now, or null. */
  leave(group: string): Item | null;
}

interface Group<Item extends NonNullable<unknown>> {
  readonly name: string;
  held: number;
  /** The items that wait. Null until one does: most requests get a place at once. */
  begun: Set<{ item: Item }> | null;
  fresh: Set<{ item: Item }> | null;
}

/** Creates the places, all of them free. */
export function createFairPlaces<Item extends NonNullable<unknown>>({
  places,
  mostOfGroup,
}: PlaceLimits): FairPlaces<Item> {
  /** Groups that hold a place or wait. The one that got a place last is last. */
  const groups = new Map<string, Group<Item>>();
  let held = 0;

  const take = (group: Group<Item>): void => {
    group.held += 1;
    held += 1;
    groups.delete(group.name);
    groups.set(group.name, group);
  };

  /** Returns the next group. With `mostOfGroup` below `places`, all places may not be in use. */
  const nextGroup = (): Group<Item> | null => {
    let next: Group<Item> | null = null;
    for (const group of groups.values()) {
      if (!isWaiting(group) || group.held >= mostOfGroup) continue;
      if (next === null || group.held < next.held) next = group;
    }
    return next;
  };

  const removeIfIdle = (group: Group<Item>): void => {
    if (group.held === 0 && !isWaiting(group)) groups.delete(group.name);
  };

  return {
    enter: (name, item, isBegun) => {
      const group = groups.get(name) ?? { name, held: 0, begun: null, fresh: null };
      if (held < places && group.held < mostOfGroup) {
        take(group);
        return null;
      }
      groups.set(name, group);
      const order = isBegun ? "begun" : "fresh";
      group[order] ??= new Set();
      const waiting = group[order];
      const place = { item };
      waiting.add(place);
      return () => {
        const isFound = waiting.delete(place);
        if (isFound) removeIfIdle(group);
        return isFound;
      };
    },
    leave: (name) => {
      const left = groups.get(name);
      if (left === undefined || left.held === 0) throw new Error("no place is held");
      left.held -= 1;
      held -= 1;
      const next = nextGroup();
      if (next !== null) take(next);
      removeIfIdle(left);
      return next === null ? null : shift(next);
    },
  };
}

function isWaiting<Item extends NonNullable<unknown>>({ begun, fresh }: Group<Item>): boolean {
  return (begun?.size ?? 0) + (fresh?.size ?? 0) > 0;
}

function shift<Item extends NonNullable<unknown>>({ begun, fresh }: Group<Item>): Item | null {
  for (const waiting of [begun, fresh]) {
    for (const place of waiting ?? []) {
      waiting?.delete(place);
      return place.item;
    }
  }
  return null;
}
