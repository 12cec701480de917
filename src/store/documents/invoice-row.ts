/** Rows of invoices and lines, and their conversion to invoices with their state in the ledger. */

import { presenceOf } from "../../domain/billing/document-presence.ts";
import { civilDate } from "../../domain/calendar/civil-date.ts";
import type {
  DocumentStatus,
  Invoice,
  InvoiceLedgerState,
  InvoiceLine,
  InvoicePeriod,
  InvoiceType,
  LineKind,
  ProrationParts,
} from "../../domain/model/invoice.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";
import { readDecimal } from "../catalogue/catalogue.ts";
import type { Row } from "../database/prisma/row.ts";

/** A line inside an invoice's JSON. Amounts are text. */
interface InvoiceLineRow
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
    | "amending"
    | "chargeId"
    | "meterId"
    | "revenueAccount"
    | "taxType",
    "periodStart" | "periodEnd"
  > {
  kind: LineKind;
}

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
  const presence = presenceOf({ status });
  const isUnsent = presence === "stands" && isAmending && syncError === null;
  if (presence === "to_be_sent" || isUnsent) {
    return { syncStatus: "failed", invoiceId: ledgerId, syncError: unreachable };
  }
  const isFailed = status === "not_in_external" || syncError !== null;
  return { syncStatus: isFailed ? "failed" : "synced", invoiceId: ledgerId, syncError };
}

/** Converts a row to an invoice. */
export function readInvoice(row: InvoiceRow): Invoice {
  const lines = row.lines ?? [];
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
    lines: lines.map(readLine),
    ledger: readLedgerState(row.status, row.ledger_invoice_id, row.sync_error, isAmending),
    createdAt: row.created_at,
  };
}

function readLine(row: InvoiceLineRow): InvoiceLine {
  const { from_units, to_units, days_remaining, days_in_period } = row;
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
    proration: readProration(from_units, to_units, days_remaining, days_in_period),
    chargeId: row.charge_id,
    meterId: row.meter_id,
    revenueAccount: row.revenue_account,
    taxType: row.tax_type,
  };
}

/** Returns the figures of a proration line. Null for another line, which has none of them. */
export function readProration(
  fromUnits: number | null,
  toUnits: number | null,
  daysRemaining: number | null,
  daysInPeriod: number | null,
): ProrationParts | null {
  const isNone =
    fromUnits === null || toUnits === null || daysRemaining === null || daysInPeriod === null;
  return isNone ? null : { fromUnits, toUnits, daysRemaining, daysInPeriod };
}

/** Returns the days of an invoice or a line. Null if it is for no period. */
export function readPeriod(start: string | null, end: string | null): InvoicePeriod | null {
  return start === null || end === null ? null : { start: civilDate(start), end: civilDate(end) };
}
