/** Credit notes: what the domain asks to be raised (a draft), what is read back, and how much of one has been applied. */
import type { CivilDate } from "../calendar/civil-date.ts";
import { compare, type Decimal, isZero } from "../money/decimal.ts";
import type { DocumentStatus, InvoiceLedgerState } from "./invoice.ts";

/**
 * A line to be credited: `amount` above 0, rounded, without tax; `effectiveDate` is the day from which the credit counts; `meterId`
 * where it credits usage; account and tax as resolved, null where the organisation has none either.
 */
export interface CreditNoteLineDraft {
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly effectiveDate: CivilDate;
  readonly meterId: string | null;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
  /** The invoice whose line this one reverses: its credit goes there first. Left out of any other credit. decisions §4. */
  readonly reversedInvoiceId?: string;
}

/** A credit note to be raised: everything but ids and number. `reference` may be empty; `subtotal` is the sum of the lines. */
export interface CreditNoteDraft {
  readonly reference: string;
  readonly currency: string;
  readonly issueDate: CivilDate;
  readonly lines: readonly CreditNoteLineDraft[];
  readonly subtotal: Decimal;
}

/** A line of a credit note; `effectiveAt` is from when the credit counts. Spec: Credit note. */
export interface CreditNoteLine {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly effectiveAt: Date;
}

/** Credit applied to an invoice. Spec: Credit note; decisions §3. */
export interface Allocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: Decimal;
  readonly appliedAt: Date;
  readonly status: "active" | "removed";
  readonly syncStatus: InvoiceLedgerState["syncStatus"];
}

/** A credit note as it is read; `ledger.invoiceId` is the note's own id in the ledger. Spec: Credit note. */
export interface CreditNote {
  readonly id: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly number: string;
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

/** The values of `allocation_status`. decisions §3. */
export type AllocationStatus = "unapplied" | "partially_applied" | "applied" | "not_applicable";

/**
 * How much of a note has been applied, by what is left of it: derived, never stored. What was used on an invoice that we
 * do not have counts, though no allocation tells of it. decisions §3.
 */
export function allocationStatus(note: Pick<CreditNote, "status" | "total" | "remainingCredit">): AllocationStatus {
  if (note.status === "voided" || note.status === "deleted" || isZero(note.total)) return "not_applicable";
  if (isZero(note.remainingCredit)) return "applied";
  return compare(note.remainingCredit, note.total) < 0 ? "partially_applied" : "unapplied";
}
