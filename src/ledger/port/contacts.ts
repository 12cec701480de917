/**
 * The contacts of a ledger and their drafts. Part of the ledger's port. Import these types from
 * `ledger.ts`.
 */

import type { ObservedContactState } from "../../domain/customers/sync-contact.ts";

/**
 * A contact in the ledger. `code` is our customer code, null if it has none. `mergedInto` is the
 * contact that replaced it. `archived` and `erased` contacts take no new document. `isCustomer` and
 * `isSupplier` say that it has had an invoice or a bill. Both can be false.
 */
export interface LedgerContact extends ObservedContactState {
  readonly id: string;
  readonly code: string | null;
  readonly isCustomer: boolean;
  readonly isSupplier: boolean;
  readonly updatedAt: string;
}

/** A contact to create. `code` is the natural key: a lost answer is found again by it. */
export interface LedgerContactDraft
  extends Pick<ObservedContactState, "name" | "firstName" | "lastName" | "email"> {
  readonly code: string;
}
