/** Lists documents with a failed or waiting job, and finds the facts of documents. */

import type { DocumentState } from "../../../domain/billing/retry-document.ts";
import type { DocumentToExplain } from "../../../domain/explanation/render.ts";
import { isId } from "../../database/ids.ts";
import { getOne, type Page, type PageRequest } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { findNumbers } from "../../ledger-sync/sync-invoices.ts";
import { type AdminDocument, documentListing, listDocuments } from "./document-listing.ts";
import { findDocumentToExplain } from "./explained-document.ts";

/** An organisation's documents. Null stands for one that does not exist. */
export interface DocumentStore {
  get(organisationId: string, id: string): Promise<AdminDocument | null>;
  /** Lists documents in this state. Null lists failed and waiting ones. */
  list(
    organisationId: string,
    state: DocumentState | null,
    page: PageRequest,
  ): Promise<Page<AdminDocument>>;
  /** Loads what explains the document with this id or number. */
  toExplain(organisationId: string, idOrNumber: string): Promise<DocumentToExplain | null>;
  /** The numbers of our documents of a kind, by their ids in the ledger. */
  inLedger(
    organisationId: string,
    kind: "invoices" | "credit_notes",
    ledgerIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>>;
}

/** Creates the document store over a pool. */
export function createDocumentStore(pool: Pool): DocumentStore {
  return {
    get: async (organisationId, id) =>
      isId(id) ? getOne(pool, organisationId, documentListing, id) : null,
    list: (organisationId, state, page) =>
      listDocuments(pool, organisationId, state === null ? ["failed", "waiting"] : [state], page),
    toExplain: (organisationId, idOrNumber) =>
      findDocumentToExplain(pool, organisationId, idOrNumber),
    inLedger: (organisationId, kind, ledgerIds) =>
      findNumbers(pool, organisationId, kind, ledgerIds),
  };
}
