/**
 * The demo ledger over plain HTTP, as any client of Xero could: one organisation, one
 * contact, documents on it.
 */
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";

/** An element of an answer, of whatever kind; a member that the kind does not have is undefined. */
export interface Element {
  readonly ContactID: string;
  readonly InvoiceID: string;
  readonly InvoiceNumber: string;
  readonly CreditNoteID: string;
  readonly CreditNoteNumber: string;
  readonly AllocationID: string;
  readonly LineItems: readonly { readonly LineItemID: string }[];
  readonly Allocations: readonly { readonly AllocationID: string; readonly Amount: number }[];
  readonly Total: number;
  readonly ValidationErrors: readonly { readonly Message: string }[];
}

/** The body of an answer, good or bad. */
export interface Body extends Partial<Element> {
  readonly Contacts?: readonly Element[];
  readonly Invoices?: readonly Element[];
  readonly CreditNotes?: readonly Element[];
  readonly Elements?: readonly Element[];
  readonly pagination?: object;
  readonly Message?: string;
}

/** An answer; the body is empty where it was no JSON object. */
export interface Sent {
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
}

/** One organisation of the demo ledger, with a token and a contact. */
export interface DemoHttp {
  readonly connection: XeroConnection;
  readonly contactId: string;
  readonly token: string;
  send(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Sent>;
  /** An invoice of 100.00 without tax as it was made; the error body where it was refused. */
  invoice(changes?: object): Promise<Partial<Element>>;
  /** A credit note of 40.00 without tax as it was made; the error body where it was refused. */
  creditNote(changes?: object): Promise<Partial<Element>>;
  /** Puts credit of a note on invoices. */
  allocate(
    noteId: string | undefined,
    ...onto: readonly (readonly [string | undefined, number])[]
  ): Promise<Sent>;
  readInvoice(id: string | undefined): Promise<Element | undefined>;
  readCreditNote(id: string | undefined): Promise<Element | undefined>;
}

/** The texts of a refusal. */
export function messagesOf(sent: Sent): readonly string[] {
  return (sent.body.Elements ?? []).flatMap((element) =>
    element.ValidationErrors.map(({ Message }) => Message),
  );
}

/** Opens an organisation of the demo ledger, with a new contact in it. */
export async function openDemoHttp(connection: XeroConnection): Promise<DemoHttp> {
  const token = await tokenOf(connection);
  const send: DemoHttp["send"] = async (method, path, body, headers = {}) => {
    const answer = await fetch(`${connection.baseUrl}/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "xero-tenant-id": connection.tenantId,
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text.startsWith("{") ? JSON.parse(text) : {},
      headers: answer.headers,
    };
  };
  const name = `Rules ${crypto.randomUUID()}`;
  const contact = await send("PUT", "Contacts", {
    Contacts: [{ Name: name, ContactNumber: name }],
  });
  const contactId = contact.body.Contacts?.[0]?.ContactID ?? "";
  const line = { Description: "Work", AccountCode: "200", TaxType: "NONE" };
  return {
    connection,
    contactId,
    token,
    send,
    async invoice(changes = {}) {
      const lines = [{ ...line, Quantity: 2, UnitAmount: 50 }];
      const dates = { Date: "2026-05-01", DueDate: "2026-05-31" };
      const draft = {
        Type: "ACCREC",
        InvoiceNumber: crypto.randomUUID(),
        Contact: { ContactID: contactId },
        ...dates,
        LineItems: lines,
        ...changes,
      };
      const { body } = await send("PUT", "Invoices", { Invoices: [draft] });
      return body.Invoices?.[0] ?? body;
    },
    async creditNote(changes = {}) {
      const lines = [{ ...line, Quantity: 1, UnitAmount: 40 }];
      const document = {
        Type: "ACCRECCREDIT",
        CreditNoteNumber: crypto.randomUUID(),
        Contact: { ContactID: contactId },
        Date: "2026-05-02",
      };
      const { body } = await send("PUT", "CreditNotes", {
        CreditNotes: [{ ...document, LineItems: lines, ...changes }],
      });
      return body.CreditNotes?.[0] ?? body;
    },
    allocate(noteId, ...onto) {
      const Allocations = onto.map(([InvoiceID, Amount]) => ({
        Invoice: { InvoiceID },
        Amount,
        Date: "2026-05-03",
      }));
      return send("PUT", `CreditNotes/${noteId}/Allocations`, { Allocations });
    },
    readInvoice: async (id) => (await send("GET", `Invoices/${id}`)).body.Invoices?.[0],
    readCreditNote: async (id) => (await send("GET", `CreditNotes/${id}`)).body.CreditNotes?.[0],
  };
}

async function tokenOf(from: XeroConnection): Promise<string> {
  const credentials = Buffer.from(`${from.clientId}:${from.clientSecret}`).toString("base64");
  const answer = await fetch(from.identityUrl, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}
