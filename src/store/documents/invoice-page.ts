/**
 * Reads a page of invoices with all their lines in one statement, so that both are of the same
 * moment. SQL: the hot path of lists. Lines are rows of the result. As JSON inside each invoice
 * they cost the server twice as much.
 */
import type {
  DocumentStatus,
  InvoiceType,
  LineKind,
  ShownInvoice,
} from "../../domain/model/invoice.ts";
import {
  joinColumns,
  numberOrNull,
  readInstantText,
  splitColumns,
  textOrNull,
} from "../database/joined-columns.ts";
import {
  type InvoiceRow,
  readInvoiceWith,
  readShownLine,
  type ShownLineRow,
} from "./invoice-row.ts";

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

/** An invoice or a line with its place in the list: `seq`, or the position in its invoice. */
type Placed<Row> = Row & { readonly place: number };

type PlacedInvoice = Placed<Omit<InvoiceRow, "lines">>;

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

/** Returns the invoices of the page, newest first, each with its lines in order. */
export function readInvoicePage(rows: readonly unknown[]): readonly ShownInvoice[] {
  const invoices: PlacedInvoice[] = [];
  const lines = new Map<string, Placed<ShownLineRow>[]>();
  for (const row of rows as readonly PageRow[]) {
    if (row.is_line) addLine(lines, row.joined, row.number, row.reference);
    else invoices.push(invoiceOf(row.joined, row));
  }
  // A union has no order, even if PostgreSQL returns its parts one after the other.
  invoices.sort((left, right) => right.place - left.place);
  return invoices.map((invoice) => {
    const own = lines.get(invoice.id) ?? [];
    own.sort((left, right) => left.place - right.place);
    return readInvoiceWith(invoice, own, readShownLine);
  });
}

function invoiceOf(joined: string, free: InvoiceFreeTexts): PlacedInvoice {
  const [id, seq, customerId, subscriptionId, type, status, currency, ...amountsAndDates] =
    splitColumns(invoiceColumns, joined);
  const [subtotal, total, amountDue, issueDate, dueDate, start, end, sent, createdAt] =
    amountsAndDates;
  return {
    place: Number(seq),
    id,
    customer_id: customerId,
    subscription_id: subscriptionId,
    number: free.number,
    reference: free.reference,
    type: type as InvoiceType,
    status: status as DocumentStatus,
    currency,
    subtotal,
    total,
    amount_due: amountDue,
    issue_date: issueDate,
    due_date: textOrNull(dueDate),
    period_start: textOrNull(start),
    period_end: textOrNull(end),
    sent: sent === "t",
    ledger_invoice_id: free.ledger_invoice_id,
    sync_error: free.sync_error,
    created_at: readInstantText(createdAt),
  };
}

function addLine(
  lines: Map<string, Placed<ShownLineRow>[]>,
  joined: string,
  name: string,
  description: string,
): void {
  const [id, invoiceId, position, kind, units, quantity, unitPrice, amount, start, end, ...rest] =
    splitColumns(lineColumns, joined);
  const [fromUnits, toUnits, daysRemaining, daysInPeriod, amending] = rest;
  const line: Placed<ShownLineRow> = {
    place: Number(position),
    id,
    kind: kind as LineKind,
    name,
    description,
    units: numberOrNull(units),
    quantity: textOrNull(quantity),
    unit_price: textOrNull(unitPrice),
    amount,
    period_start: textOrNull(start),
    period_end: textOrNull(end),
    from_units: numberOrNull(fromUnits),
    to_units: numberOrNull(toUnits),
    days_remaining: numberOrNull(daysRemaining),
    days_in_period: numberOrNull(daysInPeriod),
    amending: amending === "t",
  };
  const others = lines.get(invoiceId);
  if (others === undefined) lines.set(invoiceId, [line]);
  else others.push(line);
}
