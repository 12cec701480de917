/**
 * An invoice as the demo ledger stores it, and as it shows it in Xero's names. Facts: facts-ledger sections 1.1 and
 * 1.3.
 */
import { decimalTextOf, scaledOf } from "../decimal-text.ts";
import { numberToken } from "../exact-json.ts";
import { xeroDate, xeroInstant } from "./answers.ts";
import type { LineAmountTypes } from "./invoice-amounts.ts";

/** Xero's statuses of an invoice. */
export type XeroStatus = "DRAFT" | "SUBMITTED" | "AUTHORISED" | "PAID" | "VOIDED" | "DELETED";

/** A stored line; amounts are decimal text. */
export interface LineRow {
  readonly id: string;
  readonly description: string;
  readonly quantity: string;
  readonly unitAmount: string;
  readonly accountCode: string | null;
  readonly taxType: string;
  readonly taxAmount: string;
  readonly lineAmount: string;
}

/** A stored invoice. */
export interface InvoiceRow {
  readonly invoice_id: string;
  readonly contact_id: string;
  readonly number: string;
  readonly reference: string;
  readonly url: string | null;
  readonly status: XeroStatus;
  readonly line_amount_types: LineAmountTypes;
  readonly currency: string;
  readonly issue_date: string;
  readonly due_date: string | null;
  readonly sub_total: string;
  readonly total_tax: string;
  readonly total: string;
  readonly amount_paid: string;
  readonly amount_credited: string;
  readonly fully_paid_on: string | null;
  readonly sent: boolean;
  readonly lines: readonly LineRow[];
  readonly updated_at: Date;
}

/** The payments of an invoice, as they are stored. */
export interface PaymentRow {
  readonly payment_id: string;
  readonly invoice_id: string;
  readonly amount: string;
  readonly paid_on: string;
}

/** An invoice in Xero's names. `contact` is its contact as presented; a list without pages shows no lines. */
export function presentInvoice(
  row: InvoiceRow,
  contact: object,
  payments: readonly PaymentRow[] = [],
  withLines = true,
): object {
  return {
    Type: "ACCREC",
    InvoiceID: row.invoice_id,
    InvoiceNumber: row.number,
    Reference: row.reference,
    ...(row.url === null ? {} : { Url: row.url }),
    Payments: payments.map(presentPayment),
    CreditNotes: [],
    Prepayments: [],
    Overpayments: [],
    AmountDue: numberToken(amountDueOf(row)),
    AmountPaid: numberToken(row.amount_paid),
    AmountCredited: numberToken(row.amount_credited),
    SentToContact: row.sent,
    CurrencyRate: numberToken("1"),
    HasErrors: false,
    IsDiscounted: false,
    HasAttachments: false,
    Contact: contact,
    DateString: `${row.issue_date}T00:00:00`,
    Date: xeroDate(row.issue_date),
    ...(row.due_date === null ? {} : { DueDateString: `${row.due_date}T00:00:00`, DueDate: xeroDate(row.due_date) }),
    ...(row.fully_paid_on === null ? {} : { FullyPaidOnDate: xeroDate(row.fully_paid_on) }),
    Status: row.status,
    LineAmountTypes: row.line_amount_types,
    LineItems: withLines ? row.lines.map(presentLine) : [],
    SubTotal: numberToken(row.sub_total),
    TotalTax: numberToken(row.total_tax),
    Total: numberToken(row.total),
    UpdatedDateUTC: xeroInstant(row.updated_at),
    UpdatedDateUTCString: `${row.updated_at.toISOString().slice(0, 19)}Z`,
    CurrencyCode: row.currency,
  };
}

/** What is left to pay, with two places; nothing on a removed invoice. */
export function amountDueOf(row: InvoiceRow): string {
  if (row.status === "VOIDED" || row.status === "DELETED") return "0.00";
  return decimalTextOf(scaledOf(row.total, 2) - scaledOf(row.amount_paid, 2) - scaledOf(row.amount_credited, 2), 2);
}

/** True where money or credit is on the invoice. */
export function hasMoney(row: InvoiceRow): boolean {
  return scaledOf(row.amount_paid, 2) !== 0n || scaledOf(row.amount_credited, 2) !== 0n;
}

/**
 * Xero shows an approved invoice over nothing as paid, since nothing is due (from Xero's help pages; not tried).
 */
export function settledStatus(status: XeroStatus, total: string): XeroStatus {
  return status === "AUTHORISED" && scaledOf(total, 2) === 0n ? "PAID" : status;
}

function presentLine(line: LineRow): object {
  return {
    LineItemID: line.id,
    Description: line.description,
    Quantity: numberToken(line.quantity),
    UnitAmount: numberToken(line.unitAmount),
    ...(line.accountCode === null ? {} : { AccountCode: line.accountCode }),
    TaxType: line.taxType,
    TaxAmount: numberToken(line.taxAmount),
    LineAmount: numberToken(line.lineAmount),
    Tracking: [],
    ValidationErrors: [],
  };
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
