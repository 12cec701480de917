/** A look into the books of all organisations without a token: the newest documents, for whoever tries the service. */
import type pg from "pg";
import { type AllocationRow, loadAllocations } from "./allocation-rows.ts";
import { type CreditNoteRow, remainingCreditOf } from "./credit-note-rows.ts";
import { creditNotes } from "./credit-notes.ts";
import { inSnapshot, type Queryable } from "./database.ts";
import type { DocumentRow } from "./document-rows.ts";
import { type DocumentTable, selectedOf } from "./document-store.ts";
import { amountDueOf, type InvoiceRow } from "./invoice-rows.ts";
import { invoices } from "./invoices.ts";

// What somebody has just tried stands on top.
const shownDocuments = 25;

/** The newest invoices: what is paid, credited and due of each, the credit notes on it, its lines with their ids. */
export function newestInvoices(pool: pg.Pool): Promise<readonly object[]> {
  return inSnapshot(pool, async (client) => {
    const rows = await newest<InvoiceRow>(client, invoices.table);
    const allocations = await loadAllocations(client, "invoice_id", idsOf(rows));
    return rows.map((row) => ({
      ...headOf(row),
      paid: row.amount_paid,
      credited: row.amount_credited,
      due: amountDueOf(row),
      issue_date: row.issue_date,
      due_date: row.due_date,
      allocations: allocations.filter((one) => one.invoice_id === row.id).map(allocationOf),
      lines: linesOf(row),
    }));
  });
}

/** The newest credit notes: what is left of each, the invoices that the rest went to, its lines with their ids. */
export function newestCreditNotes(pool: pg.Pool): Promise<readonly object[]> {
  return inSnapshot(pool, async (client) => {
    const rows = await newest<CreditNoteRow>(client, creditNotes.table);
    const allocations = await loadAllocations(client, "credit_note_id", idsOf(rows));
    return rows.map((row) => ({
      ...headOf(row),
      remaining: remainingCreditOf(row),
      issue_date: row.issue_date,
      allocations: allocations.filter((one) => one.credit_note_id === row.id).map(allocationOf),
      lines: linesOf(row),
    }));
  });
}

interface Names {
  readonly organisation: string;
  readonly contact: string;
}

async function newest<Row extends DocumentRow>(
  client: Queryable,
  table: DocumentTable,
): Promise<readonly (Row & Names)[]> {
  const { rows } = await client.query<Row & Names>(
    `select d.*, t.name as organisation, c.name as contact
     from (select ${selectedOf(table)} from demo_ledger.${table.name} order by updated_at desc, number desc limit $1) d
     join demo_ledger.tenants t on t.tenant_id = d.tenant_id
     join demo_ledger.contacts c on c.contact_id = d.contact_id
     order by d.updated_at desc, d.number desc`,
    [shownDocuments],
  );
  return rows;
}

function idsOf(rows: readonly DocumentRow[]): readonly string[] {
  return rows.map(({ id }) => id);
}

function headOf({ organisation, number, contact, reference, status, currency, total }: DocumentRow & Names): object {
  return { organisation, number, contact, reference, status, currency, total };
}

function linesOf({ lines }: DocumentRow): readonly object[] {
  return lines.map((line) => ({
    id: line.id,
    description: line.description,
    quantity: line.quantity,
    unit_amount: line.unitAmount,
    amount: line.lineAmount,
    tax: line.taxAmount,
    account: line.accountCode,
  }));
}

function allocationOf(row: AllocationRow): object {
  const { allocation_id, credit_note_number, invoice_number, amount, allocated_on } = row;
  return { id: allocation_id, credit_note: credit_note_number, invoice: invoice_number, amount, date: allocated_on };
}
