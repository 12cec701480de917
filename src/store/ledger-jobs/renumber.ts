/**
 * Gives documents the next numbers, because foreign documents in the ledger have theirs. SQL,
 * because a number is a counter's claim, and one statement writes those of a whole group.
 */
import type { Transaction } from "../database/pool.ts";
import { literal, type Sql, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { type DocumentKind, documentKinds, ofKinds } from "../documents/document-kinds.ts";
import { documentNumber } from "../documents/document-writes.ts";

/** The reason of a job whose document has just taken the next number. */
export const renumberedReason = "its number was taken";

/** Declares what renumbers the documents of a kind with these ids and positions from 0 on. */
export const renumbering = (name: string, kind: DocumentKind, documents: Sql) => {
  const { table } = documentKinds[kind];
  return command({
    name,
    text: sql`
      WITH
        document AS (${documents}),
        counter AS (
          UPDATE document_counters c
          SET next = next + (SELECT count(*) FROM document)
          WHERE
            c.organisation_id = $1
            AND c.kind = ${literal(kind)}
            AND EXISTS (SELECT 1 FROM document)
          RETURNING c.next - (SELECT count(*) FROM document) AS first
        )
      UPDATE ${table} d
      SET number = ${documentNumber(kind, sql`k.first + document.position`)}
      FROM
        document,
        counter k,
        organisations o
      WHERE d.organisation_id = $1 AND d.id = document.id AND o.id = $1
    `,
  });
};

const renumberings = ofKinds((kind) =>
  renumbering(
    `renumber_${kind}s`,
    kind,
    sql`
      SELECT o.${documentKinds[kind].id} AS id, row_number() OVER (ORDER BY o.seq) - 1 AS position
      FROM ledger_jobs o
      WHERE
        o.organisation_id = $1
        AND o.id = ANY ($2)
        AND o.kind = ${literal(`create_${kind}`)}
        AND o.state = 'ready'
        AND o.reason = ${literal(renumberedReason)}
    `,
  ),
);

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
  await renumberings.invoice(client, organisationId, jobIds);
  await renumberings.credit_note(client, organisationId, jobIds);
}
