/** What callers of an adapter must know of its kind of ledger: limits, and rules of documents. */
import type { DocumentRules } from "../../domain/billing/document-rules.ts";
import type { LedgerCallLimits } from "./call.ts";

/** What callers of an adapter must know of its kind. */
export interface LedgerTraits {
  readonly calls: LedgerCallLimits;
  readonly documents: DocumentRules;
  /**
   * Whose numbers documents have. `theirs`: the ledger numbers a document when it is approved, and
   * keeps ours as its reference. Documents are read with both (LEDGER-24).
   */
  readonly numbers: "ours" | "theirs";
  /**
   * How a repeated creation is known. `keys`: the ledger remembers the key of a call for a while.
   * `drafts`: the adapter creates a draft, looks for others, and approves one.
   */
  readonly idempotency: "keys" | "drafts";
  /** `webhooks`: the ledger reports changes. `none`: only the incremental sync finds them. */
  readonly notifications: "webhooks" | "none";
  /**
   * `remembers`: a removed document stays there as removed. `forgets_drafts`: a deleted draft is
   * gone, and nothing reports it, so that the sync looks drafts up (LEDGER-25).
   */
  readonly removal: "remembers" | "forgets_drafts";
  /** The most characters of a contact's code. A longer customer code is shortened. */
  readonly maxContactCodeLength: number;
}
