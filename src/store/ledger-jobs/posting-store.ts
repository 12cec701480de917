/**
 * The store of the posting workflow's activities: one organisation's waiting jobs and its
 * connection.
 */

import type {
  LedgerReferenceData,
  ReferenceDataKind,
} from "../../domain/billing/ledger-validation.ts";
import { findImported } from "../customers/customers.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import {
  type ConnectionState,
  pauseConnection,
  readConnection,
} from "../ledger-connection/connections.ts";
import {
  type Invalidation,
  invalidateReferenceData,
  loadReferenceData,
} from "../ledger-connection/reference-data.ts";
import { recordOutcomes, type Settlement } from "./document-outcomes.ts";
import {
  type ContactToSend,
  type CreditNoteToSend,
  type InvoiceToSend,
  readWaiting,
  reschedule,
  type Taken,
  takeContacts,
  takeCreditNotes,
  takeInvoices,
} from "./jobs.ts";

/** Store of one organisation's posting jobs. */
export interface PostingStore {
  readonly organisationId: string;
  /** The connection with its secret decrypted, or null if there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** Reschedules the ready jobs and notifies waiting callers. */
  reschedule(pauseMs: number, reason: string): Promise<void>;
  takeContacts(leaseMs: number): Promise<Taken<ContactToSend>>;
  takeInvoices(leaseMs: number): Promise<Taken<InvoiceToSend>>;
  takeCreditNotes(leaseMs: number): Promise<Taken<CreditNoteToSend>>;
  findImported(contactIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The cached reference data, as far as it is reliable enough to refuse by (POSTING-5). */
  offer(): Promise<LedgerReferenceData>;
  /** Invalidates these kinds of reference data, so that they are read again. */
  doubt(kinds: readonly ReferenceDataKind[], doubt: Invalidation): Promise<void>;
  /** Records outcomes. Returns the subscriptions whose credit can now be allocated. */
  settle(settlements: readonly Settlement[]): Promise<readonly string[]>;
  waiting(): ReturnType<typeof readWaiting>;
}

/** Opens an organisation's posting jobs. */
export type OpenPosting = (organisationId: string) => PostingStore;

/** Binds posting to a pool. `sealing` decrypts the connections' secrets. */
export function createPosting(pool: Pool, sealing: Encryption): OpenPosting {
  return (organisationId) => ({
    organisationId,
    connection: () => readConnection(pool, sealing, organisationId),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
    reschedule: (pauseMs, reason) => reschedule(pool, organisationId, pauseMs, reason),
    takeContacts: (leaseMs) => takeContacts(pool, organisationId, leaseMs),
    takeInvoices: (leaseMs) => takeInvoices(pool, organisationId, leaseMs),
    takeCreditNotes: (leaseMs) => takeCreditNotes(pool, organisationId, leaseMs),
    findImported: (contactIds) => findImported(pool, organisationId, contactIds),
    offer: () => loadReferenceData(pool, organisationId),
    doubt: (kinds, doubt) => invalidateReferenceData(pool, organisationId, kinds, doubt),
    settle: (settlements) => recordOutcomes(pool, organisationId, settlements),
    waiting: () => readWaiting(pool, organisationId),
  });
}
