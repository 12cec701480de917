/** The store as the ledger workflow's activities see it: one organisation's waiting operations and its connection. */
import type pg from "pg";
import type { LedgerReferenceData, ReferenceDataKind } from "../../domain/billing/ledger-validation.ts";
import { findImported } from "../customers/customers.ts";
import type { Encryption } from "../database/encryption.ts";
import { type ConnectionState, pauseConnection, readConnection } from "../ledger-connection/connections.ts";
import { invalidateReferenceData, type Invalidation, loadReferenceData } from "../ledger-connection/reference-data.ts";
import { type Settlement, recordOutcomes } from "./document-outcomes.ts";
import {
  type ContactToSend,
  type CreditNoteToSend,
  type InvoiceToSend,
  reschedule,
  readWaiting,
  type Taken,
  takeContacts,
  takeCreditNotes,
  takeInvoices,
} from "./jobs.ts";

/** What settling asks of one organisation's data. */
export interface PostingStore {
  readonly organisationId: string;
  /** The connection with its secret opened, or null where there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** Puts off what is ready to be sent; callers are told. */
  reschedule(pauseMs: number, reason: string): Promise<void>;
  takeContacts(leaseMs: number): Promise<Taken<ContactToSend>>;
  takeInvoices(leaseMs: number): Promise<Taken<InvoiceToSend>>;
  takeCreditNotes(leaseMs: number): Promise<Taken<CreditNoteToSend>>;
  findImported(contactIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** What the ledger offers, as far as it is known well enough to refuse by it. */
  offer(): Promise<LedgerReferenceData>;
  /** Has these kinds of what it offers read again. */
  doubt(kinds: readonly ReferenceDataKind[], doubt: Invalidation): Promise<void>;
  /** The result are the subscriptions whose credit can now be applied. */
  settle(settlements: readonly Settlement[]): Promise<readonly string[]>;
  waiting(): ReturnType<typeof readWaiting>;
}

/** Opens an organisation for settling. */
export type OpenPosting = (organisationId: string) => PostingStore;

/** Settling over a pool; `sealing` opens the connections' secrets. */
export function createPosting(pool: pg.Pool, sealing: Encryption): OpenPosting {
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
