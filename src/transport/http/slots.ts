/**
 * Limits what many clients hold open at the same time: by connection, by address and in total. If a
 * limit is reached, the oldest holder that waits for its own client gives way, so that newcomers
 * that are served at once always get in.
 */

/** How much may be held at once. */
export interface SlotLimit {
  readonly count: number;
  readonly bytes: number;
}

/** The limits of one kind of slot. */
export interface SlotLimits {
  readonly perConnection: SlotLimit;
  readonly perAddress: SlotLimit;
  readonly total: SlotLimit;
}

/** What holds a slot. */
export interface SlotHolder {
  readonly connection: object;
  /** Null if the address does not identify the client: then only the other two limits apply. */
  readonly address: string | null;
  /**
   * `evictable`: it waits for its client. `busy`: it waits for this process. `exempt`: it no longer
   * counts.
   */
  readonly state: () => "evictable" | "busy" | "exempt";
  /** Ends the holder. Its slot is already free. */
  readonly evict: () => void;
}

/** A slot that is held. */
export interface Slot {
  /** Records how many bytes the client has not read; older holders give way if that is too much. */
  setBytes(bytes: number): void;
  /** Frees the slot; a second call does nothing. */
  release(): void;
}

/** The slots of one kind. */
export interface Slots {
  /** Null if a limit is reached and nobody gives way. */
  take(holder: SlotHolder): Slot | null;
}

interface Entry {
  readonly holder: SlotHolder;
  /** The narrowest first: what gives way there counts no longer in the wider ones. */
  readonly groups: readonly Group[];
  bytes: number;
}

interface Group {
  readonly limit: SlotLimit;
  /** In order of arrival. */
  readonly entries: Set<Entry>;
  bytes: number;
  /** Forgets the group once it is empty. */
  readonly forget: () => void;
}

/** Creates the slots, all of them free. */
export function createSlots({ perConnection, perAddress, total }: SlotLimits): Slots {
  const connections = new Map<unknown, Group>();
  const addresses = new Map<unknown, Group>();
  const all = newGroup(total, () => undefined);

  return {
    take(holder) {
      const { connection, address } = holder;
      const here = connections.get(connection);
      const there = addresses.get(address);
      if (![here, there, all].every((group) => group === undefined || makeRoom(group))) return null;
      // A group whose last entry gave way was forgotten, so that the groups are looked up only now.
      const groups = [groupOf(connections, connection, perConnection)];
      if (address !== null) groups.push(groupOf(addresses, address, perAddress));
      groups.push(all);
      const entry = { holder, groups, bytes: 0 };
      for (const group of groups) group.entries.add(entry);
      return { setBytes: (bytes) => setBytes(entry, bytes), release: () => remove(entry) };
    },
  };
}

function newGroup(limit: SlotLimit, forget: () => void): Group {
  return { limit, entries: new Set(), bytes: 0, forget };
}

function groupOf(groups: Map<unknown, Group>, key: unknown, limit: SlotLimit): Group {
  const known = groups.get(key);
  if (known !== undefined) return known;
  const group = newGroup(limit, () => groups.delete(key));
  groups.set(key, group);
  return group;
}

/** Whether one more fits, after older holders gave way. */
function makeRoom(group: Group): boolean {
  while (group.entries.size >= group.limit.count) if (!evictOldest(group)) return false;
  return true;
}

function setBytes(entry: Entry, bytes: number): void {
  if (!isHeld(entry)) return;
  if (entry.holder.state() === "exempt") {
    remove(entry);
    return;
  }
  for (const group of entry.groups) group.bytes += bytes - entry.bytes;
  entry.bytes = bytes;
  for (const group of entry.groups) {
    while (group.bytes > group.limit.bytes && evictOldest(group, (other) => other !== entry && other.bytes > 0));
  }
}

/**
 * Ends the oldest entry that gives way; false if none does. Entries that no longer count are
 * dropped on the way.
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

function isHeld(entry: Entry): boolean {
  return entry.groups.every(({ entries }) => entries.has(entry));
}

function remove(entry: Entry): void {
  for (const group of entry.groups) {
    if (!group.entries.delete(entry)) continue;
    group.bytes -= entry.bytes;
    if (group.entries.size === 0) group.forget();
  }
}
