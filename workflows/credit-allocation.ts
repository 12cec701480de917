/** The credit that one subscription holds, put on its invoices: one step after the other, oldest first. */
import { proxyActivities } from "@temporalio/workflow";
import type { CreditAllocationActivities } from "../src/worker/activities/posting/allocate-credit.ts";
import type { CreditAllocationInput } from "./contract.ts";
import { ledgerBatch } from "./policies.ts";
import { workInBatches } from "./rounds.ts";

const { allocateBatch } = proxyActivities<CreditAllocationActivities>({
  ...ledgerBatch,
  summary: "put held credit on an invoice",
});

/**
 * Ends when nothing is left to be applied, or when that is put off for long: the dispatcher then starts it again.
 * decisions §6.
 */
export async function creditAllocation(input: CreditAllocationInput): Promise<void> {
  await workInBatches(input, allocateBatch);
}
