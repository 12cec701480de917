/** What callers of an adapter must know of its kind of ledger: limits, and rules of documents. */
import type { DocumentRules } from "../../domain/billing/document-rules.ts";
import type { LedgerCallLimits } from "./call.ts";

/** What callers of an adapter must know of its kind. */
export interface LedgerTraits {
  readonly calls: LedgerCallLimits;
  readonly documents: DocumentRules;
  /** The most characters of a contact's code. A longer customer code is shortened. */
  readonly maxContactCodeLength: number;
}
