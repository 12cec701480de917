/** Rows of invoices and lines, the invoices that they are, and their lists. */

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
import { columns } from "../../gen/columns.ts";
import { readDecimal } from "../catalogue/catalogue.ts";
import { type Filter, filter, listing } from "../database/page.ts";
import { jsonRows, pick, type RowOf, text } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";

/** A line inside an invoice's JSON. Amounts are text. */
const invoiceLineRow = {
  ...pick(
    columns.invoiceLine,
    "id",
    "name",
    "description",
    "units",
    "periodStart",
    "periodEnd",
    "fromUnits",
    "toUnits",
    "daysRemaining",
    "daysInPeriod",
    "chargeId",
    "meterId",
    "revenueAccount",
    "taxType",
    "amending",
  ),
  kind: columns.invoiceLine.kind.as<LineKind>(),
  quantity: text.orNull(),
  unitPrice: text.orNull(),
  amount: text,
};

/** The members of an invoice's row, without its lines. */
const invoiceMembers = {
  ...pick(
    columns.invoice,
    "id",
    "customerId",
    "subscriptionId",
    "number",
    "reference",
    "currency",
    "subtotal",
    "total",
    "amountDue",
    "issueDate",
    "dueDate",
    "periodStart",
    "periodEnd",
    "sent",
    "ledgerInvoiceId",
    "ledgerNumber",
    "syncError",
    "createdAt",
  ),
  type: columns.invoice.type.as<InvoiceType>(),
  status: columns.invoice.status.as<DocumentStatus>(),
};

/** A row of `invoices` with its lines. */
export const invoiceRow = { ...invoiceMembers, lines: jsonRows(invoiceLineRow).orNull() };

/** A row of `invoices` with its lines. */
export type InvoiceRow = RowOf<typeof invoiceRow>;

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
export function readInvoice({
  lines: read,
  periodStart,
  periodEnd,
  ledgerInvoiceId,
  syncError,
  ...row
}: InvoiceRow): Invoice {
  const lines = read ?? [];
  const isAmending = lines.some(({ amending }) => amending);
  return {
    ...row,
    reference: row.reference === "" ? null : row.reference,
    subtotal: parseDecimal(row.subtotal),
    total: parseDecimal(row.total),
    amountDue: parseDecimal(row.amountDue),
    issueDate: civilDate(row.issueDate),
    dueDate: row.dueDate === null ? null : civilDate(row.dueDate),
    period: readPeriod(periodStart, periodEnd),
    lines: lines.map(readLine),
    ledger: readLedgerState(row.status, ledgerInvoiceId, syncError, isAmending),
  };
}

function readLine({
  amending: _,
  periodStart,
  periodEnd,
  fromUnits,
  toUnits,
  daysRemaining,
  daysInPeriod,
  ...row
}: RowOf<typeof invoiceLineRow>): InvoiceLine {
  return {
    ...row,
    quantity: readDecimal(row.quantity),
    unitPrice: readDecimal(row.unitPrice),
    amount: parseDecimal(row.amount),
    period: readPeriod(periodStart, periodEnd),
    proration: readProration(fromUnits, toUnits, daysRemaining, daysInPeriod),
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

/**
 * The lines of invoice `t` as JSON, in order. Amounts are text, so that JSON makes no float of
 * them. Converting whole rows to JSON costs the server a third less than building objects by
 * member.
 */
const linesJson = sql`(SELECT json_agg(r)
  FROM (SELECT l.id, l.kind, l.name, l.description, l.units,
    l.quantity::text AS quantity, l.unit_price::text AS unit_price, l.amount::text AS amount,
      l.period_start, l.period_end,
    l.from_units, l.to_units, l.days_remaining, l.days_in_period, l.charge_id, l.meter_id,
      l.revenue_account,
    l.tax_type, l.amending
  FROM invoice_lines l WHERE l.organisation_id = t.organisation_id AND l.invoice_id = t.id
    ORDER BY l.position) r)`;

/** The columns of `invoiceRow`. */
export const invoiceColumns = sql`${columnsOf(sql`t`, invoiceMembers)}, ${linesJson} AS lines`;

/** The filters of document lists. A null or empty filter excludes nothing (OBJECT-5). */
export interface DocumentFilters {
  readonly subscription: string | null;
  readonly customer: string | null;
  readonly statuses: readonly DocumentStatus[];
}

/** Converts the filters to SQL conditions. */
export function documentFilters(filters: DocumentFilters): readonly Filter[] {
  const { subscription, customer, statuses } = filters;
  return [
    ...filter(sql`t.subscription_id = ?`, subscription, true),
    ...filter(sql`t.customer_id = ?`, customer, true),
    ...filter(sql`t.status = ANY (?)`, statuses.length === 0 ? null : statuses),
  ];
}

/** Reads invoices with their lines. */
export const invoiceListing = listing(
  "invoices",
  {
    table: sql`invoices`,
    columns: invoiceColumns,
    row: invoiceRow,
    read: readInvoice,
  },
  documentFilters({ subscription: "", customer: "", statuses: ["draft"] }),
);
