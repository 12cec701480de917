/**
 * Writes the job that creates a document in the ledger again. SQL: the job is due by the
 * database's clock.
 */
import { newId } from "../../database/ids.ts";
import type { Transaction } from "../../database/pool.ts";
import { sql } from "../../database/sql/sql.ts";
import { command } from "../../database/sql/statement.ts";
import type { AdminDocument } from "./document-listing.ts";

const insertJob = command({
  name: "create_retry_job",
  text: sql`
    INSERT INTO ledger_jobs
      (
        id,
        organisation_id,
        kind,
        state,
        subscription_id,
        invoice_id,
        credit_note_id,
        skip_validation
      )
    VALUES ($1, $2, $3, 'ready', $4, $5, $6, true)
  `,
});

/** Creates the job that creates the document in the ledger. Returns its id. */
export async function createJob(
  tx: Transaction,
  organisationId: string,
  { id, kind, subscriptionId }: AdminDocument,
): Promise<string> {
  const jobId = newId();
  const isInvoice = kind === "invoice";
  await insertJob(
    tx,
    jobId,
    organisationId,
    isInvoice ? "create_invoice" : "create_credit_note",
    subscriptionId,
    isInvoice ? id : null,
    isInvoice ? null : id,
  );
  return jobId;
}
