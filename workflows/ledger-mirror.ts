/**
 * Ledger sync. Each minute a run finds the organisations with a change notification or a due
 * incremental sync, and starts the sync of each. Work is found in the database, so a second run, a
 * restart or a repetition changes nothing (LEDGER-4).
 */
import { proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { LedgerSyncActivities } from "../src/worker/activities/sync/ledger-sync.ts";
import type { DuePageInput, LedgerSyncInput } from "./contract.ts";
import { databaseBatch, ledgerBatch } from "./policies.ts";
import { workInBatches } from "./rounds.ts";
import { endAs } from "./run-end.ts";

const { startDueSyncs } = proxyActivities<LedgerSyncActivities>({
  ...databaseBatch,
  summary: "start the mirrors of organisations whose ledger is to be looked at",
});

const { syncBatch } = proxyActivities<LedgerSyncActivities>({
  ...ledgerBatch,
  summary: "look at what people changed",
});

/** Starts the sync of every organisation with something to read. It waits for no organisation. */
export async function ledgerSyncStarts(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const round = await startDueSyncs(input);
    found += round.found;
    started += round.started;
    setCurrentDetails(
      `the ledgers of ${found} organisations are to be looked at, ${started} mirrors are started`,
    );
    if (round.next === null) return endAs("done");
    input = { after: round.next };
  }
}

/**
 * Syncs one organisation until nothing is left to read, or the rest is rescheduled for long: a
 * later run then starts it again.
 */
export async function ledgerSync(input: LedgerSyncInput): Promise<void> {
  await workInBatches(input, syncBatch);
}
