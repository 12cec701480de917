/** The columns that stored invoices and credit notes share, and their form in Xero's names. */
import { numberToken } from "../../../../src/ledger/port/exact-json.ts";
import { xeroDate, xeroInstant } from "../api/answers.ts";
import type { LineAmountTypes } from "./document-amounts.ts";

/** Xero's statuses of a document. */
export type XeroStatus = "DRAFT" | "SUBMITTED" | "AUTHORISED" | "PAID" | "VOIDED" | "DELETED";

/** A stored line. Amounts are decimal text. */
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

/** A stored document. Amounts have two places, dates are `YYYY-MM-DD`. */
export interface DocumentRow {
  readonly id: string;
  readonly contact_id: string;
  readonly number: string;
  readonly reference: string;
  readonly status: XeroStatus;
  readonly line_amount_types: LineAmountTypes;
  readonly currency: string;
  readonly issue_date: string;
  readonly sub_total: string;
  readonly total_tax: string;
  readonly total: string;
  readonly fully_paid_on: string | null;
  readonly sent: boolean;
  readonly lines: readonly LineRow[];
  readonly updated_at: Date;
}

/** Returns the members that both kinds of document share. A list without pages shows no lines. */
export function presentDocument(row: DocumentRow, contact: object, withLines: boolean): object {
  return {
    Reference: row.reference,
    SentToContact: row.sent,
    CurrencyRate: numberToken("1"),
    HasErrors: false,
    HasAttachments: false,
    Contact: contact,
    DateString: `${row.issue_date}T00:00:00`,
    Date: xeroDate(row.issue_date),
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

/** Returns true if a document is not approved yet. */
export function isOpen(status: XeroStatus): boolean {
  return status === "DRAFT" || status === "SUBMITTED";
}

/** Returns true if a document is voided or deleted. */
export function isRemoved(status: XeroStatus): boolean {
  return status === "VOIDED" || status === "DELETED";
}

/**
 * Returns the status of an approved document by its open amount. Xero shows a document with nothing
 * open as paid, also one with total zero (from Xero's help pages; not tried). Other statuses stay.
 */
export function finishedStatus(status: XeroStatus, open: bigint): XeroStatus {
  if (status !== "AUTHORISED" && status !== "PAID") return status;
  return open === 0n ? "PAID" : "AUTHORISED";
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
