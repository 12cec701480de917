/**
 * The newest records of one organisation or of all, for the demo page and scripts. No token is
 * needed.
 */
import type pg from "pg";
import { creditNotes } from "./api/credit-notes.ts";
import { invoices } from "./api/invoices.ts";
import { inSnapshot, type Queryable } from "./database.ts";
import { type AllocationRow, loadAllocations } from "./documents/allocation-rows.ts";
import { type CreditNoteRow, remainingCreditOf } from "./documents/credit-note-rows.ts";
import type { DocumentRow } from "./documents/document-rows.ts";
import { type DocumentTable, selectedOf } from "./documents/document-store.ts";
import { amountDueOf, type InvoiceRow } from "./documents/invoice-rows.ts";

// Few, because the newest documents are the ones that a person has just tried.
const shownDocuments = 25;
const shownOthers = 100;

/**
 * Returns the whole content of the page at one moment, newest first: organisations, contacts,
 * documents and payments. With a tenant the last three are of that organisation only.
 */
export function newestDocuments(pool: pg.Pool, tenantId: string | null): Promise<object> {
  return inSnapshot(pool, async (client) => ({
    organisations: (await client.query(organisationsStatement, [shownOthers])).rows,
    contacts: (await client.query(contactsStatement, [tenantId, shownOthers])).rows,
    invoices: await loadNewestInvoices(client, tenantId),
    credit_notes: await loadNewestCreditNotes(client, tenantId),
    payments: (await client.query(paymentsStatement, [tenantId, shownOthers])).rows,
  }));
}

const organisationsStatement = `
select tenant_id as id, name, currency, timezone from demo_ledger.tenants
  order by created_at desc, tenant_id limit $1`;

const contactsStatement = `
select c.contact_id as id, c.tenant_id, t.name as organisation, c.name, c.contact_number as number,
  c.email, c.status, c.merged_to
from demo_ledger.contacts c join demo_ledger.tenants t on t.tenant_id = c.tenant_id
where $1::uuid is null or c.tenant_id = $1 order by c.updated_at desc, c.contact_id limit $2`;

const paymentsStatement = `
select p.payment_id as id, p.tenant_id, t.name as organisation, i.number as invoice, i.currency,
  p.amount, p.paid_on as date, p.status
from demo_ledger.payments p
join demo_ledger.tenants t on t.tenant_id = p.tenant_id
join demo_ledger.invoices i on i.invoice_id = p.invoice_id
where $1::uuid is null or p.tenant_id = $1 order by p.created_at desc, p.payment_id limit $2`;

// With the amounts paid, credited and due, their credit notes, and their lines with ids.
async function loadNewestInvoices(
  client: Queryable,
  tenantId: string | null,
): Promise<readonly object[]> {
  const rows = await newest<InvoiceRow>(client, invoices.table, tenantId);
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
}

// With their remaining credit, the invoices they were allocated to, and their lines with ids.
async function loadNewestCreditNotes(
  client: Queryable,
  tenantId: string | null,
): Promise<readonly object[]> {
  const rows = await newest<CreditNoteRow>(client, creditNotes.table, tenantId);
  const allocations = await loadAllocations(client, "credit_note_id", idsOf(rows));
  return rows.map((row) => ({
    ...headOf(row),
    remaining: remainingCreditOf(row),
    issue_date: row.issue_date,
    allocations: allocations.filter((one) => one.credit_note_id === row.id).map(allocationOf),
    lines: linesOf(row),
  }));
}

interface Names {
  readonly tenant_id: string;
  readonly organisation: string;
  readonly contact: string;
}

async function newest<Row extends DocumentRow>(
  client: Queryable,
  table: DocumentTable,
  tenantId: string | null,
): Promise<readonly (Row & Names)[]> {
  const { rows } = await client.query<Row & Names>(
    `select d.*, t.name as organisation, c.name as contact
     from (select ${selectedOf(table)} from demo_ledger.${table.name}
           where $1::uuid is null or tenant_id = $1 order by updated_at desc, number desc
             limit $2) d
     join demo_ledger.tenants t on t.tenant_id = d.tenant_id
     join demo_ledger.contacts c on c.contact_id = d.contact_id
     order by d.updated_at desc, d.number desc`,
    [tenantId, shownDocuments],
  );
  return rows;
}

function idsOf(rows: readonly DocumentRow[]): readonly string[] {
  return rows.map(({ id }) => id);
}

function headOf(row: DocumentRow & Names): object {
  const { id, tenant_id, organisation, number, contact, reference, status, currency, total } = row;
  return { id, tenant_id, organisation, number, contact, reference, status, currency, total };
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
  return {
    id: allocation_id,
    credit_note: credit_note_number,
    invoice: invoice_number,
    amount,
    date: allocated_on,
  };
}
