/** Lists documents with a failed or waiting job, and retries them. */

import { isId } from "../../database/ids.ts";
import { getOne, type Page, type PageRequest } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import type { Actor, Changes } from "../changes.ts";
import {
  type AdminDocument,
  type DocumentState,
  documentListing,
  listDocuments,
} from "./document-listing.ts";
import { type RetryOutcome, retryDocument } from "./retry-documents.ts";

/** An organisation's documents. Null stands for one that does not exist. */
export interface DocumentStore {
  get(organisationId: string, id: string): Promise<AdminDocument | null>;
  /** Lists documents in this state. Null lists failed and waiting ones. */
  list(
    organisationId: string,
    state: DocumentState | null,
    page: PageRequest,
  ): Promise<Page<AdminDocument>>;
  retry(actor: Actor, organisationId: string, id: string): Promise<RetryOutcome | null>;
}

/** Creates the document store over changes. */
export function createDocumentStore(pool: Pool, { run }: Changes): DocumentStore {
  return {
    get: async (organisationId, id) =>
      isId(id) ? getOne(pool, organisationId, documentListing, id) : null,
    list: (organisationId, state, page) =>
      listDocuments(pool, organisationId, state === null ? ["failed", "waiting"] : [state], page),
    retry: async (actor, organisationId, id) =>
      isId(id) ? run(actor, (tx) => retryDocument(tx, organisationId, id)) : null,
  };
}
