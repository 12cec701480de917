/**
 * Reads a page of invoices with all their lines in one statement, so that both are of the same
 * moment. SQL: the hot path of lists. Lines are rows of the result. As JSON inside each invoice
 * they cost the server twice as much.
 */
import { civilDate } from "../../domain/calendar/civil-date.ts";
import type {
  DocumentStatus,
  InvoiceType,
  LineKind,
  ShownInvoice,
  ShownLine,
} from "../../domain/model/invoice.ts";
import { withFourPlaces } from "../../domain/money/decimal.ts";
import {
  joinColumns,
  numberOrNull,
  readInstantText,
  splitColumns,
  textOrNull,
} from "../database/joined-columns.ts";
import { type InvoiceRow, readLedgerState, readPeriod, readProration } from "./invoice-row.ts";

const invoiceColumns = [
  "id",
  "seq",
  "customer_id",
  "subscription_id",
  "type",
  "status",
  "currency",
  "subtotal",
  "total",
  "amount_due",
  "issue_date",
  "due_date",
  "period_start",
  "period_end",
  "sent",
  "created_at",
] as const;

const lineColumns = [
  "id",
  "invoice_id",
  "position",
  "kind",
  "units",
  "quantity",
  "unit_price",
  "amount",
  "period_start",
  "period_end",
  "from_units",
  "to_units",
  "days_remaining",
  "days_in_period",
  "amending",
] as const;

/** A row of the page: an invoice, or one of its lines with its name and description. */
type PageRow = { readonly joined: string } & (
  | ({ readonly is_line: false } & InvoiceFreeTexts)
  | { readonly is_line: true; readonly number: string; readonly reference: string }
);

type InvoiceFreeTexts = Pick<
  InvoiceRow,
  "number" | "reference" | "ledger_invoice_id" | "sync_error"
>;

/** A line with its place in its invoice. */
interface PlacedLine {
  readonly position: number;
  readonly isAmending: boolean;
  readonly line: ShownLine;
}

/** An invoice with its place in the list. */
interface PlacedInvoice {
  readonly seq: number;
  readonly invoice: ShownInvoice;
}

/** Returns the statement. `selectRows` returns the SQL that selects columns of the invoices. */
export function invoicePageText(selectRows: (columns: string) => string): string {
  const invoices = selectRows(
    `${joinColumns("t", invoiceColumns)} AS joined, false AS is_line, t.number, t.reference,
      t.ledger_invoice_id, t.sync_error`,
  );
  return `SELECT * FROM (${invoices}) i
    UNION ALL
    SELECT ${joinColumns("l", lineColumns)}, true, l.name, l.description, NULL, NULL
      FROM (${selectRows("t.id")}) i
      JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = i.id`;
}

/**
 * Returns the invoices of the page, newest first, each with its lines in order. Amounts stay the
 * text of their columns, because nothing is computed with them.
 */
export function readInvoicePage(rows: readonly unknown[]): readonly ShownInvoice[] {
  const lines = new Map<string, PlacedLine[]>();
  for (const row of rows as readonly PageRow[])
    if (row.is_line) addLine(lines, row.joined, row.number, row.reference);
  const invoices: PlacedInvoice[] = [];
  for (const row of rows as readonly PageRow[])
    if (!row.is_line) invoices.push(invoiceOf(row.joined, row, lines));
  // A union has no order, even if PostgreSQL returns its parts one after the other.
  invoices.sort((left, right) => right.seq - left.seq);
  return invoices.map(({ invoice }) => invoice);
}

function invoiceOf(
  joined: string,
  free: InvoiceFreeTexts,
  linesById: ReadonlyMap<string, PlacedLine[]>,
): PlacedInvoice {
  const [id, seq, customerId, subscriptionId, type, state, currency, ...amountsAndDates] =
    splitColumns(invoiceColumns, joined);
  const [subtotal, total, amountDue, issueDate, dueDate, start, end, sent, createdAt] =
    amountsAndDates;
  const lines = linesById.get(id) ?? [];
  lines.sort((left, right) => left.position - right.position);
  const status = state as DocumentStatus;
  const isAmending = lines.some((line) => line.isAmending);
  const invoice: ShownInvoice = {
    id,
    number: free.number,
    reference: free.reference === "" ? null : free.reference,
    type: type as InvoiceType,
    customerId,
    subscriptionId,
    status,
    currency,
    subtotal: withFourPlaces(subtotal),
    total: withFourPlaces(total),
    amountDue: withFourPlaces(amountDue),
    issueDate: civilDate(issueDate),
    dueDate: dueDate === "" ? null : civilDate(dueDate),
    period: readPeriod(textOrNull(start), textOrNull(end)),
    sent: sent === "t",
    lines: lines.map(({ line }) => line),
    ledger: readLedgerState(status, free.ledger_invoice_id, free.sync_error, isAmending),
    createdAt: readInstantText(createdAt),
  };
  return { seq: Number(seq), invoice };
}

function addLine(
  lines: Map<string, PlacedLine[]>,
  joined: string,
  name: string,
  description: string,
): void {
  const [id, invoiceId, position, kind, units, quantity, unitPrice, amount, start, end, ...rest] =
    splitColumns(lineColumns, joined);
  const [fromUnits, toUnits, daysRemaining, daysInPeriod, amending] = rest;
  const line: ShownLine = {
    id,
    kind: kind as LineKind,
    name,
    description,
    units: numberOrNull(units),
    quantity: quantity === "" ? null : withFourPlaces(quantity),
    unitPrice: unitPrice === "" ? null : withFourPlaces(unitPrice),
    amount: withFourPlaces(amount),
    period: readPeriod(textOrNull(start), textOrNull(end)),
    proration: readProration(
      numberOrNull(fromUnits),
      numberOrNull(toUnits),
      numberOrNull(daysRemaining),
      numberOrNull(daysInPeriod),
    ),
  };
  const placed = { position: Number(position), isAmending: amending === "t", line };
  const others = lines.get(invoiceId);
  if (others === undefined) lines.set(invoiceId, [placed]);
  else others.push(placed);
}
