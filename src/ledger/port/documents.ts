/**
 * Invoices and credit notes as billing asks for them and as a ledger answers them. Part of the ledger's port (port.ts),
 * from where they are imported. Facts: facts-ledger section 5.1.
 */

/**
 * Invoice statuses in our words; a ledger's adapter maps its own onto them. Spec: Invoice statuses; decisions: section
 * 4.
 */
export type LedgerInvoiceStatus = "draft" | "awaiting_approval" | "approved" | "paid" | "voided" | "deleted";

/** The statuses that an invoice can be made with. decisions: section 6. */
export type LedgerFirstStatus = "draft" | "awaiting_approval" | "approved";

/**
 * One line to invoice. `amount` is what the line must come to, rounded to the currency's minor unit; where
 * `quantity` × `unitAmount` is not exactly that, the ledger gets 1 × `amount` and the arithmetic in words.
 * `taxType` null leaves the account's own default.
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
 * An invoice to make. `number` was reserved and saved before the call and is its natural key. `sourceUrl` leads back to
 * us and proves that a document found later is ours; null sends none. `lineAmounts` says whether amounts contain tax.
 */
export interface LedgerInvoiceDraft {
  readonly number: string;
  readonly reference: string;
  readonly contactId: string;
  readonly currency: string;
  readonly issueDate: string;
  readonly dueDate: string;
  readonly lineAmounts: "exclusive" | "inclusive" | "none";
  readonly status: LedgerFirstStatus;
  readonly sourceUrl: string | null;
  readonly lines: readonly LedgerLineDraft[];
}

/** A line as the ledger holds it; its id must be given again when lines are replaced, or the ledger drops the line. */
export interface LedgerLine {
  readonly ledgerLineId: string;
  readonly description: string;
  readonly amount: string;
}

/**
 * An invoice as the ledger holds it. Amounts have four places; `total` contains tax. `sourceUrl` is ours where we made
 * it.
 */
export interface LedgerInvoice {
  readonly id: string;
  readonly number: string;
  readonly reference: string;
  readonly contactId: string;
  readonly status: LedgerInvoiceStatus;
  readonly currency: string;
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
 * One change of an invoice's lines: `ledgerLineId` names the line whose place it takes (`refused`, `validation` where the
 * ledger has neither that line nor one that is as it should be); null adds a line. A line to add that stands there already, by its description and amount, is not
 * added again, so that a repeat changes nothing. No line answers for two changes, and one that is named answers for no
 * other: name every line whose id is known, also one that stays, where an added line may look like it.
 */
export interface LedgerLineChange extends LedgerLineDraft {
  readonly ledgerLineId: string | null;
}

/**
 * A change of an invoice that the ledger has. Only what `changes` names is changed: every other line stays as it is in
 * the ledger, with its id, also one that somebody added there by hand. `allowed` are the statuses in which it may be
 * changed at all; `lineAmounts` how the changes' amounts are meant: an invoice of another kind in the ledger is refused,
 * `wrong_status`, because in it they would come to something else (left out: not looked at).
 */
export interface LedgerInvoiceAmendment {
  readonly id: string;
  readonly allowed: readonly LedgerInvoiceStatus[];
  readonly lineAmounts?: LedgerInvoiceDraft["lineAmounts"];
  readonly changes: readonly LedgerLineChange[];
}

/** The amended invoice, and the id of the line that answers for each change, in the order of the changes. */
export interface LedgerAmended {
  readonly invoice: LedgerInvoice;
  readonly lineIds: readonly string[];
}

/** A credit note to make. `number` was reserved and saved before the call and is its natural key. */
export interface LedgerCreditNoteDraft {
  readonly number: string;
  readonly reference: string;
  readonly contactId: string;
  readonly currency: string;
  readonly issueDate: string;
  readonly lineAmounts: "exclusive" | "inclusive" | "none";
  readonly status: LedgerFirstStatus;
  readonly lines: readonly LedgerLineDraft[];
}

/** Credit of a note put on an invoice; `date` is the day of it. `id` is empty where the ledger does not tell it. */
export interface LedgerAllocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly date: string;
}

/** A sales credit note as the ledger holds it. Amounts have four places; `total` contains tax. */
export interface LedgerCreditNote {
  readonly id: string;
  readonly number: string;
  readonly reference: string;
  readonly contactId: string;
  readonly status: LedgerInvoiceStatus;
  readonly currency: string;
  readonly issueDate: string;
  readonly subtotal: string;
  readonly tax: string;
  readonly total: string;
  readonly remainingCredit: string;
  readonly sent: boolean;
  readonly lines: readonly LedgerLine[];
  readonly allocations: readonly LedgerAllocation[];
  readonly updatedAt: string;
}

/** Credit to put on an invoice; the date is the day of it, `YYYY-MM-DD`. */
export interface LedgerCreditApplication {
  readonly creditNoteId: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly date: string;
}

/** How a removal ended. All but `not_found` leave the document out of the books; `invoice` is its last known state. */
export type LedgerRemoval =
  | { readonly outcome: "deleted" | "voided" | "already_removed"; readonly invoice: LedgerInvoice }
  | { readonly outcome: "not_found"; readonly invoice: null };
