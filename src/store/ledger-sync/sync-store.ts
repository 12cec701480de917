/** The store as the mirror's activities see it: what is to be looked at in one organisation's ledger, and what was seen there. */
import type pg from "pg";
import type { Sealing } from "../database/encryption.ts";
import { type ConnectionState, pauseConnection, readConnection } from "../ledger-connection/connections.ts";
import type { DocumentKind, Followed } from "../ledger-jobs/observed-state.ts";
import {
  endHints,
  failHints,
  leaveHints,
  type MirrorKind,
  type TakenHints,
  takeHints,
  type UnfollowedHint,
} from "../ledger-jobs/pending-notifications.ts";
import {
  endPage,
  failSweep,
  findMirrors,
  type MirrorState,
  putOffMirror,
  readMirror,
  type SweepPage,
  type SweptPage,
  takeSweep,
} from "./incremental-sync.ts";
import { followNotes, type NoteLooked } from "./sync-credit-notes.ts";
import { type ContactLooked, followContacts, loseContacts } from "./sync-customers.ts";
import { findNumbers, followInvoices, type InvoiceLooked, loseDocuments } from "./sync-invoices.ts";

/** What following asks of one organisation's data. */
export interface MirrorScope {
  /** The connection with its secret opened, or null where there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  look(): Promise<MirrorState>;
  /** Nothing is looked at for so long; null: the ledger can be asked again. */
  putOff(put: { readonly delayMs: number; readonly reason: string; readonly isFailure: boolean } | null): Promise<void>;
  takeHints(): Promise<TakenHints | null>;
  endHints(taken: TakenHints, again: readonly string[], unfollowed: readonly UnfollowedHint[]): Promise<void>;
  /** The call for them failed: each is asked for again later. */
  failHints(taken: TakenHints, reason: string): Promise<void>;
  /**
   * Leaves hints of what is to be looked at once more, null where it is not known when that was changed. One that could not be looked at
   * waits as it did.
   */
  leaveHints(
    kind: MirrorKind,
    hints: readonly { readonly ledgerId: string; readonly changedAt: string | null }[],
  ): Promise<void>;
  takeSweep(): Promise<SweepPage | null>;
  /** Its page failed: it goes on after so long. */
  failSweep(delayMs: number): Promise<void>;
  endPage(page: SweepPage, swept: SweptPage): Promise<void>;
  followContacts(looked: readonly ContactLooked[]): Promise<Followed>;
  followNotes(looked: readonly NoteLooked[], askedAt: string): Promise<Followed>;
  followInvoices(looked: readonly InvoiceLooked[], askedAt: string): Promise<Followed>;
  /** Our numbers of documents, by their ids in the ledger. */
  findNumbers(kind: DocumentKind, ledgerIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The ledger has them no more. */
  loseDocuments(kind: DocumentKind, ledgerIds: readonly string[], askedAt: string): Promise<Followed>;
  loseContacts(contactIds: readonly string[]): Promise<number>;
}

/** The mirror over all organisations. */
export interface Mirroring {
  open(organisationId: string): MirrorScope;
  /** The organisations whose ledger is to be looked at now, by rising id after `after`, `limit` at most. */
  find(after: string | null, limit: number): Promise<readonly string[]>;
}

/** Following over a pool; `sealing` opens the connections' secrets, `sweepMs` is the time between two sweeps. */
export function createMirroring(pool: pg.Pool, sealing: Sealing, sweepMs: number): Mirroring {
  return {
    find: (after, limit) => findMirrors(pool, after, limit, sweepMs),
    open: (organisationId) => ({
      connection: () => readConnection(pool, sealing, organisationId),
      pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
      look: () => readMirror(pool, organisationId, sweepMs),
      putOff: (put) => putOffMirror(pool, organisationId, put),
      takeHints: () => takeHints(pool, organisationId),
      endHints: (taken, again, unfollowed) => endHints(pool, organisationId, taken, again, unfollowed),
      failHints: (taken, reason) => failHints(pool, organisationId, taken, reason),
      leaveHints: (kind, hints) => leaveHints(pool, organisationId, kind, hints, true),
      takeSweep: () => takeSweep(pool, organisationId),
      failSweep: (delayMs) => failSweep(pool, organisationId, delayMs),
      endPage: (page, swept) => endPage(pool, organisationId, page, swept, sweepMs),
      followContacts: (looked) => followContacts(pool, organisationId, looked),
      followNotes: (looked, askedAt) => followNotes(pool, organisationId, looked, askedAt),
      followInvoices: (looked, askedAt) => followInvoices(pool, organisationId, looked, askedAt),
      findNumbers: (kind, ledgerIds) => findNumbers(pool, organisationId, kind, ledgerIds),
      loseDocuments: (kind, ledgerIds, askedAt) => loseDocuments(pool, organisationId, kind, ledgerIds, askedAt),
      loseContacts: (contactIds) => loseContacts(pool, organisationId, contactIds),
    }),
  };
}
