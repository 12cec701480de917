/** Xero's own client drives the demo ledger: the demo ledger speaks Xero's contract. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import xeroNode from "xero-node";
import {
  addLedgerContact,
  api,
  createCreditNote,
  createInvoice,
  readCreditNote,
  readInvoice,
  startXeroNode,
  stopXeroNode,
  tenant,
} from "./xero-node-fixture.ts";

const { Contact, CreditNote, Invoice } = xeroNode;

beforeAll(startXeroNode);
afterAll(stopXeroNode);

describe("xero-node", () => {
  test("creates a contact, reads it, archives it", async () => {
    const contactID = await addLedgerContact();
    const read = await api.getContact(tenant(), contactID);
    expect(read.body.contacts?.[0]).toMatchObject({ contactID, emailAddress: "node@example.com" });
    const status = Contact.ContactStatusEnum.ARCHIVED;
    const changed = await api.updateContact(tenant(), contactID, {
      contacts: [{ contactID, contactStatus: status }],
    });
    expect(changed.body.contacts?.[0]?.contactStatus).toBe(status);
  });

  test("creates an invoice with exact amounts and reads it with its lines", async () => {
    const created = await createInvoice(Invoice.StatusEnum.AUTHORISED, await addLedgerContact());
    expect(created).toMatchObject({
      status: "AUTHORISED",
      subTotal: 39.99,
      totalTax: 8,
      total: 47.99,
      amountDue: 47.99,
    });
    const read = await api.getInvoice(tenant(), created?.invoiceID ?? "", 4);
    const [invoice] = read.body.invoices ?? [];
    expect(invoice?.lineItems?.[0]).toMatchObject({
      description: "Guitar",
      unitAmount: 19.9955,
      lineAmount: 39.99,
    });
    expect(new Date(invoice?.date ?? "").toISOString()).toBe("2026-03-01T00:00:00.000Z");
  });

  test("lists what changed since a time, and nothing before it", async () => {
    const created = await createInvoice(Invoice.StatusEnum.DRAFT, await addLedgerContact());
    const since = (date: Date) =>
      api.getInvoices(
        tenant(),
        date,
        undefined,
        undefined,
        [],
        [],
        [],
        ["DRAFT"],
        1,
        false,
        false,
        4,
      );
    const recent = await since(new Date(Date.now() - 60_000));
    expect(recent.body.invoices?.map(({ invoiceID }) => invoiceID)).toContain(created?.invoiceID);
    expect(recent.body.pagination).toMatchObject({ page: 1 });
    expect((await since(new Date(Date.now() + 60_000))).body.invoices).toEqual([]);
    const contacts = (date: Date) =>
      api.getContacts(tenant(), date, undefined, undefined, undefined, 1, true);
    const changed = (await contacts(new Date(Date.now() - 60_000))).body.contacts?.map(
      ({ contactID }) => contactID,
    );
    expect(changed).toContain(created?.contact?.contactID);
    expect((await contacts(new Date(Date.now() + 60_000))).body.contacts).toEqual([]);
  });

  test("finds an invoice by its number", async () => {
    const created = await createInvoice(Invoice.StatusEnum.DRAFT, await addLedgerContact());
    const numbers = [created?.invoiceNumber ?? ""];
    const found = await api.getInvoices(
      tenant(),
      undefined,
      undefined,
      undefined,
      undefined,
      numbers,
    );
    expect(found.body.invoices?.map(({ invoiceID }) => invoiceID)).toEqual([created?.invoiceID]);
  });

  test("approves, edits, voids and deletes", async () => {
    const contactID = await addLedgerContact();
    const draft = await createInvoice(Invoice.StatusEnum.DRAFT, contactID);
    const id = draft?.invoiceID ?? "";
    const approved = await api.updateInvoice(tenant(), id, {
      invoices: [{ status: Invoice.StatusEnum.AUTHORISED, reference: "edited" }],
    });
    expect(approved.body.invoices?.[0]).toMatchObject({
      status: "AUTHORISED",
      reference: "edited",
    });
    const { lineItemID = "" } = approved.body.invoices?.[0]?.lineItems?.[0] ?? {};
    const more = {
      description: "Case",
      quantity: 1,
      unitAmount: 10,
      accountCode: "200",
      taxType: "OUTPUT2",
    };
    const edited = await api.updateInvoice(
      tenant(),
      id,
      { invoices: [{ lineItems: [{ lineItemID, quantity: 1 }, more] }] },
      4,
    );
    expect(edited.body.invoices?.[0]).toMatchObject({
      subTotal: 30,
      totalTax: 6,
      lineItems: [{}, { lineAmount: 10 }],
    });
    expect(edited.body.invoices?.[0]?.lineItems?.[0]?.lineItemID).toBe(lineItemID);
    const voided = await api.updateInvoice(tenant(), id, {
      invoices: [{ status: Invoice.StatusEnum.VOIDED }],
    });
    expect(voided.body.invoices?.[0]).toMatchObject({ status: "VOIDED", amountDue: 0 });
    const other = await createInvoice(Invoice.StatusEnum.DRAFT, contactID);
    const deleted = await api.updateInvoice(tenant(), other?.invoiceID ?? "", {
      invoices: [{ status: Invoice.StatusEnum.DELETED }],
    });
    expect(deleted.body.invoices?.[0]?.status).toBe("DELETED");
  });

  test("reads the reason of a refusal from Xero's error body", async () => {
    const created = await createInvoice(Invoice.StatusEnum.DRAFT, await addLedgerContact());
    const refused = await api
      .updateInvoice(tenant(), created?.invoiceID ?? "", {
        invoices: [{ status: Invoice.StatusEnum.VOIDED }],
      })
      .then(
        () => "accepted",
        (error: string) => error,
      );
    expect(JSON.parse(refused)).toMatchObject({
      response: { statusCode: 400, body: { Type: "ValidationException", ErrorNumber: 10 } },
    });
    expect(refused).toContain("Invoice not of valid status for modification");
  });

  test("creates a credit note with exact amounts and reads it with its lines", async () => {
    const created = await createCreditNote(await addLedgerContact(), 12.3455);
    expect(created).toMatchObject({
      status: "AUTHORISED",
      subTotal: 12.35,
      totalTax: 2.47,
      total: 14.82,
    });
    const note = await readCreditNote(created?.creditNoteID);
    expect(note).toMatchObject({ type: "ACCRECCREDIT", remainingCredit: 14.82, allocations: [] });
    expect(note?.lineItems?.[0]).toMatchObject({
      description: "Returned",
      unitAmount: 12.3455,
      lineAmount: 12.35,
    });
    expect(new Date(note?.date ?? "").toISOString()).toBe("2026-03-05T00:00:00.000Z");
  });

  test("lists credit notes that changed since a time, and finds one by its number", async () => {
    const created = await createCreditNote(await addLedgerContact());
    const since = (date: Date) =>
      api.getCreditNotes(tenant(), date, undefined, "UpdatedDateUTC ASC", 1, 4);
    const recent = await since(new Date(Date.now() - 60_000));
    expect(recent.body.creditNotes?.map(({ creditNoteID }) => creditNoteID)).toContain(
      created?.creditNoteID,
    );
    expect(recent.body.pagination).toMatchObject({ page: 1 });
    expect((await since(new Date(Date.now() + 60_000))).body.creditNotes).toEqual([]);
    const where = `CreditNoteNumber=="${created?.creditNoteNumber}"`;
    const found = await api.getCreditNotes(tenant(), undefined, where, undefined, 1, 4, 1_000);
    expect(found.body.creditNotes).toMatchObject([
      { creditNoteID: created?.creditNoteID, total: 12 },
    ]);
  });

  test("puts credit on an invoice, reads where it went, and takes it back", async () => {
    const contactID = await addLedgerContact();
    const invoice = await createInvoice(Invoice.StatusEnum.AUTHORISED, contactID);
    const { creditNoteID = "" } = (await createCreditNote(contactID)) ?? {};
    const allocation = {
      invoice: { invoiceID: invoice?.invoiceID ?? "" },
      amount: 12,
      date: "2026-03-06",
    };
    const put = await api.createCreditNoteAllocation(
      tenant(),
      creditNoteID,
      { allocations: [allocation] },
      true,
    );
    expect(put.body.allocations).toMatchObject([
      { amount: 12, invoice: { invoiceID: invoice?.invoiceID } },
    ]);
    expect(put.body.allocations?.[0]?.allocationID).toBeUndefined();

    const spent = await readCreditNote(creditNoteID);
    expect(spent).toMatchObject({
      status: "PAID",
      remainingCredit: 0,
      allocations: [
        {
          amount: 12,
          invoice: { invoiceID: invoice?.invoiceID, invoiceNumber: invoice?.invoiceNumber },
        },
      ],
    });
    expect(await readInvoice(invoice?.invoiceID)).toMatchObject({
      amountCredited: 12,
      amountDue: 35.99,
      creditNotes: [{ creditNoteID, appliedAmount: 12 }],
    });

    const allocationID = spent?.allocations?.[0]?.allocationID ?? "";
    const removed = await api.deleteCreditNoteAllocations(tenant(), creditNoteID, allocationID);
    expect(removed.body).toMatchObject({ allocationID, isDeleted: true });
    expect(await readCreditNote(creditNoteID)).toMatchObject({
      status: "AUTHORISED",
      remainingCredit: 12,
      allocations: [],
    });
    expect(await readInvoice(invoice?.invoiceID)).toMatchObject({
      amountCredited: 0,
      amountDue: 47.99,
    });
  });

  test("voids a credit note, and not one whose credit is on an invoice", async () => {
    const contactID = await addLedgerContact();
    const { creditNoteID = "" } = (await createCreditNote(contactID)) ?? {};
    const { invoiceID = "" } =
      (await createInvoice(Invoice.StatusEnum.AUTHORISED, contactID)) ?? {};
    const allocations = [{ invoice: { invoiceID }, amount: 1, date: "2026-03-06" }];
    await api.createCreditNoteAllocation(tenant(), creditNoteID, { allocations });
    const asVoided = { creditNotes: [{ status: CreditNote.StatusEnum.VOIDED }] };
    await expect(api.updateCreditNote(tenant(), creditNoteID, asVoided)).rejects.toContain(
      "credit note allocated",
    );
    const other = await createCreditNote(contactID);
    const voided = await api.updateCreditNote(tenant(), other?.creditNoteID ?? "", asVoided);
    expect(voided.body.creditNotes).toMatchObject([{ status: "VOIDED", remainingCredit: 0 }]);
  });

  test("reads organisation, accounts, tax rates and currencies", async () => {
    const organisations = await api.getOrganisations(tenant());
    expect(organisations.body.organisations?.[0]).toMatchObject({
      name: "Test Ltd",
      baseCurrency: "GBP",
    });
    expect((await api.getAccounts(tenant())).body.accounts?.map(({ code }) => code)).toContain(
      "200",
    );
    expect(
      (await api.getTaxRates(tenant())).body.taxRates?.map(({ taxType }) => taxType),
    ).toContain("OUTPUT2");
    expect(
      (await api.getCurrencies(tenant())).body.currencies?.map(({ code }) => `${code}`),
    ).toContain("GBP");
  });
});
