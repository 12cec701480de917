/**
 * Invoices and credit notes: the drafts that billing sends and the documents that a ledger returns.
 * Part of the ledger's port. Import these types from `ledger.ts`.
 */

/**
 * Invoice statuses in the service's words. An adapter maps the ledger's statuses onto them
 * (DOCUMENT-2).
 */
export type LedgerInvoiceStatus =
  | "draft"
  | "awaiting_approval"
  | "approved"
  | "paid"
  | "voided"
  | "deleted";

/** The statuses that an invoice can be created with (DOCUMENT-1). */
export type LedgerFirstStatus = "draft" | "awaiting_approval" | "approved";

/** Whether the amounts of lines are without tax, contain it, or have none. */
export type LedgerLineAmounts = "exclusive" | "inclusive" | "none";

/**
 * What gives a document's amounts their meaning. If the ledger's differs, our amounts are not the
 * document's (LEDGER-20). A contact that this one was merged into is the same.
 */
export interface LedgerMeaning {
  readonly contactId: string;
  readonly currency: string;
  readonly lineAmounts: LedgerLineAmounts;
}

/**
 * One line to invoice. `amount` is the line's total, rounded to the currency's minor unit. If
 * `quantity` × `unitAmount` is not exactly `amount`, the ledger gets 1 × `amount`, with the
 * arithmetic in the description. `taxType` null takes the account's default.
 */
export interface LedgerLineDraft {
  readonly description: string;
  readonly quantity: string;
  readonly unitAmount: string;
  readonly amount: string;
  readonly accountCode: string;
  readonly taxType: string | null;
}

/**
 * A credit note to create. `number` was reserved and saved before the call. It is the natural key
 * (POSTING-2), unless the kind has no unique numbers: then `sourceUrl` is, which links to this
 * service and proves that a document found later is ours. Null sends none.
 */
export interface LedgerCreditNoteDraft extends LedgerMeaning {
  readonly number: string;
  readonly reference: string;
  readonly issueDate: string;
  readonly status: LedgerFirstStatus;
  readonly sourceUrl: string | null;
  readonly lines: readonly LedgerLineDraft[];
}

/** An invoice to create. */
export interface LedgerInvoiceDraft extends LedgerCreditNoteDraft {
  readonly dueDate: string;
}

/**
 * Which documents to find. Numbers that differ only by case or outer blanks are the same.
 * - `areTaken`: the ledger refused these numbers, so every other look-up is tried too. Documents
 *   found that way may have another number.
 * - `links`: the ends of links to us. Set only if the kind has no unique numbers (POSTING-2).
 */
export interface LedgerDocumentQuery {
  readonly numbers: readonly string[];
  readonly areTaken?: boolean;
  readonly links?: readonly string[];
}

/**
 * A line as the ledger has it. An edit of lines must send its id, or the ledger deletes the line.
 */
export interface LedgerLine {
  readonly ledgerLineId: string;
  readonly description: string;
  readonly amount: string;
}

/**
 * An invoice as the ledger has it. Amounts have four places. `total` contains tax. `lineAmounts` is
 * null if the ledger did not report it. `sourceUrl` is ours if this service created the invoice.
 * `ledgerNumber`: the ledger's own number, where numbers are the ledger's. Null before it has one.
 */
export interface LedgerInvoice extends Omit<LedgerMeaning, "lineAmounts"> {
  readonly id: string;
  readonly number: string;
  readonly ledgerNumber?: string | null;
  readonly reference: string;
  readonly lineAmounts: LedgerLineAmounts | null;
  readonly status: LedgerInvoiceStatus;
  readonly issueDate: string;
  readonly dueDate: string | null;
  readonly subtotal: string;
  readonly tax: string;
  readonly total: string;
  readonly amountDue: string;
  readonly amountPaid: string;
  readonly amountCredited: string;
  readonly sent: boolean;
  readonly sourceUrl: string | null;
  readonly lines: readonly LedgerLine[];
  readonly updatedAt: string;
}

/**
 * One change of an invoice's lines. `ledgerLineId` is the line to replace; null adds a line. `was`
 * is the content under which the ledger last had a named line, if that differs from the new one. If
 * the ledger does not have the named line, exactly one other line with its old or new content,
 * which no added line equals, is taken for it; else the change is `refused`, `drift` (LEDGER-13).
 * An added line is skipped if an equal line (description and amount) exists, so a repeat changes
 * nothing. A line is matched by at most one change, and a named line only by its own change. Name
 * every line with a known id, also an unchanged one, if an added line may equal it.
 */
export interface LedgerLineChange extends LedgerLineDraft {
  readonly ledgerLineId: string | null;
  readonly was?: LedgerLineDraft;
}

/**
 * A change of an invoice that the ledger has. Only the lines in `changes` change. Every other line
 * keeps its content and id, also a line that a person added by hand.
 * - `allowed`: the statuses in which the invoice may be changed.
 * - `meaning`: how the changes' amounts are meant. An invoice with another one is refused, `drift`.
 *   Without it this is not checked.
 */
export interface LedgerInvoiceAmendment {
  readonly id: string;
  readonly allowed: readonly LedgerInvoiceStatus[];
  readonly meaning?: LedgerMeaning;
  readonly changes: readonly LedgerLineChange[];
}

/** The amended invoice, and for each change, in order, the id of its line. */
export interface LedgerAmended {
  readonly invoice: LedgerInvoice;
  readonly lineIds: readonly string[];
}

/**
 * Credit of a note applied to an invoice on `date`. `id` is empty if the ledger does not return
 * one.
 */
export interface LedgerAllocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly date: string;
}

/**
 * A sales credit note as the ledger has it. `sourceUrl` is null if the ledger keeps no link of a
 * credit note.
 */
export interface LedgerCreditNote
  extends Omit<LedgerInvoice, "dueDate" | "amountDue" | "amountPaid" | "amountCredited"> {
  readonly remainingCredit: string;
  readonly allocations: readonly LedgerAllocation[];
}

/**
 * Credit to apply to an invoice. `date` is the day of the allocation, `YYYY-MM-DD`. `meaning` is
 * the invoice's: one with another is refused, `drift`. Without it this is not checked.
 */
export interface LedgerCreditApplication {
  readonly meaning?: LedgerMeaning;
  readonly creditNoteId: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly date: string;
}

/**
 * The outcome of a removal. Except for `not_found`, `invoice` is its last known state, and the
 * document no longer counts in the ledger.
 */
export type LedgerRemoval =
  | { readonly outcome: "deleted" | "voided" | "already_removed"; readonly invoice: LedgerInvoice }
  | { readonly outcome: "not_found"; readonly invoice: null };
