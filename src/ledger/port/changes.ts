/**
 * How a ledger reports changes that people made in it: lists by time of change, and signed webhooks
 * (LEDGER-4). Part of the ledger's port. Import these types from `ledger.ts`.
 */

import type { LedgerContact } from "./contacts.ts";
import type { LedgerCreditNote, LedgerInvoice } from "./documents.ts";

/** The type of a changed object, by the name of its kind. */
export interface LedgerChanged {
  readonly contacts: LedgerContact;
  readonly credit_notes: LedgerCreditNote;
  readonly invoices: LedgerInvoice;
}

/** The kinds of objects that the ledger sync reads. */
export type LedgerChangeKind = keyof LedgerChanged;

/**
 * Which changes to list: those of one kind at or after `since` (ISO 8601). Without `since` all are
 * listed. `cursor` is the previous page's.
 */
export interface LedgerChangeQuery<Kind extends LedgerChangeKind = LedgerChangeKind> {
  readonly kind: Kind;
  readonly since?: string;
  readonly cursor?: string;
}

/**
 * A page of changed objects, newest change first. A change between two pages moves the rest to
 * later pages, so nothing is skipped. One object may come on two pages. Invoices come without their
 * lines.
 * - `cursor`: null is the end. An empty page with a cursor is not the end.
 * - `highWater`: the newest change on the page (ISO 8601), or null if no object has a time.
 * - `unread`: the ids of objects on the page that could not be parsed, whether we created them or
 *   not. Null stands for an object without a readable id.
 */
export interface LedgerChangePage<Changed> {
  readonly changes: readonly Changed[];
  readonly unread: readonly (string | null)[];
  readonly cursor: string | null;
  readonly highWater: string | null;
}

/**
 * The result of a lookup by ids. `unread` has the ids of objects that exist, or may exist, and
 * could not be parsed.
 */
export interface LedgerFound<Changed> {
  readonly found: readonly Changed[];
  readonly unread: readonly string[];
}

/**
 * An object of this kind was created or changed in the organisation with the ledger's id
 * `tenantId`. `changedAt` is the time (ISO 8601), to the millisecond like `updatedAt`. It is null
 * if the ledger gives a less exact time.
 */
export interface LedgerNotification {
  readonly tenantId: string;
  readonly kind: LedgerChangeKind;
  readonly ledgerId: string;
  readonly changedAt: string | null;
}

/** A webhook as received: the raw bytes of its body, and its signature header (empty if absent). */
export interface LedgerWebhookDelivery {
  readonly rawBody: Uint8Array;
  readonly signature: string;
}

/**
 * The parsed webhook, or `invalid` if the signature is not the ledger's. A notification only says
 * which object to read: read it before any write.
 */
export type LedgerWebhook =
  | { readonly kind: "invalid" }
  | { readonly kind: "valid"; readonly notifications: readonly LedgerNotification[] };
