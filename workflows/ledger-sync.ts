/**
 * Ledger sync. Each minute a run finds the organisations with a change notification or a due
 * incremental sync, and starts the sync of each. Work is found in the database, so a second run, a
 * restart or a repetition changes nothing (LEDGER-4).
 */
import { proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { LedgerSyncActivities } from "../src/worker/activities/sync/ledger-sync.ts";
import type { DuePageInput, LedgerSyncInput } from "./contract.ts";
import { databaseBatch, ledgerBatch } from "./policies.ts";
import { endAs } from "./run-end.ts";
import { workInBatches } from "./work-batches.ts";

const { startDueSyncs } = proxyActivities<LedgerSyncActivities>({
  ...databaseBatch,
  summary: "start the ledger sync of organisations with something to read",
});

const { syncBatch } = proxyActivities<LedgerSyncActivities>({
  ...ledgerBatch,
  summary: "read the ledger's changes",
});

/** Starts the sync of every organisation with something to read. It waits for no organisation. */
export async function ledgerSyncStarts(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const page = await startDueSyncs(input);
    found += page.found;
    started += page.started;
    setCurrentDetails(
      `${found} organisations have something to read, the ledger sync of ${started} is started`,
    );
    if (page.next === null) return endAs("done");
    input = { after: page.next };
  }
}

/**
 * Syncs one organisation until nothing is left to read, or the rest is rescheduled for long: a
 * later run then starts it again.
 */
export async function ledgerSync(input: LedgerSyncInput): Promise<void> {
  await workInBatches(input, syncBatch);
}
