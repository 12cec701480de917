/**
 * Reads a page of invoices with all their lines in one statement, so that both are of the same
 * moment. SQL: the hot path of lists. Lines are rows of the result. As JSON inside each invoice
 * they cost the server twice as much.
 */
import type { ShownInvoice } from "../../domain/model/invoice.ts";
import { joinColumns, readInstantText, splitColumns } from "../database/joined-columns.ts";
import {
  type InvoiceRow,
  readInvoiceWith,
  readShownLine,
  type ShownLineRow,
} from "./invoice-row.ts";

/** The joined columns of an invoice. Those that are no text are here as PostgreSQL writes them. */
interface InvoiceTexts
  extends Pick<
    InvoiceRow,
    | "id"
    | "customer_id"
    | "subscription_id"
    | "type"
    | "status"
    | "currency"
    | "subtotal"
    | "total"
    | "amount_due"
    | "issue_date"
    | "due_date"
    | "period_start"
    | "period_end"
  > {
  readonly seq: string;
  readonly sent: "t" | "f";
  readonly created_at: string;
}

/** The joined columns of a line. */
interface LineTexts
  extends Pick<
    ShownLineRow,
    "id" | "kind" | "quantity" | "unit_price" | "amount" | "period_start" | "period_end"
  > {
  readonly invoice_id: string;
  readonly position: string;
  readonly units: string | null;
  readonly from_units: string | null;
  readonly to_units: string | null;
  readonly days_remaining: string | null;
  readonly days_in_period: string | null;
  readonly amending: "t" | "f";
}

const invoiceColumns = [
  "id",
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
  "seq",
  "sent",
  "created_at",
] as const satisfies readonly (keyof InvoiceTexts)[];

const lineColumns = [
  "id",
  "kind",
  "quantity",
  "unit_price",
  "amount",
  "period_start",
  "period_end",
  "invoice_id",
  "position",
  "units",
  "from_units",
  "to_units",
  "days_remaining",
  "days_in_period",
  "amending",
] as const satisfies readonly (keyof LineTexts)[];

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
interface PlacedLine extends ShownLineRow {
  readonly place: number;
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

/** Returns the invoices of the page, newest first, each with its lines in order. */
export function readInvoicePage(rows: readonly unknown[]): readonly ShownInvoice[] {
  const invoices: { readonly texts: InvoiceTexts; readonly row: InvoiceFreeTexts }[] = [];
  const lines = new Map<string, PlacedLine[]>();
  for (const row of rows as readonly PageRow[]) {
    if (row.is_line) addLine(lines, row.joined, row.number, row.reference);
    else invoices.push({ texts: splitColumns<InvoiceTexts>(invoiceColumns, row.joined), row });
  }
  // A union has no order, even if PostgreSQL returns its parts one after the other.
  invoices.sort((left, right) => Number(right.texts.seq) - Number(left.texts.seq));
  return invoices.map(({ texts, row }) => {
    const own = lines.get(texts.id) ?? [];
    own.sort((left, right) => left.place - right.place);
    return readInvoiceWith(invoiceRow(texts, row), own, readShownLine);
  });
}

function invoiceRow(texts: InvoiceTexts, free: InvoiceFreeTexts): Omit<InvoiceRow, "lines"> {
  return {
    ...texts,
    number: free.number,
    reference: free.reference,
    ledger_invoice_id: free.ledger_invoice_id,
    sync_error: free.sync_error,
    sent: texts.sent === "t",
    created_at: readInstantText(texts.created_at),
  };
}

function addLine(
  lines: Map<string, PlacedLine[]>,
  joined: string,
  name: string,
  description: string,
): void {
  const texts = splitColumns<LineTexts>(lineColumns, joined);
  const line: PlacedLine = {
    ...texts,
    name,
    description,
    place: Number(texts.position),
    units: numberOf(texts.units),
    from_units: numberOf(texts.from_units),
    to_units: numberOf(texts.to_units),
    days_remaining: numberOf(texts.days_remaining),
    days_in_period: numberOf(texts.days_in_period),
    amending: texts.amending === "t",
  };
  const others = lines.get(texts.invoice_id);
  if (others === undefined) lines.set(texts.invoice_id, [line]);
  else others.push(line);
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}
