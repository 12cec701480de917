/**
 * `/Payments` of the accounting API: list, get, create and delete one. Billing reads payments only
 * from their invoices. Other clients of the ledger record payments here, like an accountant's bank
 * feed.
 */
import { filledTextOf, numberToken, objectOf } from "../../../../src/ledger/port/exact-json.ts";
import { inSnapshot, type Queryable } from "../database.ts";
import { dateOf, issueDateFaults, todayIn } from "../documents/document-dates.ts";
import type { PaymentRow } from "../documents/invoice-rows.ts";
import { deletePayment, recordPayment } from "../documents/payments.ts";
import {
  badRequestAnswer,
  type DemoAnswer,
  listAnswer,
  notFoundAnswer,
  validationAnswer,
  xeroDate,
  xeroInstant,
} from "./answers.ts";
import { type ApiRequest, readElements, refusedElement } from "./api-request.ts";
import { accountOf } from "./chart.ts";
import { isUuid } from "./contact-rows.ts";
import { clausesOf, paginationOf, readListQuery } from "./list-query.ts";

interface StoredPayment extends PaymentRow {
  readonly status: "AUTHORISED" | "DELETED";
  readonly updated_at: Date;
}

interface PaidInvoice {
  readonly invoice_id: string;
  readonly number: string;
  readonly currency: string;
  readonly contact_id: string;
  readonly contact: string;
}

const columns = {
  id: "payment_id",
  fields: {
    PaymentID: "payment_id",
    PaymentType: "'ACCRECPAYMENT'",
    Status: "status",
    Date: "paid_on",
    "Invoice.InvoiceID": "invoice_id",
    UpdatedDateUTC: "updated_at",
  },
  cheap: {
    where: ["PaymentID", "PaymentType", "Status", "Date", "Invoice.InvoiceID"],
    order: ["PaymentID", "Date", "UpdatedDateUTC"],
    or: null,
  },
} as const;

/** `GET /Payments`. A deleted payment is listed too, with the time of its deletion. */
export function listPayments({
  tenant,
  query,
  modifiedSince,
  pool,
}: ApiRequest): Promise<DemoAnswer> {
  const read = readListQuery(tenant.tenantId, query, modifiedSince, columns, {}, []);
  if ("kind" in read)
    return Promise.resolve(badRequestAnswer(16, "QueryParseException", read.message));
  return inSnapshot(pool, async (client) => {
    const { rows } = await client.query<StoredPayment & { found: string }>(
      `select *, count(*) over () as found from demo_ledger.payments ${clausesOf(read)}`,
      [...read.values],
    );
    return listAnswer(
      "Payments",
      await presentPayments(client, rows),
      paginationOf(read, Number(rows[0]?.found ?? 0)),
    );
  });
}

/** `GET /Payments/{id}`. */
export function getPayment({ tenant, pool }: ApiRequest, id: string): Promise<DemoAnswer> {
  return inSnapshot(pool, (client) => readPayment(client, tenant.tenantId, id));
}

/**
 * `PUT` or `POST /Payments`: creates one payment of an approved invoice, at most its amount due.
 */
export async function createPayment(request: ApiRequest, client: Queryable): Promise<DemoAnswer> {
  const read = readElements(request, "Payments");
  if (!("kind" in read)) return read;
  const [sent = {}] = read.elements;
  const { tenant } = request;
  const invoiceId = filledTextOf(objectOf(sent.Invoice)?.InvoiceID) ?? "";
  const paidOn = dateOf(sent.Date, todayIn(tenant.timezone));
  const account = accountOf(filledTextOf(objectOf(sent.Account)?.Code) ?? "");
  const messages = [
    ...(read.elements.length > 1 ? ["The demo ledger takes one payment at a time."] : []),
    ...(account?.type === "BANK" ? [] : ["Account must be valid."]),
    ...issueDateFaults(tenant, paidOn),
    ...request.refusalOf(invoiceId),
  ];
  const refuse = (texts: readonly string[]) =>
    validationAnswer([refusedElement("PaymentID", "HasValidationErrors", sent, texts)]);
  if (messages.length > 0 || !paidOn) return refuse(messages);
  if (!isUuid(invoiceId)) return refuse(["Invoice could not be found"]);
  const paid = await recordPayment(
    client,
    tenant.tenantId,
    invoiceId,
    filledTextOf(sent.Amount) ?? "",
    paidOn,
  );
  switch (paid.kind) {
    case "paid":
      return readPayment(client, tenant.tenantId, paid.paymentId);
    case "not_found":
      return refuse(["Invoice could not be found"]);
    case "refused":
      return refuse([paid.message]);
  }
}

/** `POST /Payments/{id}`: deletes the payment. No other change is possible. */
export async function updatePayment(
  request: ApiRequest,
  client: Queryable,
  id: string,
): Promise<DemoAnswer> {
  const read = readElements(request, "Payments");
  if (!("kind" in read)) return read;
  const [sent = {}] = read.elements;
  const refuse = (text: string) =>
    validationAnswer([
      { ...refusedElement("PaymentID", "HasValidationErrors", sent, [text]), PaymentID: id },
    ]);
  if (!isUuid(id)) return notFoundAnswer();
  if (sent.Status !== "DELETED") return refuse("A payment can only be deleted.");
  switch (await deletePayment(client, request.tenant.tenantId, id)) {
    case "deleted":
      return readPayment(client, request.tenant.tenantId, id);
    case "not_found":
      return notFoundAnswer();
    case "deleted_before":
      return refuse("Payment not of valid status for modification");
  }
}

async function readPayment(client: Queryable, tenantId: string, id: string): Promise<DemoAnswer> {
  if (!isUuid(id)) return notFoundAnswer();
  const { rows } = await client.query<StoredPayment>(
    "select * from demo_ledger.payments where tenant_id = $1 and payment_id = $2",
    [tenantId, id],
  );
  return rows.length === 0
    ? notFoundAnswer()
    : listAnswer("Payments", await presentPayments(client, rows));
}

async function presentPayments(
  client: Queryable,
  payments: readonly StoredPayment[],
): Promise<readonly object[]> {
  const { rows } = await client.query<PaidInvoice>(
    `select i.invoice_id, i.number, i.currency, i.contact_id, c.name as contact
     from demo_ledger.invoices i join demo_ledger.contacts c on c.contact_id = i.contact_id
     where i.invoice_id = any($1::uuid[])`,
    [payments.map((payment) => payment.invoice_id)],
  );
  const invoices = new Map(rows.map((invoice) => [invoice.invoice_id, invoice]));
  return payments.map((payment) => ({
    PaymentID: payment.payment_id,
    PaymentType: "ACCRECPAYMENT",
    Status: payment.status,
    Date: xeroDate(payment.paid_on),
    Amount: numberToken(payment.amount),
    CurrencyRate: numberToken("1"),
    IsReconciled: false,
    UpdatedDateUTC: xeroInstant(payment.updated_at),
    HasAccount: false,
    HasValidationErrors: false,
    Invoice: presentPaid(invoices.get(payment.invoice_id)),
  }));
}

function presentPaid(invoice: PaidInvoice | undefined): object {
  if (!invoice) return {};
  return {
    Type: "ACCREC",
    InvoiceID: invoice.invoice_id,
    InvoiceNumber: invoice.number,
    CurrencyCode: invoice.currency,
    Contact: { ContactID: invoice.contact_id, Name: invoice.contact },
    Payments: [],
    CreditNotes: [],
    Prepayments: [],
    Overpayments: [],
    IsDiscounted: false,
    HasErrors: false,
    LineItems: [],
  };
}
