/**
 * What a person does in the demo ledger by hand, by Xero's API or, if that cannot do it, by the
 * demo ledger's own endpoints: documents by their numbers, contacts by their codes.
 */
import { createHmac } from "node:crypto";
import type pg from "pg";

/** A line as Xero's API has it, without its id and its computed amounts. */
export type ByHandLine = Readonly<Record<string, unknown>> & { readonly Description: string };

/** A person with access to one organisation in the ledger. */
export interface Bookkeeper {
  /** Gives the document this status: `AUTHORISED`, `VOIDED`, `DELETED`. */
  setStatus(number: string, status: string): Promise<void>;
  /** Issues an invoice of one line to a customer, by its code. */
  issue(number: string, code: string, amount: string): Promise<void>;
  /** Changes the members of an invoice (`CurrencyCode`, `DueDate`, `LineAmountTypes`). */
  change(number: string, changes: object): Promise<void>;
  /** Gives an invoice another contact, by its code. */
  readdress(number: string, code: string): Promise<void>;
  /**
   * Replaces the lines of an invoice as other programs do on each edit: without their ids, which
   * the ledger gives again. `edit` returns what stands in place of a line.
   */
  recreate(number: string, edit?: (line: ByHandLine) => object): Promise<void>;
  /** Pays an invoice; by default all that is due. */
  pay(number: string, amount?: string): Promise<void>;
  /** E-mails an invoice to its contact. */
  send(number: string): Promise<void>;
  /** Deletes all payments of an invoice. */
  unpay(number: string): Promise<void>;
  /** Puts credit of a note on an invoice. */
  allocate(note: string, invoice: string, amount: string): Promise<void>;
  /** Takes back all credit of a note that is on an invoice. */
  takeBack(note: string): Promise<void>;
  /** Changes the members of a contact (`Name`, `EmailAddress`, `ContactStatus`). */
  changeContact(code: string, changes: object): Promise<void>;
  mergeContact(code: string, into: string): Promise<void>;
  /** Creates a contact. Returns its id. */
  addContact(code: string, name: string): Promise<string>;
  /** Sets the target of the ledger's webhooks; without an address none are sent. */
  setWebhook(target?: { readonly url: string; readonly key: string }): Promise<void>;
}

/**
 * A person with access to a tenant of the demo ledger at `demoUrl`, whose tables `pool` can read.
 */
export function bookkeeper(pool: pg.Pool, demoUrl: string, tenantId: string): Bookkeeper {
  const idOf = async (
    table: "invoices" | "credit_notes" | "contacts",
    name: string,
  ): Promise<string> => {
    const [id, column] = {
      invoices: ["invoice_id", "number"],
      credit_notes: ["credit_note_id", "number"],
      contacts: ["contact_id", "contact_number"],
    }[table];
    const text = `SELECT ${id} AS id FROM demo_ledger.${table}
      WHERE tenant_id = $1 AND ${column} = $2`;
    const { rows } = await pool.query<{ id: string }>(text, [tenantId, name]);
    if (rows[0] === undefined) throw new Error(`the ledger has no ${name}`);
    return rows[0].id;
  };
  const send = async (method: string, path: string, body?: object): Promise<string> => {
    const isOwn = path.startsWith("/demo/");
    const answer = await fetch(`${demoUrl}${isOwn ? "" : "/api.xro/2.0"}${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(isOwn
          ? {}
          : { authorization: await bearerOf(pool, tenantId), "xero-tenant-id": tenantId }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
  const kindOf = (number: string) => (number.startsWith("CN-") ? "credit_notes" : "invoices");
  const change = async (number: string, changes: object): Promise<void> => {
    await send("POST", `/Invoices/${await idOf("invoices", number)}?unitdp=4`, {
      Invoices: [changes],
    });
  };
  return {
    issue: async (number, code, amount) => {
      const line = { Description: "By hand", Quantity: 1, UnitAmount: Number(amount) };
      const invoice = {
        ...{ Type: "ACCREC", InvoiceNumber: number, Date: "2026-04-01", DueDate: "2026-04-15" },
        Contact: { ContactID: await idOf("contacts", code) },
        LineItems: [{ ...line, AccountCode: "200" }],
      };
      await send("PUT", "/Invoices", { Invoices: [invoice] });
    },
    change,
    readdress: async (number, code) =>
      change(number, { Contact: { ContactID: await idOf("contacts", code) } }),
    recreate: async (number, edit = (line) => line) => {
      const text = await send("GET", `/Invoices/${await idOf("invoices", number)}?unitdp=4`);
      const { LineItems: lines } = JSON.parse(text).Invoices[0] as { LineItems: ByHandLine[] };
      const computed = ["LineItemID", "LineAmount", "TaxAmount", "Tracking", "ValidationErrors"];
      const without = lines.map((line) =>
        Object.fromEntries(Object.entries(line).filter(([name]) => !computed.includes(name))),
      ) as ByHandLine[];
      await change(number, { LineItems: without.map(edit) });
    },
    setStatus: async (number, status) => {
      const member = kindOf(number) === "invoices" ? "Invoices" : "CreditNotes";
      await send("POST", `/${member}/${await idOf(kindOf(number), number)}`, {
        [member]: [{ Status: status }],
      });
    },
    pay: async (number, amount) => {
      const path = `/demo/tenants/${tenantId}/invoices/${await idOf("invoices", number)}/payments`;
      await send("POST", path, amount === undefined ? {} : { amount });
    },
    send: async (number) => {
      await send(
        "POST",
        `/demo/tenants/${tenantId}/invoices/${await idOf("invoices", number)}/send`,
        {},
      );
    },
    unpay: async (number) => {
      const text = `SELECT payment_id FROM demo_ledger.payments WHERE invoice_id = $1
          AND status = 'AUTHORISED'`;
      const { rows } = await pool.query<{ payment_id: string }>(text, [
        await idOf("invoices", number),
      ]);
      for (const row of rows)
        await send("POST", `/demo/tenants/${tenantId}/payments/${row.payment_id}/remove`, {});
    },
    allocate: async (note, invoice, amount) => {
      const allocation = {
        Invoice: { InvoiceID: await idOf("invoices", invoice) },
        Amount: Number(amount),
        Date: "2026-04-12",
      };
      await send("PUT", `/CreditNotes/${await idOf("credit_notes", note)}/Allocations`, {
        Allocations: [allocation],
      });
    },
    takeBack: async (note) => {
      const noteId = await idOf("credit_notes", note);
      const text =
        "SELECT allocation_id FROM demo_ledger.credit_allocations WHERE credit_note_id = $1";
      const { rows } = await pool.query<{ allocation_id: string }>(text, [noteId]);
      for (const row of rows)
        await send("DELETE", `/CreditNotes/${noteId}/Allocations/${row.allocation_id}`);
    },
    changeContact: async (code, changes) => {
      await send("POST", `/Contacts/${await idOf("contacts", code)}`, { Contacts: [changes] });
    },
    mergeContact: async (code, into) => {
      const path = `/demo/tenants/${tenantId}/contacts/${await idOf("contacts", code)}/merge`;
      await send("POST", path, { into: await idOf("contacts", into) });
    },
    addContact: async (code, name) => {
      await send("PUT", "/Contacts", {
        Contacts: [{ Name: name, ContactNumber: code, EmailAddress: "new@example.com" }],
      });
      return idOf("contacts", code);
    },
    setWebhook: async (target = undefined) =>
      void (await send("POST", `/demo/tenants/${tenantId}/webhook`, target ?? {})),
  };
}

/** The demo ledger's tokens are signed, not stored: one for the tenant's own connection. */
/** What lets a client in at an organisation of the demo ledger for a minute. */
export async function bearerOf(pool: pg.Pool, tenantId: string): Promise<string> {
  const text = "SELECT secret_hash FROM demo_ledger.tenants WHERE tenant_id = $1";
  const { rows } = await pool.query<{ secret_hash: string }>(text, [tenantId]);
  const content = `${tenantId}.${Date.now() + 60_000}`;
  return `Bearer demo.${content}.${createHmac("sha256", rows[0]?.secret_hash ?? "")
    .update(content)
    .digest("base64url")}`;
}
