/**
 * The form of an explanation as it is read (`docs/explanations.md`). Numbers are text, and an
 * absent member is left out.
 */
import type { DocumentObject, Source } from "./named-facts.ts";
import type { Operation } from "./operations.ts";
import type { ShownSheet } from "./price-sheet.ts";
import type { RuleId } from "./rules.ts";

/** A fact: its exact value, what it counts, and where it comes from. */
export interface ShownFact {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly source: Source;
}

/** A term of a price: `quantity` times `price`, or `price` once if the quantity is null. */
export interface ShownRow {
  readonly quantity: string | null;
  readonly price: string;
}

/** A step: the operation, its operands by name, and its exact result. */
export interface ShownStep {
  readonly id: string;
  readonly op: Operation;
  readonly in: readonly string[];
  /** Of an operation that prices. */
  readonly rows?: readonly ShownRow[];
  /** Of `round`. */
  readonly rounding?: "half_away_from_zero";
  readonly out: string;
}

/** How an amount came about. `amount` is `result` as the document shows it, with four places. */
export interface Derivation {
  readonly facts: readonly ShownFact[];
  readonly steps: readonly ShownStep[];
  readonly result: string;
  readonly amount: string;
}

/**
 * A line. `line` is its id, null in a preview. `was`: what an amended line was until an instant.
 * `reissues`: the line that it copies.
 */
export interface ShownLine extends Derivation {
  readonly line: string | null;
  readonly rule: RuleId;
  readonly was?: Derivation & { readonly until: string };
  readonly reissues?: { readonly invoice: string; readonly line: string };
}

/** A sheet with the name by which facts refer to it. */
export type NamedSheet = ShownSheet & { readonly name: string };

/** What the ledger made of the document, which nothing here derives. */
export interface LedgerTotals {
  readonly tax: string;
  readonly total: string;
}

/**
 * Credit on an invoice. `by`: the service decided this amount, or a person or the ledger made it.
 * The ledger has the last word on all, so that nothing here derives them.
 */
export interface ShownAllocation {
  readonly invoice: string;
  readonly amount: string;
  readonly by: "service" | "ledger";
}

/** The head of every answer. Id and number are null in a preview. */
interface Head {
  readonly format: "explanation/1";
  readonly object: DocumentObject;
  readonly id: string | null;
  readonly number: string | null;
}

/** The explanation of a document. `subtotal` is the sum of its lines. */
export interface Explanation extends Head {
  readonly available: true;
  readonly currency: string;
  readonly places: number;
  readonly sheets: readonly NamedSheet[];
  readonly lines: readonly ShownLine[];
  readonly subtotal: string;
  readonly ledger?: LedgerTotals;
  /** Of a credit note with active allocations. */
  readonly allocations?: readonly ShownAllocation[];
}

/**
 * Why a document has none. `issued_before`: a line has no facts, because it is older than they are.
 * `does_not_follow`: the facts give another amount than the line has, which is a defect.
 */
export type UnavailableReason = "issued_before" | "does_not_follow";

/** The answer for a document without an explanation. */
export interface Unavailable extends Head {
  readonly available: false;
  readonly reason: UnavailableReason;
}
