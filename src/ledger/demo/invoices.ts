/** Invoices of the demo ledger: list, get, create many in few statements, update. Facts: facts-ledger section 1.3. */
import { randomUUID } from "node:crypto";
import type { ExactObject } from "../exact-json.ts";
import { badRequestAnswer, type DemoAnswer, listAnswer, notFoundAnswer, validationAnswer } from "./answers.ts";
import {
  type ApiRequest,
  isSummarised,
  readElements,
  refusedElement,
  type Settled,
  settledAnswer,
} from "./api-request.ts";
import { type ContactRow, isUuid, presentContact } from "./contacts.ts";
import { inSavepoint, type Queryable, violatedIndex } from "./database.ts";
import { type InvoiceRow, type PaymentRow, presentInvoice } from "./invoice-rows.ts";
import { type InvoiceValues, type JudgedInvoice, judgeChange, judgeNew } from "./invoice-rules.ts";
import { clausesOf, paginationOf, readListQuery } from "./list-query.ts";

const columns = {
  id: "invoice_id",
  fields: {
    InvoiceID: "invoice_id",
    InvoiceNumber: "number",
    Reference: "reference",
    Type: "'ACCREC'",
    Status: "status",
    "Contact.ContactID": "contact_id",
    Url: "url",
    Date: "issue_date",
    DueDate: "due_date",
    UpdatedDateUTC: "updated_at",
  },
} as const;

const listFilters = { IDs: "invoice_id", InvoiceNumbers: "number", ContactIDs: "contact_id", Statuses: "status" };

const numberTaken = "Invoice # must be unique.";
const noContact = "A Contact must be specified for this type of transaction.";
const contactArchived =
  "The contact with the specified contact details has been archived. The contact must be un-archived before creating new invoices or credit notes.";

/** `GET /Invoices`. Without `page` there are no lines, as in Xero. */
export async function listInvoices(request: ApiRequest): Promise<DemoAnswer> {
  const { tenant, query, modifiedSince, pool } = request;
  const read = readListQuery(tenant.tenantId, query, modifiedSince, columns, listFilters);
  if ("kind" in read) return badRequestAnswer(16, "QueryParseException", read.message);
  const { rows } = await pool.query<InvoiceRow & { found: string }>(
    `select *, count(*) over () as found from demo_ledger.invoices ${clausesOf(read)}`,
    [...read.values],
  );
  const elements = await presentAll(request.pool, tenant.tenantId, rows, read.page !== null);
  return listAnswer("Invoices", elements, paginationOf(read, Number(rows[0]?.found ?? 0)));
}

/** `GET /Invoices/{id or number}`. */
export async function getInvoice(request: ApiRequest, id: string): Promise<DemoAnswer> {
  const { rows } = await request.pool.query<InvoiceRow>(
    `select * from demo_ledger.invoices where tenant_id = $1 and ${isUuid(id) ? "invoice_id" : "number"} = $2`,
    [request.tenant.tenantId, id],
  );
  if (rows.length === 0) return notFoundAnswer();
  return listAnswer("Invoices", await presentAll(request.pool, request.tenant.tenantId, rows, true));
}

interface Draft {
  readonly id: string;
  readonly sent: ExactObject;
  readonly values: InvoiceValues;
  readonly messages: readonly string[];
}

/** `PUT /Invoices`: one or many new invoices, in one statement for the contacts and one for the documents. */
export async function createInvoices(request: ApiRequest, client: Queryable): Promise<DemoAnswer> {
  const read = readElements(request, "Invoices");
  if (!("kind" in read)) return read;
  const { tenantId } = request.tenant;
  const judged = read.elements.map((sent) => ({ sent, ...judgeNew(request.tenant, sent, unitPlacesOf(request)) }));
  const contacts = await loadContacts(
    client,
    tenantId,
    judged.map(({ values }) => values.contact_id),
  );
  const drafts = judged.map(
    (one): Draft => ({
      id: randomUUID(),
      sent: one.sent,
      values: one.values,
      messages: [...one.messages, ...contactFaults(contacts, one), ...request.refusalOf(one.values.number ?? "")],
    }),
  );
  const store = async () => {
    const stored = await insertInvoices(
      client,
      tenantId,
      drafts.filter(({ messages }) => messages.length === 0),
    );
    const settled = drafts.map((draft) => settle(draft, stored, contacts));
    const keep = stored.size === drafts.length || !isSummarised(request);
    return { keep, value: settledAnswer(request, "Invoices", settled) };
  };
  return isSummarised(request) ? inSavepoint(client, store) : (await store()).value;
}

/** `POST /Invoices/{id}`: status changes, and edits where the status allows them. */
export async function updateInvoice(request: ApiRequest, client: Queryable, id: string): Promise<DemoAnswer> {
  const read = readElements(request, "Invoices");
  if (!("kind" in read)) return read;
  const [sent = {}] = read.elements;
  const { tenantId } = request.tenant;
  const found = await client.query<InvoiceRow>(
    `select * from demo_ledger.invoices where tenant_id = $1 and ${isUuid(id) ? "invoice_id" : "number"} = $2 for update`,
    [tenantId, id],
  );
  const [current] = found.rows;
  if (!current) return notFoundAnswer();
  const judged = judgeChange(request.tenant, sent, current, unitPlacesOf(request));
  const isMoved = judged.values.contact_id !== current.contact_id;
  const contacts = await loadContacts(client, tenantId, [judged.values.contact_id]);
  const messages = [
    ...judged.messages,
    ...(isMoved ? contactFaults(contacts, judged) : []),
    ...request.refusalOf(current.number, current.invoice_id),
  ];
  const refuse = (reasons: readonly string[]) => {
    const echo = refusedElement("InvoiceID", "HasErrors", sent, reasons);
    return validationAnswer([{ ...echo, InvoiceID: current.invoice_id, InvoiceNumber: current.number }]);
  };
  if (messages.length > 0) return refuse(messages);
  try {
    const changed = await inSavepoint(client, async () => ({
      keep: true,
      value: await changeInvoice(client, tenantId, current, judged.values),
    }));
    return listAnswer("Invoices", await presentAll(client, tenantId, changed, true));
  } catch (error) {
    if (violatedIndex(error) === null) throw error;
    return refuse([numberTaken]);
  }
}

/** Contacts by id; ids that are none are left out. */
async function loadContacts(
  client: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ContactRow>> {
  const { rows } = await client.query<ContactRow>({
    name: "demo-load-contacts",
    text: "select * from demo_ledger.contacts where tenant_id = $1 and contact_id = any($2::uuid[])",
    values: [tenantId, [...new Set(ids.filter(isUuid))]],
  });
  return new Map(rows.map((row) => [row.contact_id, row]));
}

function contactFaults(contacts: ReadonlyMap<string, ContactRow>, { values }: Pick<JudgedInvoice, "values">): string[] {
  const contact = contacts.get(values.contact_id.toLowerCase());
  if (!contact) return [noContact];
  return contact.status === "ACTIVE" ? [] : [contactArchived];
}

function settle(
  draft: Draft,
  stored: ReadonlyMap<string, InvoiceRow>,
  contacts: ReadonlyMap<string, ContactRow>,
): Settled {
  const row = stored.get(draft.id);
  const contact = contacts.get(draft.values.contact_id.toLowerCase());
  if (row && contact) return { kind: "made", element: presentInvoice(row, presentContact(contact)) };
  const messages = draft.messages.length > 0 ? draft.messages : [numberTaken];
  return { kind: "refused", element: refusedElement("InvoiceID", "HasErrors", draft.sent, messages) };
}

// Ordered by number, so that two requests with the same numbers wait for each other instead of deadlocking.
const insertStatement = {
  name: "demo-insert-invoices",
  text: `insert into demo_ledger.invoices (invoice_id, tenant_id, contact_id, number, reference, url, status,
      line_amount_types, currency, issue_date, due_date, sub_total, total_tax, total, sent, lines)
    select invoice_id, $1, contact_id, number, reference, url, status, line_amount_types, currency, issue_date,
      due_date, sub_total, total_tax, total, sent, lines
    from jsonb_to_recordset($2::jsonb) as draft (invoice_id uuid, contact_id uuid, number text, reference text,
      url text, status text, line_amount_types text, currency text, issue_date text, due_date text,
      sub_total numeric, total_tax numeric, total numeric, sent boolean, lines jsonb)
    order by number
    on conflict (tenant_id, number) do nothing
    returning invoice_id, updated_at`,
};

async function insertInvoices(
  client: Queryable,
  tenantId: string,
  drafts: readonly Draft[],
): Promise<ReadonlyMap<string, InvoiceRow>> {
  if (drafts.length === 0) return new Map();
  const unnumbered = drafts.filter(({ values }) => values.number === null).length;
  let next = unnumbered > 0 ? await takeNumbers(client, tenantId, unnumbered) : 0n;
  const rows = drafts.map(({ id, values }) => ({
    ...values,
    invoice_id: id,
    number: values.number ?? `INV-${(next++).toString().padStart(4, "0")}`,
  }));
  const { rows: made } = await client.query<{ invoice_id: string; updated_at: Date }>({
    ...insertStatement,
    values: [tenantId, JSON.stringify(rows)],
  });
  const times = new Map(made.map((row) => [row.invoice_id, row.updated_at]));
  const nothing = { amount_paid: "0.00", amount_credited: "0.00", fully_paid_on: null };
  return new Map(
    rows.flatMap((row) => {
      const updated_at = times.get(row.invoice_id);
      return updated_at ? [[row.invoice_id, { ...row, ...nothing, updated_at }] as const] : [];
    }),
  );
}

async function takeNumbers(client: Queryable, tenantId: string, count: number): Promise<bigint> {
  const { rows } = await client.query<{ first: string }>(
    "update demo_ledger.tenants set next_number = next_number + $2 where tenant_id = $1 returning next_number - $2 as first",
    [tenantId, count],
  );
  return BigInt(rows[0]?.first ?? 1);
}

async function changeInvoice(
  client: Queryable,
  tenantId: string,
  current: InvoiceRow,
  values: InvoiceValues,
): Promise<readonly InvoiceRow[]> {
  const { rows } = await client.query<InvoiceRow>({
    name: "demo-change-invoice",
    text: `update demo_ledger.invoices set contact_id = $3, number = $4, reference = $5, url = $6, status = $7,
        line_amount_types = $8, currency = $9, issue_date = $10, due_date = $11, sub_total = $12, total_tax = $13,
        total = $14, sent = $15, lines = $16::jsonb, updated_at = date_trunc('milliseconds', clock_timestamp())
      where tenant_id = $1 and invoice_id = $2 returning *`,
    values: [
      tenantId,
      current.invoice_id,
      values.contact_id,
      values.number,
      values.reference,
      values.url,
      values.status,
      values.line_amount_types,
      values.currency,
      values.issue_date,
      values.due_date,
      values.sub_total,
      values.total_tax,
      values.total,
      values.sent,
      JSON.stringify(values.lines),
    ],
  });
  return rows;
}

async function presentAll(
  client: Queryable,
  tenantId: string,
  rows: readonly InvoiceRow[],
  withLines: boolean,
): Promise<readonly object[]> {
  const contacts = await loadContacts(
    client,
    tenantId,
    rows.map((row) => row.contact_id),
  );
  const paid = rows.filter((row) => Number(row.amount_paid) !== 0).map((row) => row.invoice_id);
  const payments = paid.length > 0 ? await loadPayments(client, paid) : [];
  return rows.map((row) => {
    const contact = contacts.get(row.contact_id);
    const own = payments.filter((payment) => payment.invoice_id === row.invoice_id);
    return presentInvoice(row, contact ? presentContact(contact) : {}, own, withLines);
  });
}

async function loadPayments(client: Queryable, invoiceIds: readonly string[]): Promise<readonly PaymentRow[]> {
  const { rows } = await client.query<PaymentRow>(
    "select payment_id, invoice_id, amount, paid_on from demo_ledger.payments where invoice_id = any($1::uuid[]) order by created_at",
    [invoiceIds],
  );
  return rows;
}

// Without unitdp=4 Xero keeps two places of a unit amount.
function unitPlacesOf(request: ApiRequest): number {
  return request.query.get("unitdp") === "4" ? 4 : 2;
}
