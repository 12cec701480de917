/**
 * Stores usage events. Each id is stored once for ever. Each event goes on the bill that is open
 * while its lock is held (USAGE-11).
 */
import type { UsageVerdict } from "../../domain/usage/ingest.ts";
import { isId } from "../database/ids.ts";
import type { Pool } from "../database/pool.ts";
import { joinReports, type StoreUsage, type UsageReport } from "./join-reports.ts";
import { type StoredBatch, storeFree, storeWaiting, type UsageBatch } from "./store-batches.ts";

/** How many events of a batch have each verdict. `late`: created ones of a period that was over. */
export interface UsageCounts {
  readonly created: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly late: number;
}

/** Binds ingestion to a pool. `onStored` is called after each stored batch. */
export function createStoreUsage(
  pool: Pool,
  onStored: (counts: UsageCounts) => void = () => undefined,
): StoreUsage {
  const answer = ({ verdicts, late }: StoredBatch): readonly UsageVerdict[] => {
    const counts = { created: 0, duplicate: 0, rejected: 0, late };
    for (const { status } of verdicts) counts[status] += 1;
    onStored(counts);
    return verdicts;
  };
  return joinReports({
    together: async (reports) => {
      const stored = await storeFree(pool, reports.map(batchOf));
      return stored.map((one) => (one === null ? null : answer(one)));
    },
    alone: async (report) => answer(await storeWaiting(pool, batchOf(report))),
  });
}

function batchOf(report: UsageReport): UsageBatch {
  // An id that is no UUID names no subscription, and the database is not queried for it (USAGE-5).
  const named = report.reported.map(({ subscription }) => subscription.toLowerCase());
  return { ...report, subscriptionIds: [...new Set(named)].filter(isId) };
}
