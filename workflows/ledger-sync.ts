/**
 * Ledger sync. Each minute a run finds the organisations with a change notification or a due
 * incremental sync, and starts the sync of each. Work is found in the database, so a second run, a
 * restart or a repetition changes nothing (LEDGER-4).
 */
import { proxyActivities } from "@temporalio/workflow";
import type { LedgerSyncActivities } from "../src/worker/activities/sync/ledger-sync.ts";
import type { DuePage, DuePageInput, LedgerSyncInput, RunResult } from "./contract.ts";
import { databaseBatch, ledgerBatch } from "./policies.ts";
import { countOf, endAs } from "./run-end.ts";
import { workInBatches } from "./work-batches.ts";

const { startDueSyncs } = proxyActivities<LedgerSyncActivities>({
  ...databaseBatch,
  summary: "start the ledger sync of organisations with something to read",
});

const { syncBatch } = proxyActivities<LedgerSyncActivities>({
  ...ledgerBatch,
  summary: "read the ledger's changes",
});

/** Starts the sync of every organisation with something to read, for the previous version. */
export async function ledgerSyncStarts(): Promise<RunResult> {
  let found = 0;
  for (let input: DuePageInput | null = { after: null }; input !== null; ) {
    const page: DuePage = await startDueSyncs(input);
    found += page.found;
    input = page.next === null ? null : { after: page.next };
  }
  return endAs("done", `${countOf(found, "organisation")} had something to read`);
}

/**
 * Syncs one organisation until nothing is left to read, or the rest is rescheduled for long: a
 * later run then starts it again.
 */
export async function ledgerSync(input: LedgerSyncInput): Promise<RunResult> {
  return workInBatches(input, syncBatch);
}
