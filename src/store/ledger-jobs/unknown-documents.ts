/**
 * Documents of the ledger that a restored database does not know, as posting takes them: a document
 * that is about to be created takes an equal one instead (LEDGER-19). SQL, because a claim decides
 * which of several writers takes a document, and numbers are a counter's claim.
 */
import { columns } from "../../gen/columns.ts";
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { json, pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, literal, type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { type DocumentKind, documentKinds, ofKinds } from "../documents/document-kinds.ts";
import { renumbering } from "./renumber.ts";

const unknownDocument = {
  ...pick(
    columns.unknownDocument,
    "ledgerId",
    "number",
    "contactId",
    "currency",
    "reference",
    "issueDate",
    "subtotal",
  ),
  /** Amounts have four places. */
  lines: json<readonly { readonly description: string; readonly amount: string }[]>(),
  /** The document here that has taken it. Null while it is open. */
  documentId: columns.unknownDocument.documentId,
};

/** A document of the ledger. */
export type UnknownDocument = RowOf<typeof unknownDocument>;

/** A document here, its job, and the document of the ledger that it takes. */
export interface Adoption {
  readonly ledgerId: string;
  readonly documentId: string;
  readonly jobId: string;
}

/** The unknown documents of one organisation, for posting. */
export type UnknownDocuments = ReturnType<typeof createUnknownDocuments>;

/**
 * SQL condition: another organisation of the same tenant has the document with this id of the
 * ledger. Organisation `$1` never takes it (LEDGER-19).
 */
export const isAnothers = (kind: DocumentKind, ledgerId: Sql): Sql => sql`EXISTS (
  SELECT 1 FROM ledger_connections own
    JOIN ledger_connections c ON lower(c.tenant_id) = lower(own.tenant_id)
      AND c.organisation_id <> own.organisation_id
    JOIN ${documentKinds[kind].table} a ON a.organisation_id = c.organisation_id
      AND a.${documentKinds[kind].ledgerId} = ${ledgerId}
  WHERE own.organisation_id = $1)`;

const load = ofKinds((kind) =>
  query({
    name: `load_unknown_${kind}s`,
    text: sql`
      SELECT ${columnsOf(sql`u`, unknownDocument)}
      FROM unknown_documents u
      WHERE
        u.organisation_id = $1
        AND u.kind = ${literal(kind)}
        AND (
          u.state = 'open'
          AND u.contact_id = ANY ($2)
          AND NOT ${isAnothers(kind, sql`u.ledger_id`)}
          OR u.document_id = ANY ($3::uuid[])
        )
      ORDER BY u.number, u.ledger_id
    `,
    row: unknownDocument,
  }),
);

/** Binds the unknown documents of an organisation to a pool. */
export function createUnknownDocuments(pool: Pool, organisationId: string) {
  return {
    /**
     * Open ones of these contacts, and those that these documents have taken. One that another
     * organisation has by now is neither taken nor waited for.
     */
    load: (kind: DocumentKind, contactIds: readonly string[], documentIds: readonly string[]) =>
      load[kind](pool, organisationId, contactIds, documentIds),
    /**
     * The documents take them with their numbers. Returns the ledger's ids of those that were open.
     */
    adopt: (kind: DocumentKind, adoptions: readonly Adoption[]) =>
      inTransaction(pool, async (tx) => {
        const jobIds = adoptions.map(({ jobId }) => jobId);
        await lockInOrder(tx, organisationId, { jobIds });
        return adoptUnknown(tx, organisationId, kind, adoptions);
      }),
    /** Records that the ledger no longer counts these: they were voided or deleted. */
    remove: async (kind: DocumentKind, ledgerIds: readonly string[]) => {
      await db(pool).unknownDocument.updateMany({
        where: { organisationId, kind, ledgerId: { in: [...ledgerIds] }, state: "open" },
        data: { state: "removed" },
      });
    },
  };
}

const adopt = query({
  name: "adopt_unknown_documents",
  text: sql`
    UPDATE unknown_documents u
    SET
      state = 'adopted',
      document_id = p.document_id
    FROM unnest($3::text[], $4::uuid[]) AS p (ledger_id, document_id)
    WHERE u.organisation_id = $1 AND u.kind = $2 AND u.ledger_id = p.ledger_id AND u.state = 'open'
    RETURNING u.ledger_id
  `,
  row: pick(columns.unknownDocument, "ledgerId"),
});

// Other documents whose numbers are about to be taken get the next ones. The ledger has none of
// them, and refuses each under its old number.
const renumberOthers = ofKinds((kind) =>
  renumbering(
    `renumber_other_${kind}s`,
    kind,
    sql`
      SELECT d.id, row_number() OVER (ORDER BY d.seq) - 1 AS position
      FROM
        unknown_documents u
        JOIN ${documentKinds[kind].table} d
          ON d.organisation_id = $1 AND d.number = u.number AND d.id <> u.document_id
      WHERE
        u.organisation_id = $1
        AND u.kind = ${literal(kind)}
        AND u.ledger_id = ANY ($2)
        AND d.${documentKinds[kind].ledgerId} IS NULL
    `,
  ),
);

const numberAdopted = ofKinds((kind) =>
  command({
    name: `number_adopted_${kind}s`,
    text: sql`
      UPDATE ${documentKinds[kind].table} d
      SET number = u.number
      FROM unknown_documents u
      WHERE
        d.organisation_id = $1
        AND u.organisation_id = $1
        AND u.kind = ${literal(kind)}
        AND u.ledger_id = ANY ($2)
        AND d.id = u.document_id
        AND d.number <> u.number
    `,
  }),
);

/**
 * The documents take open unknown ones, with their numbers. Another document here that has such a
 * number, and that the ledger does not have, gets the next free number. The caller holds the locks
 * of the documents. Returns the ledger's ids of those that were open.
 */
export async function adoptUnknown(
  tx: Transaction,
  organisationId: string,
  kind: DocumentKind,
  adoptions: readonly Omit<Adoption, "jobId">[],
): Promise<ReadonlySet<string>> {
  const ids = adoptions.map(({ ledgerId }) => ledgerId);
  const documentIds = adoptions.map(({ documentId }) => documentId);
  const rows = await adopt(tx, organisationId, kind, ids, documentIds);
  const taken = rows.map(({ ledgerId }) => ledgerId);
  await renumberOthers[kind](tx, organisationId, taken);
  await numberAdopted[kind](tx, organisationId, taken);
  return new Set(taken);
}
