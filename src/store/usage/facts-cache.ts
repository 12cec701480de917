/**
 * Remembers the facts that usage was last evaluated with. They may be old: the statement that
 * stores events compares them with the database under its locks, and stores nothing if they
 * differ.
 */
import type { LoadedSubscription, ReportableFacts } from "./ingest-facts.ts";

/** The remembered facts of one process. */
export interface FactsCache {
  /** The facts of these subscriptions. Null if one of them is not remembered. */
  find(organisationId: string, ids: readonly string[]): ReportableFacts | null;
  remember(organisationId: string, facts: ReportableFacts): void;
}

/** Each takes less than a kilobyte. The first one remembered is evicted first. */
const maxSubscriptions = 20_000;

/** Creates an empty cache. */
export function createFactsCache(most = maxSubscriptions): FactsCache {
  const versions = new Map<string, string>();
  const subscriptions = new Map<string, LoadedSubscription>();
  return {
    find: (organisationId, ids) => {
      const catalogueVersion = versions.get(organisationId);
      if (catalogueVersion === undefined) return null;
      const found = new Map<string, LoadedSubscription>();
      for (const id of ids) {
        const subscription = subscriptions.get(keyOf(organisationId, id));
        if (subscription === undefined) return null;
        found.set(id, subscription);
      }
      return { subscriptions: found, catalogueVersion };
    },
    remember: (organisationId, facts) => {
      put(versions, organisationId, facts.catalogueVersion, most);
      for (const [id, subscription] of facts.subscriptions)
        put(subscriptions, keyOf(organisationId, id), subscription, most);
    },
  };
}

// An organisation finds what was read for it, whichever ids it names (ACCESS-8).
function keyOf(organisationId: string, id: string): string {
  return `${organisationId}/${id}`;
}

function put<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  if (map.size >= most && !map.has(key)) {
    const [oldest] = map.keys();
    if (oldest !== undefined) map.delete(oldest);
  }
  map.set(key, value);
}
