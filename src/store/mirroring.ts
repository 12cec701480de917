/** The store as the mirror's activities see it: what is to be looked at in one organisation's ledger, and what was seen there. */
import type pg from "pg";
import { type ConnectionState, pauseConnection, readConnection } from "./ledger-connections.ts";
import { type ContactLooked, followContacts, loseContacts } from "./mirror-customers.ts";
import {
  type Followed,
  findNumbers,
  followInvoices,
  followNotes,
  type InvoiceLooked,
  loseDocuments,
  type NoteLooked,
} from "./mirror-documents.ts";
import { endHints, leaveHints, type MirrorKind, type TakenHints, takeHints } from "./mirror-hints.ts";
import {
  endPage,
  findMirrors,
  type MirrorState,
  putOffMirror,
  readMirror,
  type SweepPage,
  type SweptPage,
  takeSweep,
} from "./mirror-sweeps.ts";
import type { Sealing } from "./sealing.ts";

/** Which documents of the ledger are meant. */
export type DocumentKind = "invoices" | "credit_notes";

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
  endHints(taken: TakenHints, again: readonly string[]): Promise<void>;
  /** Leaves hints of what is to be looked at once more. */
  leaveHints(kind: MirrorKind, ledgerIds: readonly string[]): Promise<void>;
  takeSweep(): Promise<SweepPage | null>;
  endPage(page: SweepPage, swept: SweptPage): Promise<void>;
  followContacts(looked: readonly ContactLooked[]): Promise<Followed>;
  followNotes(looked: readonly NoteLooked[], askedAt: string): Promise<Followed>;
  followInvoices(looked: readonly InvoiceLooked[], askedAt: string): Promise<Followed>;
  /** Our numbers of documents, by their ids in the ledger. */
  findNumbers(kind: DocumentKind, ledgerIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The ledger has them no more. How many were written. */
  loseDocuments(kind: DocumentKind, ledgerIds: readonly string[], askedAt: string): Promise<number>;
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
      endHints: (taken, again) => endHints(pool, organisationId, taken, again),
      leaveHints: (kind, ledgerIds) =>
        leaveHints(
          pool,
          organisationId,
          kind,
          ledgerIds.map((ledgerId) => ({ ledgerId, changedAt: null })),
        ),
      takeSweep: () => takeSweep(pool, organisationId),
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
