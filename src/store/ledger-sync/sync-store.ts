/**
 * The store of the ledger sync's activities: what to read in one organisation's ledger, and what
 * was observed there.
 */
import { binding } from "../database/bind.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { bindConnection } from "../ledger-connection/connections.ts";
import { reissueLateRemovals } from "../subscriptions/late-removals.ts";
import { claimNotifications } from "./claim-notifications.ts";
import { failNotifications, finishNotifications } from "./finish-notifications.ts";
import {
  claimSyncPage,
  endPage,
  readSyncState,
  rescheduleSync,
  type SyncedPage,
  type SyncPage,
} from "./incremental-sync.ts";
import {
  type ChangeNotification,
  type SyncKind,
  saveNotifications,
} from "./pending-notifications.ts";
import { syncCreditNotes } from "./sync-credit-notes.ts";
import { findDueSyncs } from "./sync-cursors.ts";
import { loseContacts, syncContacts } from "./sync-customers.ts";
import { findNumbers, loseDocuments, syncInvoices } from "./sync-invoices.ts";

/** Store of one organisation's ledger sync. */
export type LedgerSyncTenant = ReturnType<LedgerSync["open"]>;

/** The ledger sync of all organisations. */
export type LedgerSync = ReturnType<typeof createLedgerSync>;

/**
 * Binds the sync to a pool. `encryption` decrypts the connections' secrets. `syncIntervalMs` is the
 * time between two incremental syncs.
 */
export function createLedgerSync(pool: Pool, encryption: Encryption, syncIntervalMs: number) {
  return {
    /** Up to `limit` organisations whose ledger is to be read now, by rising id after `after`. */
    find: (after: string | null, limit: number) => findDueSyncs(pool, after, limit, syncIntervalMs),
    open: (organisationId: string) => {
      const bound = binding(pool, organisationId);
      return {
        ...bindConnection(pool, encryption, organisationId),
        state: () => readSyncState(pool, organisationId, syncIntervalMs),
        reschedule: bound(rescheduleSync),
        claimNotifications: bound(claimNotifications),
        finishNotifications: bound(finishNotifications),
        failNotifications: bound(failNotifications),
        /** An object that could not be read keeps its pause. */
        saveNotifications: (kind: SyncKind, notifications: readonly ChangeNotification[]) =>
          saveNotifications(pool, organisationId, kind, notifications, true),
        claimSyncPage: bound(claimSyncPage),
        endPage: (page: SyncPage, synced: SyncedPage) =>
          endPage(pool, organisationId, page, synced, syncIntervalMs),
        syncContacts: bound(syncContacts),
        syncCreditNotes: bound(syncCreditNotes),
        syncInvoices: bound(syncInvoices),
        findNumbers: bound(findNumbers),
        loseDocuments: bound(loseDocuments),
        loseContacts: bound(loseContacts),
        reissueLateRemovals: bound(reissueLateRemovals),
      };
    },
  };
}
