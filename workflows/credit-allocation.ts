/** The credit that one subscription holds, put on its invoices: one step after the other, oldest first. */
import { proxyActivities } from "@temporalio/workflow";
import type { CreditAllocationActivities } from "../src/worker/activities/posting/allocate-credit.ts";
import type { CreditAllocationInput } from "./contract.ts";
import { ledgerRound } from "./policies.ts";
import { workInRounds } from "./rounds.ts";

const { allocateRound } = proxyActivities<CreditAllocationActivities>({
  ...ledgerRound,
  summary: "put held credit on an invoice",
});

/**
 * Ends when nothing is left to be applied, or when that is put off for long: the dispatcher then starts it again.
 * decisions §6.
 */
export async function creditAllocation(input: CreditAllocationInput): Promise<void> {
  await workInRounds(input, allocateRound);
}
