/**
 * Stores usage events. Each id is stored once for ever. Each event goes on the bill that is open
 * while its lock is held (USAGE-11).
 */
import type { UsageVerdict } from "../../domain/usage/ingest.ts";
import { isId } from "../database/ids.ts";
import type { Pool } from "../database/pool.ts";
import type { StoredBatch, StoreUsage, UsageBatch, UsageReports } from "./batch.ts";
import { createFactsCache } from "./facts-cache.ts";
import { createMeterCatalogue } from "./ingest-facts.ts";
import { joinReports } from "./join-reports.ts";
import { storeAtOnce } from "./store-at-once.ts";
import { storeUnderLocks } from "./store-under-locks.ts";

/** How many events of a batch have each verdict. `late`: created ones of a period that was over. */
export interface UsageCounts {
  readonly created: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly late: number;
}

/**
 * Attempts of a batch alone before the facts are read under the locks. They change again between
 * reading and storing only while many bills close.
 */
const maxAttempts = 2;

/**
 * Binds ingestion to a pool. It remembers meters and subscriptions. `onStored` is called after each
 * stored batch.
 */
export function createStoreUsage(
  pool: Pool,
  onStored: (counts: UsageCounts) => void = () => undefined,
): StoreUsage {
  const remembered = {
    catalogue: createMeterCatalogue(),
    facts: createFactsCache(),
    resends: { expected: 0 },
  };

  const answer = ({ verdicts, late }: StoredBatch): readonly UsageVerdict[] => {
    onStored(countsOf(verdicts, late));
    return verdicts;
  };

  return joinReports({
    together: async (all) => {
      const manner = { waits: false, isFresh: false };
      const stored = await storeAtOnce(pool, remembered, all.map(batchOf), manner);
      return stored.map((one) => (one === null ? null : answer(one)));
    },
    alone: async (reports) => {
      const batch = batchOf(reports);
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const manner = { waits: true, isFresh: true };
        const [stored] = await storeAtOnce(pool, remembered, [batch], manner);
        if (stored) return answer(stored);
      }
      return answer(await storeUnderLocks(pool, remembered.catalogue, batch));
    },
  });
}

function batchOf(reports: UsageReports): UsageBatch {
  // An id that is no UUID names no subscription, and the database is not queried for it (USAGE-5).
  const named = reports.reported.map(({ subscription }) => subscription.toLowerCase());
  return { ...reports, subscriptionIds: [...new Set(named)].filter(isId) };
}

function countsOf(verdicts: readonly UsageVerdict[], late: number): UsageCounts {
  const counts = { created: 0, duplicate: 0, rejected: 0, late };
  for (const { status } of verdicts) counts[status] += 1;
  return counts;
}
