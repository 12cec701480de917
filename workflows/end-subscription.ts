/**
 * Ends one subscription: removes its invoices in the ledger one after the other, then ends it
 * (END-4).
 */
import { proxyActivities } from "@temporalio/workflow";
import type { EndSubscriptionInput, WorkBatch } from "./contract.ts";
import { ledgerBatch } from "./policies.ts";
import { workInBatches } from "./work-batches.ts";

const { endBatch } = proxyActivities<{ endBatch(input: EndSubscriptionInput): Promise<WorkBatch> }>(
  {
    ...ledgerBatch,
    summary: "remove invoices in the ledger, then end",
  },
);

/**
 * Ends with the job, or when the job is rescheduled for long: the dispatcher then starts it again.
 */
export async function endSubscription(input: EndSubscriptionInput): Promise<void> {
  await workInBatches(input, endBatch);
}
