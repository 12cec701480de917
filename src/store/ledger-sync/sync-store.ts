/** The store as the mirror's activities see it: what is to be looked at in one organisation's ledger, and what was seen there. */
import type pg from "pg";
import type { Encryption } from "../database/encryption.ts";
import { type ConnectionState, pauseConnection, readConnection } from "../ledger-connection/connections.ts";
import type { DocumentKind, Followed } from "../ledger-jobs/observed-state.ts";
import {
  finishNotifications,
  failNotifications,
  leaveNotifications,
  type SyncKind,
  type ClaimedNotifications,
  claimNotifications,
  type SkippedNotification,
} from "../ledger-jobs/pending-notifications.ts";
import {
  endPage,
  failSyncPage,
  findMirrors,
  type SyncState,
  rescheduleSync,
  readSyncState,
  type SyncPage,
  type SweptPage,
  claimSyncPage,
} from "./incremental-sync.ts";
import { syncCreditNotes, type ObservedCreditNote } from "./sync-credit-notes.ts";
import { type ObservedContact, syncContacts, loseContacts } from "./sync-customers.ts";
import { findNumbers, syncInvoices, type ObservedInvoice, loseDocuments } from "./sync-invoices.ts";

/** What following asks of one organisation's data. */
export interface LedgerSyncTenant {
  /** The connection with its secret opened, or null where there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  look(): Promise<SyncState>;
  /** Nothing is looked at for so long; null: the ledger can be asked again. */
  reschedule(put: { readonly delayMs: number; readonly reason: string; readonly isFailure: boolean } | null): Promise<void>;
  claimNotifications(): Promise<ClaimedNotifications | null>;
  finishNotifications(taken: ClaimedNotifications, again: readonly string[], unfollowed: readonly SkippedNotification[]): Promise<void>;
  /** The call for them failed: each is asked for again later. */
  failNotifications(taken: ClaimedNotifications, reason: string): Promise<void>;
  /**
   * Leaves hints of what is to be looked at once more, null where it is not known when that was changed. One that could not be looked at
   * waits as it did.
   */
  leaveNotifications(
    kind: SyncKind,
    hints: readonly { readonly ledgerId: string; readonly changedAt: string | null }[],
  ): Promise<void>;
  claimSyncPage(): Promise<SyncPage | null>;
  /** Its page failed: it goes on after so long. */
  failSyncPage(delayMs: number): Promise<void>;
  endPage(page: SyncPage, swept: SweptPage): Promise<void>;
  syncContacts(looked: readonly ObservedContact[]): Promise<Followed>;
  syncCreditNotes(looked: readonly ObservedCreditNote[], askedAt: string): Promise<Followed>;
  syncInvoices(looked: readonly ObservedInvoice[], askedAt: string): Promise<Followed>;
  /** Our numbers of documents, by their ids in the ledger. */
  findNumbers(kind: DocumentKind, ledgerIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The ledger has them no more. */
  loseDocuments(kind: DocumentKind, ledgerIds: readonly string[], askedAt: string): Promise<Followed>;
  loseContacts(contactIds: readonly string[]): Promise<number>;
}

/** The mirror over all organisations. */
export interface LedgerSync {
  open(organisationId: string): LedgerSyncTenant;
  /** The organisations whose ledger is to be looked at now, by rising id after `after`, `limit` at most. */
  find(after: string | null, limit: number): Promise<readonly string[]>;
}

/** Following over a pool; `sealing` opens the connections' secrets, `syncIntervalMs` is the time between two sweeps. */
export function createLedgerSync(pool: pg.Pool, sealing: Encryption, syncIntervalMs: number): LedgerSync {
  return {
    find: (after, limit) => findMirrors(pool, after, limit, syncIntervalMs),
    open: (organisationId) => ({
      connection: () => readConnection(pool, sealing, organisationId),
      pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
      look: () => readSyncState(pool, organisationId, syncIntervalMs),
      reschedule: (put) => rescheduleSync(pool, organisationId, put),
      claimNotifications: () => claimNotifications(pool, organisationId),
      finishNotifications: (taken, again, unfollowed) => finishNotifications(pool, organisationId, taken, again, unfollowed),
      failNotifications: (taken, reason) => failNotifications(pool, organisationId, taken, reason),
      leaveNotifications: (kind, hints) => leaveNotifications(pool, organisationId, kind, hints, true),
      claimSyncPage: () => claimSyncPage(pool, organisationId),
      failSyncPage: (delayMs) => failSyncPage(pool, organisationId, delayMs),
      endPage: (page, swept) => endPage(pool, organisationId, page, swept, syncIntervalMs),
      syncContacts: (looked) => syncContacts(pool, organisationId, looked),
      syncCreditNotes: (looked, askedAt) => syncCreditNotes(pool, organisationId, looked, askedAt),
      syncInvoices: (looked, askedAt) => syncInvoices(pool, organisationId, looked, askedAt),
      findNumbers: (kind, ledgerIds) => findNumbers(pool, organisationId, kind, ledgerIds),
      loseDocuments: (kind, ledgerIds, askedAt) => loseDocuments(pool, organisationId, kind, ledgerIds, askedAt),
      loseContacts: (contactIds) => loseContacts(pool, organisationId, contactIds),
    }),
  };
}
