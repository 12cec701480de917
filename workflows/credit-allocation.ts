/**
 * Applies the credit that one subscription holds to its invoices, one step after the other, oldest
 * first (DOCUMENT-4).
 */
import { proxyActivities } from "@temporalio/workflow";
import type { CreditAllocationActivities } from "../src/worker/activities/posting/allocate-credit.ts";
import type { CreditAllocationInput } from "./contract.ts";
import { ledgerBatch } from "./policies.ts";
import { workInBatches } from "./work-batches.ts";

const { allocateBatch } = proxyActivities<CreditAllocationActivities>({
  ...ledgerBatch,
  summary: "apply held credit to an invoice",
});

/**
 * Ends when nothing is left to apply, or when the rest is rescheduled for long: the dispatcher then
 * starts it again.
 */
export async function creditAllocation(input: CreditAllocationInput): Promise<void> {
  await workInBatches(input, allocateBatch);
}
