/** One end of a subscription: its invoices are removed in the ledger, one after the other, and then it ends. */
import { proxyActivities } from "@temporalio/workflow";
import type { EndSubscriptionInput, WorkRound } from "./contract.ts";
import { ledgerRound } from "./policies.ts";
import { workInRounds } from "./rounds.ts";

const { endRound } = proxyActivities<{ endRound(input: EndSubscriptionInput): Promise<WorkRound> }>({
  ...ledgerRound,
  summary: "remove invoices in the ledger, then end",
});

/** Ends with the operation, or when that is put off for long: the dispatcher then starts it again. Spec: End, rule 4. */
export async function endSubscription(input: EndSubscriptionInput): Promise<void> {
  await workInRounds(input, endRound);
}
