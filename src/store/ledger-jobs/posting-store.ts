/**
 * The store of the posting workflow's activities: one organisation's waiting jobs and its
 * connection.
 */
import { findImported } from "../customers/customers.ts";
import { binding } from "../database/bind.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { bindConnection } from "../ledger-connection/connections.ts";
import { invalidateReferenceData, loadReferenceData } from "../ledger-connection/reference-data.ts";
import { claimContacts, claimCreditNotes, claimInvoices } from "./claim-jobs.ts";
import { readWaiting, reschedule } from "./jobs.ts";
import { recordOutcomes } from "./record-outcomes.ts";
import { createUnknownDocuments } from "./unknown-documents.ts";

/** Store of one organisation's posting jobs. */
export type PostingStore = ReturnType<OpenPosting>;

/** Opens an organisation's posting jobs. */
export type OpenPosting = ReturnType<typeof createPostingStore>;

/** Binds posting to a pool. `encryption` decrypts the connections' secrets. */
export function createPostingStore(pool: Pool, encryption: Encryption) {
  return (organisationId: string) => {
    const bound = binding(pool, organisationId);
    return {
      organisationId,
      ...bindConnection(pool, encryption, organisationId),
      reschedule: bound(reschedule),
      claimContacts: bound(claimContacts),
      claimInvoices: bound(claimInvoices),
      claimCreditNotes: bound(claimCreditNotes),
      findImported: bound(findImported),
      /** Documents of the ledger that a restored database does not know. */
      unknown: createUnknownDocuments(pool, organisationId),
      referenceData: bound(loadReferenceData),
      invalidate: bound(invalidateReferenceData),
      record: bound(recordOutcomes),
      waiting: bound(readWaiting),
    };
  };
}
