/** Finds the jobs that still have to create a subscription's invoices in the ledger. */
import { db } from "../database/prisma/client.ts";
import type { Executor } from "../database/sql/statement.ts";

/** The ids of an invoice and of the job that posts it. */
export interface InvoiceIds {
  readonly invoiceId: string;
  readonly jobId: string;
}

/**
 * Returns the first invoice of a subscription and the last job that posts it. Null if none was
 * issued, in Setup Mode.
 */
export async function findFirstInvoice(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
): Promise<InvoiceIds | null> {
  const job = await db(executor).ledgerJob.findFirst({
    where: { organisationId, kind: "create_invoice", invoice: { subscriptionId, type: "first" } },
    orderBy: [{ invoice: { seq: "asc" } }, { seq: "desc" }],
    select: { id: true, invoiceId: true },
  });
  if (job === null || job.invoiceId === null) return null;
  return { invoiceId: job.invoiceId, jobId: job.id };
}

/**
 * Returns the open jobs of those invoices of a subscription that a change can amend, oldest first.
 */
export async function findUnsent(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
): Promise<readonly string[]> {
  const jobs = await db(executor).ledgerJob.findMany({
    where: {
      organisationId,
      kind: "create_invoice",
      state: { in: ["ready", "sending", "uncertain"] },
      invoice: { subscriptionId, type: { in: ["first", "renewal"] }, status: "scheduled" },
    },
    orderBy: { seq: "asc" },
    select: { id: true },
  });
  return jobs.map(({ id }) => id);
}
