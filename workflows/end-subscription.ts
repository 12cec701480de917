/** One end of a subscription: its invoices are removed in the ledger, one after the other, and then it ends. */
import { proxyActivities } from "@temporalio/workflow";
import type { EndSubscriptionInput, WorkBatch } from "./contract.ts";
import { ledgerBatch } from "./policies.ts";
import { workInBatches } from "./rounds.ts";

const { endBatch } = proxyActivities<{ endBatch(input: EndSubscriptionInput): Promise<WorkBatch> }>({
  ...ledgerBatch,
  summary: "remove invoices in the ledger, then end",
});

/** Ends with the operation, or when that is put off for long: the dispatcher then starts it again. Spec: End, rule 4. */
export async function endSubscription(input: EndSubscriptionInput): Promise<void> {
  await workInBatches(input, endBatch);
}
