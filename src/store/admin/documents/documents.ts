/**
 * Lists documents with a failed or waiting job, and finds the facts of documents. SQL, because a
 * number is looked up among both kinds.
 */
import type { DocumentOperation, DocumentState } from "../../../domain/billing/retry-document.ts";
import type { DocumentToExplain } from "../../../domain/explanation/render.ts";
import type { LedgerAttempt } from "../../../gen/prisma/client.ts";
import { binding } from "../../database/bind.ts";
import { isId } from "../../database/ids.ts";
import { getOne, type PageRequest } from "../../database/page.ts";
import { inSnapshot, type Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { uuid } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { type Executor, query } from "../../database/sql/statement.ts";
import { loadDocumentToExplain } from "../../documents/explained-documents.ts";
import type { AttemptOutcome } from "../../ledger-jobs/ledger-attempts.ts";
import { findNumbers } from "../../ledger-sync/sync-invoices.ts";
import { describeRetry } from "./describe-retry.ts";
import { documentListing, listDocuments, operations } from "./document-listing.ts";

/** An attempt at a ledger job of a document. */
export interface DocumentAttempt
  extends Pick<
    LedgerAttempt,
    "createdAt" | "reason" | "message" | "httpStatus" | "correlationId" | "durationMs"
  > {
  readonly operation: DocumentOperation;
  readonly outcome: AttemptOutcome;
}

/** Creates the document store over a pool. Null stands for one that does not exist. */
export function createDocumentStore(pool: Pool) {
  const bound = binding(pool);
  return {
    get: (organisationId: string, id: string) => getOne(pool, organisationId, documentListing, id),
    /** The last attempts at the jobs of a document, newest first. */
    attempts: async (organisationId: string, documentId: string) => {
      const where = { organisationId, documentId };
      const found = await db(pool).ledgerAttempt.findMany({ where, orderBy: { seq: "desc" } });
      return found.map(({ jobKind, outcome, ...attempt }) => ({
        ...attempt,
        operation: operations[jobKind as keyof typeof operations],
        outcome: outcome as AttemptOutcome,
      }));
    },
    /** Lists documents in this state. Null lists failed and waiting ones. */
    list: (organisationId: string, state: DocumentState | null, page: PageRequest) =>
      listDocuments(pool, organisationId, state === null ? ["failed", "waiting"] : [state], page),
    /** What a retry would send. Null for a document that does not exist. */
    describeRetry: (organisationId: string, id: string) =>
      inSnapshot(pool, async (client) => {
        const document = await getOne(client, organisationId, documentListing, id);
        return document && describeRetry(client, organisationId, document);
      }),
    /** Loads what explains the document with this id or number. */
    toExplain: bound(findDocumentToExplain),
    /** The numbers of our documents of a kind, by their ids in the ledger. */
    inLedger: bound(findNumbers),
  };
}

const findByNumber = query({
  name: "find_document_by_number",
  text: sql`
    SELECT d.id FROM invoices d WHERE d.organisation_id = $1 AND d.number = $2
    UNION ALL
    SELECT d.id FROM credit_notes d WHERE d.organisation_id = $1 AND d.number = $2
  `,
  row: { id: uuid },
});

/** Loads the document with this id or number. Null if the organisation has none. */
export async function findDocumentToExplain(
  executor: Executor,
  organisationId: string,
  idOrNumber: string,
): Promise<DocumentToExplain | null> {
  const [numbered] = isId(idOrNumber)
    ? []
    : await findByNumber(executor, organisationId, idOrNumber);
  const id = numbered?.id ?? idOrNumber;
  return (
    (await loadDocumentToExplain(executor, organisationId, "invoice", id)) ??
    (await loadDocumentToExplain(executor, organisationId, "credit_note", id))
  );
}
