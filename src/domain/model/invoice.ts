/**
 * Invoices: the draft that the domain issues, an amendment, and the invoice as it is read once it
 * has a number and a ledger state.
 */
import type { CivilDate } from "../calendar/civil-date.ts";
import type { Period } from "../calendar/period.ts";
import type { LineFacts } from "../explanation/facts.ts";
import type { Decimal } from "../money/decimal.ts";

/** What an invoice is issued for (OBJECT-9). */
export type InvoiceType = "first" | "renewal" | "change" | "usage";

/** What a line bills (OBJECT-10). */
export type LineKind = "plan" | "proration" | "charge" | "usage";

/**
 * The status of an invoice or credit note, synced from the ledger. `scheduled`: it is still to be
 * sent to the ledger. `not_in_external`: the ledger refused it or no longer has it (DOCUMENT-2).
 */
export type DocumentStatus =
  | "draft"
  | "awaiting_approval"
  | "approved"
  | "paid"
  | "voided"
  | "deleted"
  | "scheduled"
  | "not_in_external";

/** The days from `start` (included) to `end` (excluded: the renewal date). */
export type InvoicePeriod = Pick<Period, "start" | "end">;

/**
 * A line to issue. `units` is the total of a plan line, the count of a charge line, and null on a
 * flat fee. `quantity` is the decimal of a usage line. `unitPrice` is before discount, and null if
 * several prices meet: then `description` has the arithmetic. `amount` is rounded, after discount,
 * without tax. `facts` explain it, and are absent on a line of before. Account and tax type are
 * resolved, or null if the organisation has none either.
 */
export interface InvoiceLineDraft {
  readonly kind: LineKind;
  readonly name: string;
  readonly description: string;
  readonly units: number | null;
  readonly quantity: Decimal | null;
  readonly unitPrice: Decimal | null;
  readonly amount: Decimal;
  readonly facts?: LineFacts;
  readonly period: InvoicePeriod | null;
  readonly proration: ProrationParts | null;
  readonly chargeId: string | null;
  /** The meter of a usage line; null on every other line. */
  readonly meterId: string | null;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/**
 * An invoice to issue: everything except ids and number. `reference` may be empty. `periodIndex` is
 * the index of the subscription's period that the invoice belongs to. `subtotal` is the sum of the
 * lines.
 */
export interface InvoiceDraft {
  readonly type: InvoiceType;
  readonly reference: string;
  readonly currency: string;
  readonly issueDate: CivilDate;
  readonly dueDate: CivilDate | null;
  readonly period: InvoicePeriod | null;
  readonly periodIndex: number;
  readonly lines: readonly InvoiceLineDraft[];
  readonly subtotal: Decimal;
}

/** A line of an issued invoice (OBJECT-10). */
export interface InvoiceLine extends InvoiceLineDraft {
  readonly id: string;
}

/** Whether the ledger has the document. `syncError` is null if it is synced (OBJECT-13). */
export interface InvoiceLedgerState {
  readonly syncStatus: "synced" | "failed";
  readonly invoiceId: string | null;
  readonly syncError: string | null;
}

/**
 * An invoice as it is read. `total` is the ledger's once synced, tax included; before that it is
 * the subtotal (OBJECT-9). `amountDue` is what is neither paid nor credited. `sent`: whether the
 * ledger sent it to the customer. `ledgerNumber` is the ledger's own, null where numbers are ours
 * (LEDGER-24).
 */
export interface Invoice {
  readonly id: string;
  readonly number: string;
  readonly ledgerNumber: string | null;
  readonly reference: string | null;
  readonly type: InvoiceType;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: DocumentStatus;
  readonly currency: string;
  readonly subtotal: Decimal;
  readonly total: Decimal;
  readonly amountDue: Decimal;
  readonly issueDate: CivilDate;
  readonly dueDate: CivilDate | null;
  readonly period: InvoicePeriod | null;
  readonly sent: boolean;
  readonly lines: readonly InvoiceLine[];
  readonly ledger: InvoiceLedgerState;
  readonly createdAt: Date;
}

/** The figures of a proration as a line shows them. Days are whole and half-open (OBJECT-10). */
export interface ProrationParts {
  readonly fromUnits: number;
  readonly toUnits: number;
  readonly daysRemaining: number;
  readonly daysInPeriod: number;
}

/**
 * A change of an existing invoice. `planLine` replaces its plan line, `added` lines are appended.
 * `onlyDraft`: if the invoice has left `draft` in the ledger meanwhile, the added lines are billed
 * on their own invoice instead.
 */
export interface InvoiceAmendment {
  readonly invoiceId: string;
  readonly planLine: InvoiceLineDraft | null;
  readonly added: readonly InvoiceLineDraft[];
  readonly onlyDraft: boolean;
}
