/**
 * How a ledger tells of what people changed in it: lists by the time of the last change, and signed webhooks that say
 * only where to look. Part of the ledger's port (port.ts), from where it is imported. Facts: facts-ledger section 1.9.
 */

import type { LedgerCreditNote, LedgerInvoice } from "./documents.ts";
import type { LedgerContact } from "./ledger.ts";

/** What is listed by its changes, under the name of its kind. */
export interface LedgerChanged {
  readonly contacts: LedgerContact;
  readonly credit_notes: LedgerCreditNote;
  readonly invoices: LedgerInvoice;
}

/** The kinds of things whose changes are followed. */
export type LedgerChangeKind = keyof LedgerChanged;

/**
 * Which changes to list: those of one kind at or after `since` (ISO 8601; all without it), from `cursor` of the answer
 * before.
 */
export interface LedgerChangeQuery<Kind extends LedgerChangeKind = LedgerChangeKind> {
  readonly kind: Kind;
  readonly since?: string;
  readonly cursor?: string;
}

/**
 * A page of what was changed, newest change first: what changes between two pages moves the rest on to later pages, so
 * that nothing is passed over. `cursor` null is the end: only then an empty page says that there is no more. `highWater` is
 * the newest change on the page (ISO 8601), null where none tells its time. One thing may come on two pages. Invoices
 * come without their lines. `unread` are those on the page that make no sense to us, whosever they are, by their ids;
 * null stands for one whose id is not told either.
 */
export interface LedgerChangePage<Changed> {
  readonly changes: readonly Changed[];
  readonly unread: readonly (string | null)[];
  readonly cursor: string | null;
  readonly highWater: string | null;
}

/** What was looked up by ids: what is there, and the ids of what is there, or may be, and makes no sense to us. */
export interface LedgerFound<Changed> {
  readonly found: readonly Changed[];
  readonly unread: readonly string[];
}

/**
 * Where to look: something of this kind was made or changed in the organisation that the ledger calls `tenantId`.
 * `changedAt` is when (ISO 8601), to the millisecond as `updatedAt` has it; null where it is not told that exactly.
 */
export interface LedgerNotification {
  readonly tenantId: string;
  readonly kind: LedgerChangeKind;
  readonly ledgerId: string;
  readonly changedAt: string | null;
}

/** A webhook as it came: the raw bytes of its body, and its signature header (empty where there is none). */
export interface LedgerWebhookDelivery {
  readonly rawBody: Uint8Array;
  readonly signature: string;
}

/** What a webhook says; `invalid` where its signature is not the ledger's. Never more than hints: look before you write. */
export type LedgerWebhook =
  | { readonly kind: "invalid" }
  | { readonly kind: "hints"; readonly hints: readonly LedgerNotification[] };
