/**
 * Amends one invoice that the ledger has: retries until the ledger has accepted or refused the
 * change.
 */
import { proxyActivities } from "@temporalio/workflow";
import type { AmendmentActivities } from "../src/worker/activities/posting/amend-invoice.ts";
import type { InvoiceAmendmentInput } from "./contract.ts";
import { ledgerBatch } from "./policies.ts";
import { workInBatches } from "./work-batches.ts";

const { amendBatch } = proxyActivities<AmendmentActivities>({
  ...ledgerBatch,
  summary: "amend the invoice in the ledger",
});

/**
 * Ends with the job, or when the job is rescheduled for long: the dispatcher then starts it again.
 */
export async function invoiceAmendment(input: InvoiceAmendmentInput): Promise<void> {
  await workInBatches(input, amendBatch);
}
