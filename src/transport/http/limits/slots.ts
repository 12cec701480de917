/**
 * Limits what many clients hold open at the same time: by connection, by address and in total. At a
 * limit the oldest holder that waits for its own client is evicted. New requests that are answered
 * at once therefore always get in.
 */

/** The most that may be held at once. */
interface SlotLimit {
  readonly count: number;
  readonly bytes: number;
}

/** The limits of one kind of slot, from the narrowest to the widest. */
export interface SlotLimits {
  readonly perConnection: SlotLimit;
  readonly perAddress: SlotLimit;
  readonly total: SlotLimit;
}

/** The holder of a slot. */
export interface SlotHolder {
  readonly connection: object;
  /** Null if the address does not identify the client. Then only the other two limits apply. */
  readonly address: string | null;
  /**
   * `evictable`: the holder waits for its client. `busy`: it waits for this process. `exempt`: it
   * no longer counts.
   */
  readonly state: () => "evictable" | "busy" | "exempt";
  /** Ends the holder. Its slot is already released. */
  readonly evict: () => void;
}

/** A taken slot. */
export interface Slot {
  /**
   * Records how many bytes the client has not read. Older holders are evicted if that is too much.
   */
  setBytes(bytes: number): void;
  /** Releases the slot. A second call does nothing. */
  release(): void;
}

interface Entry {
  readonly holder: SlotHolder;
  /** The narrowest first: an entry evicted there no longer counts in the wider ones. */
  readonly groups: readonly Group[];
  bytes: number;
  isHeld: boolean;
}

interface Group {
  readonly limit: SlotLimit;
  /** In order of arrival. */
  readonly entries: Set<Entry>;
  bytes: number;
  /** Removes the group once it is empty. */
  readonly remove: () => void;
}

/** The groups of one limit, by connection or address. */
interface Groups<Key> {
  get(key: Key): Group | undefined;
  set(key: Key, group: Group): unknown;
  delete(key: Key): boolean;
}

/**
 * Creates the slots of one kind, all of them free. Returns a function that takes one. It returns
 * null if a limit is reached and no holder can be evicted.
 */
export function createSlots({
  perConnection,
  perAddress,
  total,
}: SlotLimits): (holder: SlotHolder) => Slot | null {
  const connections = new WeakMap<object, Group>();
  const addresses = new Map<string, Group>();
  const all = newGroup(total, () => undefined);

  return (holder) => {
    const { connection, address } = holder;
    const here = connections.get(connection);
    const there = address === null ? undefined : addresses.get(address);
    if (![here, there, all].every((group) => group === undefined || evictUntilFree(group)))
      return null;
    // A group is removed with its last entry, so the groups are looked up only now.
    const groups = [groupOf(connections, connection, perConnection)];
    if (address !== null) groups.push(groupOf(addresses, address, perAddress));
    groups.push(all);
    const entry: Entry = { holder, groups, bytes: 0, isHeld: true };
    for (const { entries } of groups) entries.add(entry);
    return { setBytes: (bytes) => setBytes(entry, bytes), release: () => remove(entry) };
  };
}

function newGroup(limit: SlotLimit, remove: () => void): Group {
  return { limit, entries: new Set(), bytes: 0, remove };
}

function groupOf<Key>(groups: Groups<Key>, key: Key, limit: SlotLimit): Group {
  const known = groups.get(key);
  if (known !== undefined) return known;
  const group = newGroup(limit, () => groups.delete(key));
  groups.set(key, group);
  return group;
}

/** Whether one more entry fits, after evictions if needed. */
function evictUntilFree(group: Group): boolean {
  while (group.entries.size >= group.limit.count) if (!evictOldest(group)) return false;
  return true;
}

function setBytes(entry: Entry, bytes: number): void {
  if (!entry.isHeld) return;
  if (entry.holder.state() === "exempt") {
    remove(entry);
    return;
  }
  for (const group of entry.groups) group.bytes += bytes - entry.bytes;
  entry.bytes = bytes;
  for (const group of entry.groups) {
    while (
      group.bytes > group.limit.bytes &&
      evictOldest(group, (other) => other !== entry && other.bytes > 0)
    );
  }
}

/**
 * Evicts the oldest evictable entry. Returns false if there is none. Exempt entries are dropped on
 * the way.
 */
function evictOldest(group: Group, mayBe: (entry: Entry) => boolean = () => true): boolean {
  for (const entry of group.entries) {
    const state = entry.holder.state();
    if (state === "busy" || (state === "evictable" && !mayBe(entry))) continue;
    remove(entry);
    if (state === "evictable") entry.holder.evict();
    return true;
  }
  return false;
}

function remove(entry: Entry): void {
  if (!entry.isHeld) return;
  entry.isHeld = false;
  for (const group of entry.groups) {
    group.entries.delete(entry);
    group.bytes -= entry.bytes;
    if (group.entries.size === 0) group.remove();
  }
}
