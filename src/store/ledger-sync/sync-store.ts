/**
 * The store of the ledger sync's activities: what to read in one organisation's ledger, and what
 * was observed there.
 */

import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { bindConnection, type ConnectionAccess } from "../ledger-connection/connections.ts";
import { reissueLateRemovals } from "../subscriptions/late-removals.ts";
import { type ClaimedNotifications, claimNotifications } from "./claim-notifications.ts";
import {
  failNotifications,
  finishNotifications,
  type SkippedNotification,
} from "./finish-notifications.ts";
import {
  claimSyncPage,
  endPage,
  readSyncState,
  rescheduleSync,
  type SyncDelay,
  type SyncedPage,
  type SyncPage,
  type SyncState,
} from "./incremental-sync.ts";
import type { SyncedDocumentKind, SyncResult } from "./observed-state.ts";
import {
  type ChangeNotification,
  type SyncKind,
  saveNotifications,
} from "./pending-notifications.ts";
import { type ObservedCreditNote, syncCreditNotes } from "./sync-credit-notes.ts";
import { findDueSyncs } from "./sync-cursors.ts";
import { loseContacts, type ObservedContact, syncContacts } from "./sync-customers.ts";
import { findNumbers, loseDocuments, type ObservedInvoice, syncInvoices } from "./sync-invoices.ts";

/** Store of one organisation's ledger sync. */
export interface LedgerSyncTenant extends ConnectionAccess {
  state(): Promise<SyncState>;
  /** Stops all reads for `delayMs`. Null: the ledger can be called again. */
  reschedule(delay: SyncDelay | null): Promise<void>;
  claimNotifications(): Promise<ClaimedNotifications | null>;
  finishNotifications(
    claimed: ClaimedNotifications,
    again: readonly string[],
    skipped: readonly SkippedNotification[],
  ): Promise<void>;
  /** The call for these objects failed. Each is requested again later. */
  failNotifications(claimed: ClaimedNotifications, reason: string): Promise<void>;
  /**
   * Stores notifications of objects to read once more. The change time is null if it is unknown. An
   * object that could not be read keeps its pause.
   */
  saveNotifications(kind: SyncKind, notifications: readonly ChangeNotification[]): Promise<void>;
  claimSyncPage(): Promise<SyncPage | null>;
  endPage(page: SyncPage, synced: SyncedPage): Promise<void>;
  syncContacts(observed: readonly ObservedContact[]): Promise<SyncResult>;
  syncCreditNotes(observed: readonly ObservedCreditNote[], queriedAt: string): Promise<SyncResult>;
  syncInvoices(observed: readonly ObservedInvoice[], queriedAt: string): Promise<SyncResult>;
  /** The numbers of our documents, by their ids in the ledger. */
  findNumbers(
    kind: SyncedDocumentKind,
    ledgerIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>>;
  /** Records that the ledger no longer has these documents. */
  loseDocuments(
    kind: SyncedDocumentKind,
    ledgerIds: readonly string[],
    queriedAt: string,
  ): Promise<SyncResult>;
  loseContacts(contactIds: readonly string[]): Promise<number>;
  /** Issues again what ends removed that were broken off before the answer came (END-12). */
  reissueLateRemovals(): Promise<void>;
}

/** The ledger sync of all organisations. */
export interface LedgerSync {
  open(organisationId: string): LedgerSyncTenant;
  /** Up to `limit` organisations whose ledger is to be read now, by rising id after `after`. */
  find(after: string | null, limit: number): Promise<readonly string[]>;
}

/**
 * Binds the sync to a pool. `encryption` decrypts the connections' secrets. `syncIntervalMs` is the
 * time between two incremental syncs.
 */
export function createLedgerSync(
  pool: Pool,
  encryption: Encryption,
  syncIntervalMs: number,
): LedgerSync {
  return {
    find: (after, limit) => findDueSyncs(pool, after, limit, syncIntervalMs),
    open: (organisationId) => ({
      ...bindConnection(pool, encryption, organisationId),
      state: () => readSyncState(pool, organisationId, syncIntervalMs),
      reschedule: (delay) => rescheduleSync(pool, organisationId, delay),
      claimNotifications: () => claimNotifications(pool, organisationId),
      finishNotifications: (claimed, again, skipped) =>
        finishNotifications(pool, organisationId, claimed, again, skipped),
      failNotifications: (claimed, reason) =>
        failNotifications(pool, organisationId, claimed, reason),
      saveNotifications: (kind, notifications) =>
        saveNotifications(pool, organisationId, kind, notifications, true),
      claimSyncPage: () => claimSyncPage(pool, organisationId),
      endPage: (page, synced) => endPage(pool, organisationId, page, synced, syncIntervalMs),
      syncContacts: (observed) => syncContacts(pool, organisationId, observed),
      syncCreditNotes: (observed, queriedAt) =>
        syncCreditNotes(pool, organisationId, observed, queriedAt),
      syncInvoices: (observed, queriedAt) =>
        syncInvoices(pool, organisationId, observed, queriedAt),
      findNumbers: (kind, ledgerIds) => findNumbers(pool, organisationId, kind, ledgerIds),
      loseDocuments: (kind, ledgerIds, queriedAt) =>
        loseDocuments(pool, organisationId, kind, ledgerIds, queriedAt),
      loseContacts: (contactIds) => loseContacts(pool, organisationId, contactIds),
      reissueLateRemovals: () => reissueLateRemovals(pool, organisationId),
    }),
  };
}
