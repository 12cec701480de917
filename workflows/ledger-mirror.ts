/**
 * Following the ledger: each minute a run asks which organisations have something to be looked at there, a webhook's hint or a sweep that
 * is due, and starts the mirror of each, which looks until nothing is left. What is to be looked at is found in the database, so that a
 * second run, a restart or a repetition changes nothing.
 */
import { proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { LedgerSyncActivities } from "../src/worker/activities/sync/ledger-sync.ts";
import type { DuePageInput, LedgerSyncInput } from "./contract.ts";
import { databaseBatch, ledgerBatch } from "./policies.ts";
import { workInBatches } from "./rounds.ts";
import { endAs } from "./run-end.ts";

const { startMirrors } = proxyActivities<LedgerSyncActivities>({
  ...databaseBatch,
  summary: "start the mirrors of organisations whose ledger is to be looked at",
});

const { syncBatch } = proxyActivities<LedgerSyncActivities>({ ...ledgerBatch, summary: "look at what people changed" });

/** One run. It waits for no organisation. */
export async function ledgerSyncStarts(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const round = await startMirrors(input);
    found += round.found;
    started += round.started;
    setCurrentDetails(`the ledgers of ${found} organisations are to be looked at, ${started} mirrors are started`);
    if (round.next === null) return endAs("done");
    input = { after: round.next };
  }
}

/** One organisation, until nothing is left to be looked at, or that is put off for long: a later run then starts it again. */
export async function ledgerSync(input: LedgerSyncInput): Promise<void> {
  await workInBatches(input, syncBatch);
}
