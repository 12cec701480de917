/** Invoices: what the domain asks to be raised (a draft), and what is read back once it has a number and a ledger. */
import type { CivilDate } from "../calendar/civil-date.ts";
import type { Period } from "../calendar/period.ts";
import type { Decimal } from "../money/decimal.ts";
import type { ProrationParts } from "./proration.ts";

/** What an invoice is raised for. decisions §3 "Invoice". */
export type InvoiceType = "first" | "renewal" | "change" | "usage";

/** What a line bills. decisions §3 "Invoice". */
export type LineKind = "plan" | "proration" | "charge" | "usage";

/**
 * The state of an invoice or credit note, mirrored from the ledger. `scheduled`: made here, still to be sent to the
 * ledger; `not_in_external`: the ledger refused it or no longer has it. Spec: States; decisions §4.
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
 * A line to be raised. `units`: total units of a plan line, count of a charge line, null on a flat fee; `quantity`: the
 * decimal of a usage line; `unitPrice` before discount, null where several prices meet (`description` has the
 * arithmetic); `amount` rounded, after discount, without tax; account and tax as resolved, null where the organisation
 * has none either.
 */
export interface InvoiceLineDraft {
  readonly kind: LineKind;
  readonly name: string;
  readonly description: string;
  readonly units: number | null;
  readonly quantity: Decimal | null;
  readonly unitPrice: Decimal | null;
  readonly amount: Decimal;
  readonly period: InvoicePeriod | null;
  readonly proration: ProrationParts | null;
  readonly chargeId: string | null;
  /** Of a usage line. */
  readonly meterId: string | null;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/**
 * An invoice to be raised: everything but ids and number. `reference` may be empty; `periodIndex` is that of the
 * subscription's period which it belongs to; `subtotal` is the sum of the lines.
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

/** A line as it was raised. decisions §3 "Invoice". */
export interface InvoiceLine extends InvoiceLineDraft {
  readonly id: string;
}

/** Whether the ledger has the document. `syncError` is null when synced. Spec: Invoice; decisions §4. */
export interface InvoiceLedgerState {
  readonly syncStatus: "synced" | "failed";
  readonly invoiceId: string | null;
  readonly syncError: string | null;
}

/**
 * An invoice as it is read. `total` is the ledger's once synced (tax included), before that the subtotal; `amountDue`
 * is what is neither paid nor credited; `sent`: whether the ledger sent it to the customer. Spec: Invoice; decisions §3
 * "Invoice".
 */
export interface Invoice {
  readonly id: string;
  readonly number: string;
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

/** Whether nobody has approved or sent it: what can be deleted, and not only voided. decisions §6 `delete_unsent_invoices`. */
export function isUnsent({ status, sent }: { readonly status: DocumentStatus; readonly sent: boolean }): boolean {
  return !sent && (status === "draft" || status === "awaiting_approval");
}
