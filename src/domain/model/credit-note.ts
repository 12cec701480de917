/** Credit notes: the draft that the domain issues, and the note as it is read back. */
import type { CivilDate } from "../calendar/civil-date.ts";
import type { Decimal } from "../money/decimal.ts";
import type { Invoice, InvoiceDraft, InvoiceLedgerState, InvoiceLineDraft } from "./invoice.ts";

/**
 * A line to be credited. `amount` is above 0, rounded and without tax, and `facts` explain it.
 * `effectiveDate` is the day from which the credit counts. `meterId` is set if it credits usage.
 * Account and tax type are resolved, or null if the organisation has none either.
 */
export interface CreditNoteLineDraft
  extends Pick<
    InvoiceLineDraft,
    "name" | "description" | "amount" | "facts" | "meterId" | "revenueAccount" | "taxType"
  > {
  readonly effectiveDate: CivilDate;
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
export interface CreditNoteDraft
  extends Pick<InvoiceDraft, "reference" | "currency" | "issueDate" | "subtotal"> {
  readonly lines: readonly CreditNoteLineDraft[];
}

/** A line of a credit note. `effectiveAt` is the instant from which the credit counts. */
export interface CreditNoteLine
  extends Pick<CreditNoteLineDraft, "name" | "description" | "amount"> {
  readonly id: string;
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
export interface CreditNote
  extends Pick<Invoice, "id" | "customerId" | "subscriptionId" | "number" | "ledgerNumber">,
    Pick<Invoice, "reference" | "status" | "currency" | "subtotal" | "total" | "sent">,
    Pick<Invoice, "ledger" | "createdAt"> {
  readonly notedAt: Date;
  readonly remainingCredit: Decimal;
  readonly lines: readonly CreditNoteLine[];
  readonly allocations: readonly Allocation[];
}
