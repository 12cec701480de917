/** The rules of a kind of ledger that documents are written and validated by (LEDGER-7). */

/**
 * - `amountPlaces`: the decimal places that it keeps of an amount, in every currency (LEDGER-9).
 * - `maxLines`: the most lines of a document. Null if no limit is known.
 * - `maxNumberLength`: the most characters of a document's number.
 * - `maxDescriptionLength`: the most characters of a line's description. Longer ones are cut.
 * - `hasDrafts`: invoices can wait as drafts or for approval. Without it every document is created
 *   approved (DOCUMENT-1).
 * - `canAmendApproved`: lines of an approved invoice can change until money is on it. Without it
 *   only those of a draft can.
 * - `hasUniqueNumbers`: it refuses a number that is taken. Without it a document is found again by
 *   its link to us (POSTING-2).
 */
export interface DocumentRules {
  readonly amountPlaces: number;
  readonly maxLines: number | null;
  readonly maxNumberLength: number;
  readonly maxDescriptionLength: number;
  readonly hasDrafts: boolean;
  readonly canAmendApproved: boolean;
  readonly hasUniqueNumbers: boolean;
}
