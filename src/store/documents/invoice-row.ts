/** Rows of invoices and lines, and their conversion to invoices with their state in the ledger. */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import type {
  DocumentStatus,
  Invoice,
  InvoiceLedgerState,
  InvoiceLine,
  InvoicePeriod,
  InvoiceType,
  LineKind,
  ShownLine,
} from "../../domain/model/invoice.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";
import { readDecimal } from "../catalogue/catalogue.ts";
import type { Row } from "../database/row.ts";

/** A line of an invoice that is shown. Amounts are text. */
export interface ShownLineRow
  extends Row<
    Prisma.InvoiceLineModel,
    | "id"
    | "name"
    | "description"
    | "units"
    | "quantity"
    | "unitPrice"
    | "amount"
    | "fromUnits"
    | "toUnits"
    | "daysRemaining"
    | "daysInPeriod"
    | "amending",
    "periodStart" | "periodEnd"
  > {
  kind: LineKind;
}

/** A line inside an invoice's JSON. */
type InvoiceLineRow = ShownLineRow &
  Row<Prisma.InvoiceLineModel, "chargeId" | "meterId" | "revenueAccount" | "taxType">;

/** A row of `invoices` with its lines. */
export interface InvoiceRow
  extends Row<
    Prisma.InvoiceModel,
    | "id"
    | "customerId"
    | "subscriptionId"
    | "number"
    | "reference"
    | "currency"
    | "subtotal"
    | "total"
    | "amountDue"
    | "sent"
    | "ledgerInvoiceId"
    | "syncError"
    | "createdAt",
    "issueDate" | "dueDate" | "periodStart" | "periodEnd"
  > {
  type: InvoiceType;
  status: DocumentStatus;
  lines: InvoiceLineRow[] | null;
}

/** The `sync_error` of a document that waits for an unreachable ledger (OBJECT-13). */
export const unreachable = "The ledger could not be reached; it is retried";

/**
 * Whether the ledger has the document as it is here. `scheduled` and `not_in_external` are not in
 * the ledger. A document there with an error lacks its last amendment, which the ledger refused.
 * `isAmending`: it is there, but some lines are not there yet as they are here. A removed document
 * never gets them.
 */
export function readLedgerState(
  status: DocumentStatus,
  ledgerId: string | null,
  syncError: string | null,
  isAmending = false,
): InvoiceLedgerState {
  const isRemoved = status === "voided" || status === "deleted";
  if (status === "scheduled" || (isAmending && !isRemoved && syncError === null)) {
    return { syncStatus: "failed", invoiceId: ledgerId, syncError: unreachable };
  }
  const isFailed = status === "not_in_external" || syncError !== null;
  return { syncStatus: isFailed ? "failed" : "synced", invoiceId: ledgerId, syncError };
}

/** Converts a row to an invoice. */
export function readInvoice(row: InvoiceRow): Invoice {
  return readInvoiceWith(row, row.lines ?? [], readLine);
}

/** Converts a row and its lines, each with `read`, to an invoice. */
export function readInvoiceWith<LineRow extends ShownLineRow, Line>(
  row: Omit<InvoiceRow, "lines">,
  lines: readonly LineRow[],
  read: (line: LineRow) => Line,
): Omit<Invoice, "lines"> & { readonly lines: readonly Line[] } {
  const isAmending = lines.some(({ amending }) => amending);
  return {
    id: row.id,
    number: row.number,
    reference: row.reference === "" ? null : row.reference,
    type: row.type,
    customerId: row.customer_id,
    subscriptionId: row.subscription_id,
    status: row.status,
    currency: row.currency,
    subtotal: parseDecimal(row.subtotal),
    total: parseDecimal(row.total),
    amountDue: parseDecimal(row.amount_due),
    issueDate: civilDate(row.issue_date),
    dueDate: row.due_date === null ? null : civilDate(row.due_date),
    period: readPeriod(row.period_start, row.period_end),
    sent: row.sent,
    lines: lines.map(read),
    ledger: readLedgerState(row.status, row.ledger_invoice_id, row.sync_error, isAmending),
    createdAt: row.created_at,
  };
}

function readLine(row: InvoiceLineRow): InvoiceLine {
  return {
    ...readShownLine(row),
    chargeId: row.charge_id,
    meterId: row.meter_id,
    revenueAccount: row.revenue_account,
    taxType: row.tax_type,
  };
}

/** Converts a row to the line that is shown. */
export function readShownLine(row: ShownLineRow): ShownLine {
  const { from_units, to_units, days_remaining, days_in_period } = row;
  const prorated =
    from_units !== null && to_units !== null && days_remaining !== null && days_in_period !== null;
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    description: row.description,
    units: row.units,
    quantity: readDecimal(row.quantity),
    unitPrice: readDecimal(row.unit_price),
    amount: parseDecimal(row.amount),
    period: readPeriod(row.period_start, row.period_end),
    proration: prorated
      ? {
          fromUnits: from_units,
          toUnits: to_units,
          daysRemaining: days_remaining,
          daysInPeriod: days_in_period,
        }
      : null,
  };
}

function readPeriod(start: string | null, end: string | null): InvoicePeriod | null {
  return start === null || end === null ? null : { start: civilDate(start), end: civilDate(end) };
}
