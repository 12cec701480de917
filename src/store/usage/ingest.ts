/**
 * Stores usage events. Each id is stored once for ever. Each event goes on the bill that is open
 * while its lock is held (USAGE-11).
 */
import type { UsageVerdict } from "../../domain/usage/ingest.ts";
import { isId } from "../database/ids.ts";
import type { Pool } from "../database/pool.ts";
import type { StoreUsage } from "./batch.ts";
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
 * Binds ingestion to a pool. It remembers meters and subscriptions. `onStored` is called after each
 * stored batch.
 */
export function createStoreUsage(
  pool: Pool,
  onStored: (counts: UsageCounts) => void = () => undefined,
): StoreUsage {
  const remembered = { catalogue: createMeterCatalogue(), facts: createFactsCache() };
  return joinReports(async (organisationId, reported, now) => {
    // An id that is no UUID names no subscription, and the database is not queried for it
    // (USAGE-5).
    const named = reported.map(({ subscription }) => subscription.toLowerCase()).filter(isId);
    const batch = { organisationId, reported, subscriptionIds: [...new Set(named)], now };
    const { verdicts, late } =
      (await storeAtOnce(pool, remembered, batch)) ??
      (await storeUnderLocks(pool, remembered.catalogue, batch));
    onStored(countsOf(verdicts, late));
    return verdicts;
  });
}

function countsOf(verdicts: readonly UsageVerdict[], late: number): UsageCounts {
  const counts = { created: 0, duplicate: 0, rejected: 0, late };
  for (const { status } of verdicts) counts[status] += 1;
  return counts;
}
