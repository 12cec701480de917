/** `billing invoices` and `billing credit-notes`: the documents of an organisation. ADMIN-11 */
import { CreditNoteService } from "../../../../../src/gen/proto/billing/admin/v1/credit_notes_pb.ts";
import { InvoiceService } from "../../../../../src/gen/proto/billing/admin/v1/invoices_pb.ts";
import type { NameLookup, Noun } from "../../noun.ts";
import { customerByCode } from "../lookups.ts";
import { creditNoteLines, invoiceLines } from "./document-lines.ts";

/** Finds an invoice by its number. */
const invoiceByNumber: NameLookup = {
  kind: "invoice",
  list: InvoiceService.method.listInvoices,
  by: "number",
};

/** Finds a credit note by its number. */
const creditNoteByNumber: NameLookup = {
  kind: "credit_note",
  list: CreditNoteService.method.listCreditNotes,
  by: "number",
};

const lookups = { customer: customerByCode };

const ofLines = ["position", "line.name", "line.description"];

const lineColumns = {
  invoice: [
    ...["number", "type", "status", "issue_date", "due_date", ...ofLines, "line.kind"],
    ...["line.units", "line.quantity", "line.unit_price", "line.amount", "line.period.start"],
    ...["line.period.end", "subtotal", "total", "amount_due", "currency", "customer"],
    ...["subscription", "reference", "id"],
  ],
  creditNote: [
    ...["number", "status", "credit_note_date", ...ofLines, "line.amount", "line.effective_date"],
    ...["subtotal", "total", "remaining_credit", "currency", "customer", "subscription"],
    ...["reference", "id"],
  ],
};

function filtersOf(words: string) {
  return {
    number: `only the ${words} with this number`,
    subscription: "only of this subscription",
    customer: "only of this customer, by id or code",
    customer_code: "only of the customer with this code",
    status: `only ${words}s with one of these statuses`,
    issued_from: "only those issued on this day or later, YYYY-MM-DD",
    issued_to: "only those issued on this day or earlier",
  };
}

/** Lists and shows invoices. */
export const invoices: Noun = {
  name: "invoices",
  summary: "Find invoices and show them",
  verbs: [
    {
      name: "list",
      method: InvoiceService.method.listInvoices,
      summary: "List invoices, newest first.",
      examples: [
        "invoices list --customer ACME",
        "invoices list --status draft,approved --all",
        "invoices list --status approved --due-to 2026-03-31",
        "invoices list --subscription 0199a0b2-6666-7000-8000-000000000001 --json",
        "invoices list --issued-from 2026-01-01 --issued-to 2026-12-31 --lines --all -o csv",
      ],
      fields: {
        ...filtersOf("invoice"),
        due_from: "only those due on this day or later, YYYY-MM-DD",
        due_to: "only those due on this day or earlier",
        renewal_from: "only renewals whose period begins on this day or later, YYYY-MM-DD",
        renewal_to: "only renewals whose period begins on this day or earlier",
      },
      lookups,
      inner: { member: "lines", columns: lineColumns.invoice },
      columns: [
        "id",
        "number",
        "type",
        "status",
        "issue_date",
        "due_date",
        "total",
        "amount_due",
        "currency",
        "ledger.sync_status",
      ],
    },
    {
      name: "get",
      method: InvoiceService.method.getInvoice,
      summary: "Show an invoice with its lines and its page in the ledger.",
      examples: ["invoices get INV-0042"],
      places: ["id"],
      lookups: { id: invoiceByNumber },
      lines: invoiceLines,
    },
  ],
};

/** Lists and shows credit notes. */
export const creditNotes: Noun = {
  name: "credit-notes",
  summary: "Find credit notes and show them",
  verbs: [
    {
      name: "list",
      method: CreditNoteService.method.listCreditNotes,
      summary: "List credit notes, newest first.",
      examples: ["credit-notes list --customer ACME", "credit-notes list --status approved"],
      fields: filtersOf("credit note"),
      lookups,
      inner: { member: "lines", columns: lineColumns.creditNote },
      columns: [
        "id",
        "number",
        "status",
        "credit_note_date",
        "total",
        "remaining_credit",
        "currency",
        "allocation_status",
        "ledger.sync_status",
      ],
    },
    {
      name: "get",
      method: CreditNoteService.method.getCreditNote,
      summary: "Show a credit note with its lines, its allocations and its page in the ledger.",
      examples: ["credit-notes get CN-0007"],
      places: ["id"],
      lookups: { id: creditNoteByNumber },
      lines: creditNoteLines,
    },
  ],
};
