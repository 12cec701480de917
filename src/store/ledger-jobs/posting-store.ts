/**
 * The store of the posting workflow's activities: one organisation's waiting jobs and its
 * connection.
 */

import type { LedgerReferenceData, ReferenceDataKind } from "../../domain/ledger/validation.ts";
import { findImported } from "../customers/customers.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { bindConnection, type ConnectionAccess } from "../ledger-connection/connections.ts";
import {
  type Invalidation,
  invalidateReferenceData,
  loadReferenceData,
} from "../ledger-connection/reference-data.ts";
import {
  type ClaimedJobs,
  type ContactToSend,
  type CreditNoteToSend,
  claimContacts,
  claimCreditNotes,
  claimInvoices,
  type InvoiceToSend,
} from "./claim-jobs.ts";
import type { PostingOutcome } from "./document-outcomes.ts";
import { readOpenKinds, readWaiting, reschedule } from "./jobs.ts";
import { recordOutcomes } from "./record-outcomes.ts";
import { createUnknownDocuments, type UnknownDocuments } from "./unknown-documents.ts";

/** Store of one organisation's posting jobs. */
export interface PostingStore extends ConnectionAccess {
  readonly organisationId: string;
  /** Reschedules the ready jobs and notifies waiting callers. */
  reschedule(pauseMs: number, reason: string): Promise<void>;
  /** The kinds of open jobs. A kind without any needs no claim. */
  openKinds(): ReturnType<typeof readOpenKinds>;
  claimContacts(leaseMs: number): Promise<ClaimedJobs<ContactToSend>>;
  claimInvoices(leaseMs: number): Promise<ClaimedJobs<InvoiceToSend>>;
  claimCreditNotes(leaseMs: number): Promise<ClaimedJobs<CreditNoteToSend>>;
  findImported(contactIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Documents of the ledger that a restored database does not know. */
  readonly unknown: UnknownDocuments;
  /** The cached reference data, as far as it is reliable enough to refuse by (POSTING-5). */
  referenceData(): Promise<LedgerReferenceData>;
  /** Invalidates these kinds of reference data, so that they are read again. */
  invalidate(kinds: readonly ReferenceDataKind[], why: Invalidation): Promise<void>;
  /** Records outcomes. Returns the subscriptions whose credit can now be allocated. */
  record(outcomes: readonly PostingOutcome[]): Promise<readonly string[]>;
  waiting(): ReturnType<typeof readWaiting>;
}

/** Opens an organisation's posting jobs. */
export type OpenPosting = (organisationId: string) => PostingStore;

/** Binds posting to a pool. `encryption` decrypts the connections' secrets. */
export function createPostingStore(pool: Pool, encryption: Encryption): OpenPosting {
  return (organisationId) => ({
    organisationId,
    ...bindConnection(pool, encryption, organisationId),
    reschedule: (pauseMs, reason) => reschedule(pool, organisationId, pauseMs, reason),
    openKinds: () => readOpenKinds(pool, organisationId),
    claimContacts: (leaseMs) => claimContacts(pool, organisationId, leaseMs),
    claimInvoices: (leaseMs) => claimInvoices(pool, organisationId, leaseMs),
    claimCreditNotes: (leaseMs) => claimCreditNotes(pool, organisationId, leaseMs),
    findImported: (contactIds) => findImported(pool, organisationId, contactIds),
    unknown: createUnknownDocuments(pool, organisationId),
    referenceData: () => loadReferenceData(pool, organisationId),
    invalidate: (kinds, why) => invalidateReferenceData(pool, organisationId, kinds, why),
    record: (outcomes) => recordOutcomes(pool, organisationId, outcomes),
    waiting: () => readWaiting(pool, organisationId),
  });
}
