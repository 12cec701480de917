/** A stored invoice, and its form in Xero's names. */
import { decimalTextOf, scaledOf } from "../../../../src/ledger/port/decimal-text.ts";
import { numberToken } from "../../../../src/ledger/port/exact-json.ts";
import { xeroDate } from "../api/answers.ts";
import { type AllocationRow, presentAppliedNote } from "./allocation-rows.ts";
import { type DocumentRow, isRemoved, presentDocument } from "./document-rows.ts";

/** A stored invoice. */
export interface InvoiceRow extends DocumentRow {
  readonly url: string | null;
  readonly due_date: string | null;
  readonly amount_paid: string;
  readonly amount_credited: string;
}

/** A stored payment. */
export interface PaymentRow {
  readonly payment_id: string;
  readonly invoice_id: string;
  readonly amount: string;
  readonly paid_on: string;
}

/**
 * Returns an invoice in Xero's names. `contact` is its presented contact. A list without pages
 * shows no lines.
 */
export function presentInvoice(
  row: InvoiceRow,
  contact: object,
  payments: readonly PaymentRow[],
  allocations: readonly AllocationRow[],
  withLines: boolean,
): object {
  return {
    Type: "ACCREC",
    InvoiceID: row.id,
    InvoiceNumber: row.number,
    ...(row.url === null ? {} : { Url: row.url }),
    Payments: payments.map(presentPayment),
    CreditNotes: allocations.map(presentAppliedNote),
    Prepayments: [],
    Overpayments: [],
    AmountDue: numberToken(amountDueOf(row)),
    AmountPaid: numberToken(row.amount_paid),
    AmountCredited: numberToken(row.amount_credited),
    IsDiscounted: false,
    ...presentDocument(row, contact, withLines),
    ...(row.due_date === null
      ? {}
      : { DueDateString: `${row.due_date}T00:00:00`, DueDate: xeroDate(row.due_date) }),
  };
}

/** Returns the amount due with two places. A removed invoice has none. */
export function amountDueOf(row: InvoiceRow): string {
  return isRemoved(row.status) ? "0.00" : decimalTextOf(scaledOf(row.total, 2) - moneyOn(row), 2);
}

/** Returns the amount paid and credited, in hundredths. */
export function moneyOn(row: InvoiceRow): bigint {
  return scaledOf(row.amount_paid, 2) + scaledOf(row.amount_credited, 2);
}

function presentPayment(row: PaymentRow): object {
  return {
    PaymentID: row.payment_id,
    Date: xeroDate(row.paid_on),
    Amount: numberToken(row.amount),
    CurrencyRate: numberToken("1"),
    HasAccount: false,
    HasValidationErrors: false,
  };
}
