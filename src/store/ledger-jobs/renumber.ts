/**
 * Gives documents the next numbers, because foreign documents in the ledger have theirs. SQL,
 * because a number is a counter's claim, and one statement writes those of a whole group.
 */
import type { Transaction } from "../database/pool.ts";
import { identifier, literal, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { documentNumber } from "../documents/invoice-writes.ts";
import { documentTables, numberPrefixes, type UnknownKind } from "./unknown-documents.ts";

/** The reason of a job whose document has just taken the next number. */
export const renumberedReason = "its number was taken";

const renumbering = (kind: UnknownKind) => {
  const number = documentNumber(numberPrefixes[kind], sql`k.first + job.position`);
  return command({
    name: `renumber_${documentTables[kind]}`,
    text: sql`
      WITH
        job AS (
          SELECT
            o.${identifier(`${kind}_id`)} AS id,
            row_number() OVER (ORDER BY o.seq) - 1 AS position
          FROM ledger_jobs o
          WHERE
            o.organisation_id = $1
            AND o.id = ANY ($2)
            AND o.kind = ${literal(`create_${kind}`)}
            AND o.state = 'ready'
            AND o.reason = ${literal(renumberedReason)}
        ),
        counter AS (
          UPDATE document_counters c
          SET next = next + (SELECT count(*) FROM job)
          WHERE c.organisation_id = $1 AND c.kind = ${literal(kind)} AND EXISTS (SELECT 1 FROM job)
          RETURNING c.next - (SELECT count(*) FROM job) AS first
        )
      UPDATE ${documentTables[kind]} d
      SET number = ${number}
      FROM
        job,
        counter k,
        organisations o
      WHERE d.organisation_id = $1 AND d.id = job.id AND o.id = $1
    `,
  });
};

const renumberInvoices = renumbering("invoice");
const renumberNotes = renumbering("credit_note");

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
  await renumberInvoices(client, organisationId, jobIds);
  await renumberNotes(client, organisationId, jobIds);
}
