/**
 * Allocations of a note's credit to invoices, and their removal. Both lock the credit note first
 * and then the invoices by id. So concurrent requests wait for each other and never spend the same
 * credit or amount due twice.
 */
import { randomUUID } from "node:crypto";
import {
  decimalTextOf,
  isDecimalText,
  scaledOf,
} from "../../../../src/ledger/port/decimal-text.ts";
import {
  type ExactObject,
  filledTextOf,
  objectOf,
} from "../../../../src/ledger/port/exact-json.ts";
import type { Queryable } from "../database.ts";
import {
  loadAllocations,
  type NewAllocation,
  presentNewAllocation,
  presentRemovedAllocation,
} from "../documents/allocation-rows.ts";
import { type CreditNoteRow, remainingCreditOf } from "../documents/credit-note-rows.ts";
import { creditNoteNames } from "../documents/credit-note-rules.ts";
import { dateOf, todayIn } from "../documents/document-dates.ts";
import { wrongStatus } from "../documents/document-rules.ts";
import { loadDocument, selectedOf } from "../documents/document-store.ts";
import { amountDueOf, type InvoiceRow } from "../documents/invoice-rows.ts";
import { type DemoAnswer, jsonAnswer, notFoundAnswer, validationAnswer } from "./answers.ts";
import {
  type ApiRequest,
  finishedAnswer,
  isSummarised,
  readElements,
  refusedEcho,
} from "./api-request.ts";
import { isUuid } from "./contact-rows.ts";
import { creditNotes } from "./credit-notes.ts";
import { invoices } from "./invoices.ts";

// Xero's texts as far as they are known. The other refusals have our words.
const aboveOutstanding =
  "Credit Note cannot be allocated as amount is greater than amount outstanding";
const alreadyPaid = "The invoice you are trying to allocate to has already been paid off";
const otherContact = "Credit Note cannot be allocated to an invoice of another contact";
const otherCurrency = "Credit Note cannot be allocated to an invoice in another currency";
const noInvoice = "Invoice could not be found";
const noAmount = "Amount must be above zero";
const noDate = "The Date is not a valid date.";

/**
 * `PUT /CreditNotes/{id}/Allocations`: adds allocations to the existing ones. The answer has no
 * ids.
 */
export async function createAllocations(
  request: ApiRequest,
  client: Queryable,
  id: string,
): Promise<DemoAnswer> {
  const read = readElements(request, "Allocations");
  if (!("kind" in read)) return read;
  const note = await lockCreditNote(request, client, id);
  if (!note) return notFoundAnswer();
  const wanted = read.elements.map((sent) => ({ sent, invoiceId: invoiceIdOf(sent) }));
  const ids = wanted.map(({ invoiceId }) => invoiceId);
  const validate = createDocumentValidation(
    request,
    note,
    await lockInvoices(request, client, ids),
  );
  const validated = wanted.map(({ sent, invoiceId }) => ({
    sent,
    outcome: validate(sent, invoiceId),
  }));
  const good = validated.flatMap(({ outcome }) => ("messages" in outcome ? [] : [outcome]));
  if (good.length === validated.length || !isSummarised(request)) {
    await insertAllocations(client, request.tenant.tenantId, note.id, good);
  }
  return finishedAnswer(
    request,
    "Allocations",
    validated.map(({ sent, outcome }) =>
      "messages" in outcome
        ? { kind: "refused", element: refusedEcho(sent, outcome.messages) }
        : { kind: "created", element: presentNewAllocation(outcome, note.id) },
    ),
  );
}

/**
 * `DELETE /CreditNotes/{id}/Allocations/{id}`: returns the credit. The note and the invoice are
 * open again.
 */
export async function removeAllocation(
  request: ApiRequest,
  client: Queryable,
  id: string,
  allocationId: string,
): Promise<DemoAnswer> {
  const note = await lockCreditNote(request, client, id);
  if (!note) return notFoundAnswer();
  const own = await loadAllocations(client, "credit_note_id", [note.id]);
  const allocation = own.find((one) => one.allocation_id === allocationId.toLowerCase());
  if (!allocation) return notFoundAnswer();
  const messages = request.refusalOf(
    note.number,
    note.id,
    allocation.allocation_id,
    allocation.invoice_id,
  );
  if (messages.length > 0) {
    return validationAnswer([refusedEcho({ AllocationID: allocation.allocation_id }, messages)]);
  }
  await lockInvoices(request, client, [allocation.invoice_id]);
  await client.query(
    "delete from demo_ledger.credit_allocations where tenant_id = $1 and allocation_id = $2",
    [request.tenant.tenantId, allocation.allocation_id],
  );
  await recordSums(client, request.tenant.tenantId, note.id, [allocation.invoice_id]);
  return jsonAnswer(200, presentRemovedAllocation(allocation));
}

type AllocationOutcome = NewAllocation | { readonly messages: readonly string[] };

// Validates one allocation after the other, each by the credit and the amount due that earlier ones
// left.
function createDocumentValidation(
  request: ApiRequest,
  note: CreditNoteRow,
  locked: readonly InvoiceRow[],
): (sent: ExactObject, invoiceId: string) => AllocationOutcome {
  const byId = new Map(locked.map((invoice) => [invoice.id, invoice]));
  const due = new Map(locked.map((invoice) => [invoice.id, scaledOf(amountDueOf(invoice), 2)]));
  let remaining = scaledOf(remainingCreditOf(note), 2);
  return (sent, invoiceId) => {
    const text = filledTextOf(sent.Amount) ?? "";
    const amount = isDecimalText(text) ? scaledOf(text, 2) : 0n;
    const allocatedOn = dateOf(sent.Date, todayIn(request.tenant.timezone));
    const open = due.get(invoiceId) ?? 0n;
    const invoice = byId.get(invoiceId);
    const closed = closedFaults(note, invoice);
    const messages = [
      ...closed,
      ...(closed.length === 0 && invoice ? pairFaults(note, invoice) : []),
      ...(closed.length === 0 && amount > (remaining < open ? remaining : open)
        ? [aboveOutstanding]
        : []),
      ...(amount <= 0n ? [noAmount] : []),
      ...(allocatedOn ? [] : [noDate]),
      ...request.refusalOf(note.number, note.id, invoiceId),
    ];
    if (messages.length > 0 || !allocatedOn) return { messages };
    remaining -= amount;
    due.set(invoiceId, open - amount);
    return { id: randomUUID(), invoiceId, amount: decimalTextOf(amount, 2), allocatedOn };
  };
}

// The faults of documents that take no credit, whatever the amount.
function closedFaults(note: CreditNoteRow, invoice: InvoiceRow | undefined): readonly string[] {
  // A note without remaining credit is PAID: the refusal is then about the amount.
  if (note.status !== "AUTHORISED" && note.status !== "PAID") return [wrongStatus(creditNoteNames)];
  if (!invoice) return [noInvoice];
  return invoice.status === "AUTHORISED" || invoice.status === "PAID"
    ? []
    : [wrongStatus({ title: "Invoice" })];
}

function pairFaults(note: CreditNoteRow, invoice: InvoiceRow): readonly string[] {
  return [
    ...(invoice.status === "PAID" ? [alreadyPaid] : []),
    ...(invoice.contact_id === note.contact_id ? [] : [otherContact]),
    ...(invoice.currency === note.currency ? [] : [otherCurrency]),
  ];
}

function lockCreditNote(
  request: ApiRequest,
  client: Queryable,
  id: string,
): Promise<CreditNoteRow | undefined> {
  return loadDocument<CreditNoteRow>(
    client,
    creditNotes.table,
    request.tenant.tenantId,
    id,
    "for update",
  );
}

async function lockInvoices(
  request: ApiRequest,
  client: Queryable,
  ids: readonly string[],
): Promise<readonly InvoiceRow[]> {
  const { rows } = await client.query<InvoiceRow>(
    `select ${selectedOf(invoices.table)} from demo_ledger.invoices
     where tenant_id = $1 and invoice_id = any($2::uuid[]) order by invoice_id for update`,
    [request.tenant.tenantId, ids.filter(isUuid)],
  );
  return rows;
}

function invoiceIdOf(sent: ExactObject): string {
  return (filledTextOf(objectOf(sent.Invoice)?.InvoiceID) ?? "").toLowerCase();
}

async function insertAllocations(
  client: Queryable,
  tenantId: string,
  creditNoteId: string,
  allocations: readonly NewAllocation[],
): Promise<void> {
  if (allocations.length === 0) return;
  await client.query(
    `insert into demo_ledger.credit_allocations
       (allocation_id, tenant_id, credit_note_id, invoice_id, amount, allocated_on)
     select id, $1, $2, "invoiceId", amount, "allocatedOn"
     from jsonb_to_recordset($3::jsonb) as draft (id uuid, "invoiceId" uuid, amount numeric,
       "allocatedOn" text)`,
    [tenantId, creditNoteId, JSON.stringify(allocations)],
  );
  const touched = allocations.map(({ invoiceId }) => invoiceId);
  await recordSums(client, tenantId, creditNoteId, touched);
}

// Records the sums of both sides from the existing allocations, and the statuses that follow. The
// rows are locked. The tables' checks refuse a sum above the total.
async function recordSums(
  client: Queryable,
  tenantId: string,
  creditNoteId: string,
  invoiceIds: readonly string[],
): Promise<void> {
  await client.query(
    `update demo_ledger.credit_notes n set amount_allocated = s.allocated,
       status = case when s.allocated = n.total then 'PAID' else 'AUTHORISED' end,
       fully_paid_on = case when s.allocated = n.total then s.last_on end,
       updated_at = date_trunc('milliseconds', clock_timestamp())
     from (select coalesce(sum(amount), 0) as allocated, max(allocated_on) as last_on
           from demo_ledger.credit_allocations where credit_note_id = $2) as s
     where n.tenant_id = $1 and n.credit_note_id = $2`,
    [tenantId, creditNoteId],
  );
  await client.query(
    `update demo_ledger.invoices i set amount_credited = s.credited,
       status = case when i.amount_paid + s.credited = i.total then 'PAID' else 'AUTHORISED' end,
       fully_paid_on = case when i.amount_paid + s.credited = i.total then s.last_on end,
       updated_at = date_trunc('milliseconds', clock_timestamp())
     from (select touched.id,
             (select coalesce(sum(amount), 0) from demo_ledger.credit_allocations
               where invoice_id = touched.id) as credited,
             greatest((select max(allocated_on) from demo_ledger.credit_allocations
               where invoice_id = touched.id),
               (select max(paid_on) from demo_ledger.payments where invoice_id = touched.id
                 and status = 'AUTHORISED')) as last_on
           from (select distinct unnest($2::uuid[]) as id) as touched) as s
     where i.tenant_id = $1 and i.invoice_id = s.id`,
    [tenantId, invoiceIds],
  );
}
