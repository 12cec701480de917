/** Credit notes: the draft that the domain issues, and the note as it is read back. */
import type { CivilDate } from "../calendar/civil-date.ts";
import type { LineFacts } from "../explanation/facts.ts";
import type { Decimal } from "../money/decimal.ts";
import type { DocumentStatus, InvoiceLedgerState } from "./invoice.ts";

/**
 * A line to be credited. `amount` is above 0, rounded and without tax, and `facts` explain it.
 * `effectiveDate` is the day from which the credit counts. `meterId` is set if it credits usage.
 * Account and tax type are resolved, or null if the organisation has none either.
 */
export interface CreditNoteLineDraft {
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly facts?: LineFacts;
  readonly effectiveDate: CivilDate;
  readonly meterId: string | null;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
  /**
   * The invoice whose line this line reverses: its credit is allocated there first. Absent on any
   * other credit (END-7).
   */
  readonly reversedInvoiceId?: string;
}

/**
 * A credit note to issue: everything except ids and number. `reference` may be empty. `subtotal` is
 * the sum of the lines.
 */
export interface CreditNoteDraft {
  readonly reference: string;
  readonly currency: string;
  readonly issueDate: CivilDate;
  readonly lines: readonly CreditNoteLineDraft[];
  readonly subtotal: Decimal;
}

/** A line of a credit note. `effectiveAt` is the instant from which the credit counts. */
export interface CreditNoteLine {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly effectiveAt: Date;
}

/** Credit applied to an invoice (DOCUMENT-4, OBJECT-11). */
export interface Allocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: Decimal;
  readonly appliedAt: Date;
  readonly status: "active" | "removed";
  readonly syncStatus: InvoiceLedgerState["syncStatus"];
}

/** A credit note as it is read. `ledger.invoiceId` is the note's own id in the ledger. */
export interface CreditNote {
  readonly id: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly number: string;
  readonly ledgerNumber: string | null;
  readonly reference: string | null;
  readonly status: DocumentStatus;
  readonly currency: string;
  readonly notedAt: Date;
  readonly subtotal: Decimal;
  readonly total: Decimal;
  readonly remainingCredit: Decimal;
  readonly sent: boolean;
  readonly ledger: InvoiceLedgerState;
  readonly lines: readonly CreditNoteLine[];
  readonly allocations: readonly Allocation[];
  readonly createdAt: Date;
}
