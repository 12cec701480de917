/**
 * Sales invoices as a kind of document: their table, their names in filters, and their payments and
 * credit.
 */

import type { Queryable } from "../database.ts";
import { loadAllocations } from "../documents/allocation-rows.ts";
import { presentContactOf } from "../documents/document-contacts.ts";
import { documentColumns } from "../documents/document-store.ts";
import type { DocumentResource } from "../documents/documents.ts";
import { type InvoiceRow, type PaymentRow, presentInvoice } from "../documents/invoice-rows.ts";
import {
  type InvoiceValues,
  validateInvoiceChange,
  validateNewInvoice,
} from "../documents/invoice-rules.ts";

/** `/Invoices`. */
export const invoices: DocumentResource<InvoiceRow, InvoiceValues> = {
  member: "Invoices",
  idName: "InvoiceID",
  numberName: "InvoiceNumber",
  numberTaken: "Invoice # must be unique.",
  table: {
    name: "invoices",
    idColumn: "invoice_id",
    columns: { ...documentColumns, url: "text", due_date: "text", sent: "boolean" },
  },
  listed: {
    id: "invoice_id",
    filters: { InvoiceNumber: "number", Type: "'ACCREC'" },
    unindexed: [],
    lists: {
      IDs: "invoice_id",
      InvoiceNumbers: "number",
      ContactIDs: "contact_id",
      Statuses: "status",
    },
    searched: ["number", "reference"],
  },
  heavy: ["Payments", "HasAttachments", "LineItems"],
  validateNew: validateNewInvoice,
  validateChange: validateInvoiceChange,
  async present(client, rows, contacts, withLines) {
    const payments = await loadPayments(client, idsWhere(rows, "amount_paid"));
    const allocations = await loadAllocations(
      client,
      "invoice_id",
      idsWhere(rows, "amount_credited"),
    );
    return rows.map((row) => {
      const paid = payments.filter((payment) => payment.invoice_id === row.id);
      const credited = allocations.filter((allocation) => allocation.invoice_id === row.id);
      return presentInvoice(row, presentContactOf(contacts, row), paid, credited, withLines);
    });
  },
};

// Most invoices have neither payments nor credit, so theirs are not loaded.
function idsWhere(
  rows: readonly InvoiceRow[],
  amount: "amount_paid" | "amount_credited",
): readonly string[] {
  return rows.filter((row) => Number(row[amount]) !== 0).map((row) => row.id);
}

async function loadPayments(
  client: Queryable,
  invoiceIds: readonly string[],
): Promise<readonly PaymentRow[]> {
  if (invoiceIds.length === 0) return [];
  const { rows } = await client.query<PaymentRow>(
    `select payment_id, invoice_id, amount, paid_on from demo_ledger.payments
     where invoice_id = any($1::uuid[]) and status = 'AUTHORISED' order by created_at`,
    [invoiceIds],
  );
  return rows;
}
