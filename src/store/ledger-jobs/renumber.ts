/**
 * Gives documents the next numbers, because foreign documents in the ledger have theirs. SQL,
 * because a number is a counter's claim, and one statement writes those of a whole group.
 */
import type { Transaction } from "../database/pool.ts";
import { documentNumber } from "../documents/invoice-writes.ts";
import { numberPrefixes } from "./unknown-documents.ts";

/** The reason of a job whose document has just taken the next number. */
export const renumberedReason = "its number was taken";

const renumberText = (kind: "invoice" | "credit_note"): string => `WITH job AS (
    SELECT o.${kind}_id AS id, row_number() OVER (ORDER BY o.seq) - 1 AS position
    FROM ledger_jobs o
    WHERE o.organisation_id = $1 AND o.id = ANY ($2) AND o.kind = 'create_${kind}'
      AND o.state = 'ready' AND o.reason = '${renumberedReason}'
  ), counter AS (
    UPDATE document_counters c SET next = next + (SELECT count(*) FROM job)
    WHERE c.organisation_id = $1 AND c.kind = '${kind}' AND EXISTS (SELECT 1 FROM job)
    RETURNING c.next - (SELECT count(*) FROM job) AS first
  )
  UPDATE ${kind}s d SET number = ${documentNumber(numberPrefixes[kind], "k.first + job.position")}
  FROM job, counter k, organisations o
  WHERE d.organisation_id = $1 AND d.id = job.id AND o.id = $1`;

/**
 * Renumbers the documents of these jobs, if their outcome was recorded by the attempt that holds
 * them. The caller holds the locks of the documents.
 */
export async function renumber(
  client: Transaction,
  organisationId: string,
  jobIds: readonly string[],
): Promise<void> {
  if (jobIds.length === 0) return;
  for (const kind of ["invoice", "credit_note"] as const) {
    const values = [organisationId, jobIds];
    await client.query({ name: `renumber_${kind}s`, text: renumberText(kind), values });
  }
}
