/**
 * The store of the ledger sync's activities: what to read in one organisation's ledger, and what
 * was observed there.
 */

import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import {
  type ConnectionState,
  pauseConnection,
  readConnection,
} from "../ledger-connection/connections.ts";
import type { DocumentKind, Followed } from "../ledger-jobs/observed-state.ts";
import {
  type ClaimedNotifications,
  claimNotifications,
  failNotifications,
  finishNotifications,
  leaveNotifications,
  type SkippedNotification,
  type SyncKind,
} from "./pending-notifications.ts";
import {
  claimSyncPage,
  endPage,
  failSyncPage,
  findMirrors,
  readSyncState,
  rescheduleSync,
  type SweptPage,
  type SyncPage,
  type SyncState,
} from "./incremental-sync.ts";
import { type ObservedCreditNote, syncCreditNotes } from "./sync-credit-notes.ts";
import { loseContacts, type ObservedContact, syncContacts } from "./sync-customers.ts";
import { findNumbers, loseDocuments, type ObservedInvoice, syncInvoices } from "./sync-invoices.ts";

/** Store of one organisation's ledger sync. */
export interface LedgerSyncTenant {
  /** The connection with its secret decrypted, or null if there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  look(): Promise<SyncState>;
  /** Stops all reads for `delayMs`. Null: the ledger can be called again. */
  reschedule(
    put: { readonly delayMs: number; readonly reason: string; readonly isFailure: boolean } | null,
  ): Promise<void>;
  claimNotifications(): Promise<ClaimedNotifications | null>;
  finishNotifications(
    taken: ClaimedNotifications,
    again: readonly string[],
    unfollowed: readonly SkippedNotification[],
  ): Promise<void>;
  /** The call for these objects failed. Each is requested again later. */
  failNotifications(taken: ClaimedNotifications, reason: string): Promise<void>;
  /**
   * Stores notifications of objects to read once more. The change time is null if it is unknown. An
   * object that could not be read keeps its pause.
   */
  leaveNotifications(
    kind: SyncKind,
    hints: readonly { readonly ledgerId: string; readonly changedAt: string | null }[],
  ): Promise<void>;
  claimSyncPage(): Promise<SyncPage | null>;
  /** The page failed. The sync continues after this delay. */
  failSyncPage(delayMs: number): Promise<void>;
  endPage(page: SyncPage, swept: SweptPage): Promise<void>;
  syncContacts(looked: readonly ObservedContact[]): Promise<Followed>;
  syncCreditNotes(looked: readonly ObservedCreditNote[], askedAt: string): Promise<Followed>;
  syncInvoices(looked: readonly ObservedInvoice[], askedAt: string): Promise<Followed>;
  /** The numbers of our documents, by their ids in the ledger. */
  findNumbers(
    kind: DocumentKind,
    ledgerIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>>;
  /** Records that the ledger no longer has these documents. */
  loseDocuments(
    kind: DocumentKind,
    ledgerIds: readonly string[],
    askedAt: string,
  ): Promise<Followed>;
  loseContacts(contactIds: readonly string[]): Promise<number>;
}

/** The ledger sync of all organisations. */
export interface LedgerSync {
  open(organisationId: string): LedgerSyncTenant;
  /** Up to `limit` organisations whose ledger is to be read now, by rising id after `after`. */
  find(after: string | null, limit: number): Promise<readonly string[]>;
}

/**
 * Binds the sync to a pool. `sealing` decrypts the connections' secrets. `syncIntervalMs` is the
 * time between two incremental syncs.
 */
export function createLedgerSync(
  pool: Pool,
  sealing: Encryption,
  syncIntervalMs: number,
): LedgerSync {
  return {
    find: (after, limit) => findMirrors(pool, after, limit, syncIntervalMs),
    open: (organisationId) => ({
      connection: () => readConnection(pool, sealing, organisationId),
      pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
      look: () => readSyncState(pool, organisationId, syncIntervalMs),
      reschedule: (put) => rescheduleSync(pool, organisationId, put),
      claimNotifications: () => claimNotifications(pool, organisationId),
      finishNotifications: (taken, again, unfollowed) =>
        finishNotifications(pool, organisationId, taken, again, unfollowed),
      failNotifications: (taken, reason) => failNotifications(pool, organisationId, taken, reason),
      leaveNotifications: (kind, hints) =>
        leaveNotifications(pool, organisationId, kind, hints, true),
      claimSyncPage: () => claimSyncPage(pool, organisationId),
      failSyncPage: (delayMs) => failSyncPage(pool, organisationId, delayMs),
      endPage: (page, swept) => endPage(pool, organisationId, page, swept, syncIntervalMs),
      syncContacts: (looked) => syncContacts(pool, organisationId, looked),
      syncCreditNotes: (looked, askedAt) => syncCreditNotes(pool, organisationId, looked, askedAt),
      syncInvoices: (looked, askedAt) => syncInvoices(pool, organisationId, looked, askedAt),
      findNumbers: (kind, ledgerIds) => findNumbers(pool, organisationId, kind, ledgerIds),
      loseDocuments: (kind, ledgerIds, askedAt) =>
        loseDocuments(pool, organisationId, kind, ledgerIds, askedAt),
      loseContacts: (contactIds) => loseContacts(pool, organisationId, contactIds),
    }),
  };
}
