/** One change of an invoice that the ledger has: tried until the ledger has taken or refused it. */
import { proxyActivities } from "@temporalio/workflow";
import type { AmendmentActivities } from "../src/worker/activities/posting/amend-invoice.ts";
import type { InvoiceAmendmentInput } from "./contract.ts";
import { ledgerBatch } from "./policies.ts";
import { workInBatches } from "./rounds.ts";

const { amendBatch } = proxyActivities<AmendmentActivities>({
  ...ledgerBatch,
  summary: "amend the invoice in the ledger",
});

/** Ends with the operation, or when that is put off for long: the dispatcher then starts it again. decisions §6. */
export async function invoiceAmendment(input: InvoiceAmendmentInput): Promise<void> {
  await workInBatches(input, amendBatch);
}
