/** The client `xero-node` with a demo ledger, and the documents that its tests create. */
import xeroNode from "xero-node";
import {
  type DemoLedgerFixture,
  startDemoLedgerFixture,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";

const { AccountingApi, CreditNote, Invoice, LineAmountTypes } = xeroNode;

let demo: DemoLedgerFixture;
let tenantId: string;

/** The client. `startXeroNode` gives it an address and a token. */
export const api = new AccountingApi();

/** Starts a demo ledger and connects the client to it. */
export async function startXeroNode(): Promise<void> {
  demo = await startDemoLedgerFixture();
  const connection = await demo.connect();
  tenantId = connection.tenantId;
  const credentials = Buffer.from(`${connection.clientId}:${connection.clientSecret}`).toString(
    "base64",
  );
  const answer = await fetch(connection.identityUrl, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  api.basePath = connection.baseUrl;
  api.accessToken = ((await answer.json()) as { access_token: string }).access_token;
}

/** Stops the demo ledger. */
export const stopXeroNode = (): Promise<void> => demo.stop();

/** The id of the connected tenant. */
export const tenant = () => tenantId;

/** Creates a contact and returns its id. */
export async function addLedgerContact(): Promise<string> {
  const name = `Node ${crypto.randomUUID()}`;
  const contact = { name, contactNumber: name.slice(0, 41), emailAddress: "node@example.com" };
  const created = await api.createContacts(tenant(), { contacts: [contact] }, true);
  return created.body.contacts?.[0]?.contactID ?? "";
}

/** Creates an invoice of 39.99 without tax. */
export async function createInvoice(
  status: (typeof Invoice.StatusEnum)[keyof typeof Invoice.StatusEnum],
  contactID: string,
) {
  const invoice = {
    type: Invoice.TypeEnum.ACCREC,
    invoiceNumber: `NODE-${crypto.randomUUID()}`,
    contact: { contactID },
    date: "2026-03-01",
    dueDate: "2026-03-31",
    lineAmountTypes: LineAmountTypes.Exclusive,
    lineItems: [
      {
        description: "Guitar",
        quantity: 2,
        unitAmount: 19.9955,
        accountCode: "200",
        taxType: "OUTPUT2",
      },
    ],
    status,
  };
  const created = await api.createInvoices(
    tenant(),
    { invoices: [invoice] },
    true,
    4,
    crypto.randomUUID(),
  );
  return created.body.invoices?.[0];
}

/** Creates a credit note of one line. */
export async function createCreditNote(contactID: string, unitAmount = 10) {
  const creditNote = {
    type: CreditNote.TypeEnum.ACCRECCREDIT,
    creditNoteNumber: `NODE-${crypto.randomUUID()}`,
    contact: { contactID },
    date: "2026-03-05",
    lineAmountTypes: LineAmountTypes.Exclusive,
    lineItems: [
      { description: "Returned", quantity: 1, unitAmount, accountCode: "200", taxType: "OUTPUT2" },
    ],
    status: CreditNote.StatusEnum.AUTHORISED,
  };
  const created = await api.createCreditNotes(
    tenant(),
    { creditNotes: [creditNote] },
    true,
    4,
    crypto.randomUUID(),
  );
  return created.body.creditNotes?.[0];
}

/** Reads a credit note. */
export async function readCreditNote(creditNoteID = "") {
  return (await api.getCreditNote(tenant(), creditNoteID, 4)).body.creditNotes?.[0];
}

/** Reads an invoice. */
export async function readInvoice(invoiceID = "") {
  return (await api.getInvoice(tenant(), invoiceID, 4)).body.invoices?.[0];
}
