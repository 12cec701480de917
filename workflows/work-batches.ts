/**
 * The workflows of one subscription or invoice, and of the sync of a ledger: batches, until one
 * reports that nothing is left. Work is found in the database, so a second run, a restart or a
 * repetition changes nothing.
 */
import {
  condition,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { CreditAllocationActivities } from "../src/worker/activities/posting/allocate-credit.ts";
import type { AmendmentActivities } from "../src/worker/activities/posting/amend-invoice.ts";
import type { EndSubscriptionActivities } from "../src/worker/activities/subscriptions/end-subscription.ts";
import type { LedgerSyncActivities } from "../src/worker/activities/sync/ledger-sync.ts";
import {
  type CreditAllocationInput,
  type EndSubscriptionInput,
  type InvoiceAmendmentInput,
  type OrganisationInput,
  type RunResult,
  type WorkBatch,
  wakeSignal,
} from "./contract.ts";
import { batches, idleBatchMs, maxWaitMs } from "./policies.ts";
import { continueInNewRun, endAs, isLongRun } from "./run-end.ts";

const wake = defineSignal(wakeSignal);

/**
 * Runs batches until the work is done, or can be retried only after more than `maxWaitMs`. A
 * start while it runs is a signal: a waiting run checks at once, and one that is about to end
 * checks once more.
 */
async function workInBatches<Input>(
  input: Input,
  work: (input: Input) => Promise<WorkBatch>,
): Promise<RunResult> {
  let isWoken = false;
  let isRefused = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  setCurrentDetails("the first attempt is under way");
  for (;;) {
    isWoken = false;
    const batch = await work(input);
    setCurrentDetails(batch.detail);
    isRefused ||= batch.outcome === "refused";
    if (!isWoken) {
      if (batch.state === "done") return endAs(isRefused ? "refused" : batch.outcome, batch.detail);
      const waitMs = batch.nextInMs ?? 0;
      if (waitMs > maxWaitMs) return endAs("rescheduled", batch.detail);
      await condition(() => isWoken, Math.max(waitMs, idleBatchMs));
    }
    if (isLongRun()) await continueInNewRun<(again: Input) => Promise<RunResult>>(input);
  }
}

const { allocateBatch } = proxyActivities<CreditAllocationActivities>({
  ...batches,
  summary: "apply held credit to an invoice",
});

/**
 * Applies held credit to invoices. Ends when nothing is left to apply, or when the rest is
 * rescheduled for long: the dispatcher then starts it again.
 */
export async function creditAllocation(input: CreditAllocationInput): Promise<RunResult> {
  return workInBatches(input, allocateBatch);
}

const { amendBatch } = proxyActivities<AmendmentActivities>({
  ...batches,
  summary: "amend the invoice in the ledger",
});

/**
 * Amends an invoice in the ledger. Ends with the job, or when the job is rescheduled for long: the
 * dispatcher then starts it again.
 */
export async function invoiceAmendment(input: InvoiceAmendmentInput): Promise<RunResult> {
  return workInBatches(input, amendBatch);
}

const { endBatch } = proxyActivities<EndSubscriptionActivities>({
  ...batches,
  summary: "remove invoices in the ledger, then end",
});

/**
 * Ends one subscription: removes its invoices in the ledger one after the other, then ends it
 * (END-4). The run ends with the job, or when the job is rescheduled for long: the dispatcher then
 * starts it again.
 */
export async function endSubscription(input: EndSubscriptionInput): Promise<RunResult> {
  return workInBatches(input, endBatch);
}

const { syncBatch } = proxyActivities<LedgerSyncActivities>({
  ...batches,
  summary: "read the ledger's changes",
});

/**
 * Syncs one organisation until nothing is left to read, or the rest is rescheduled for long: a
 * later run then starts it again (LEDGER-4).
 */
export async function ledgerSync(input: OrganisationInput): Promise<RunResult> {
  return workInBatches(input, syncBatch);
}
