/**
 * Assumptions of the demo ledger that nobody has proved of Xero. Each is checked against the demo
 * ledger, and against a Xero Demo Company if its credentials are set. A failure is a finding.
 */
import { beforeAll, describe, expect, test } from "vitest";
import {
  aCall,
  contactDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { type Element, messagesOf, type Sent } from "../../../packages/demo-ledger/test/request.ts";
import { cleaningMs, type XeroPlace } from "./places.ts";

/**
 * The points as tests of an open place. `opened` is called once they run. The last test removes the
 * documents that the others created.
 */
export function describeOpenPoints(opened: () => XeroPlace): void {
  describe("what is assumed of Xero:", () => openPoints(opened));
}

function openPoints(opened: () => XeroPlace): void {
  let place: XeroPlace;
  let contacts: readonly string[];

  beforeAll(async () => {
    place = opened();
    const made = okOf(
      await place.ledger.createContacts(aCall("points"), [contactDraft(), contactDraft()]),
    );
    contacts = made.map((answer) => okOf(answer).id);
  });

  const line = {
    Description: "Work",
    Quantity: 1,
    UnitAmount: 40,
    AccountCode: "200",
    TaxType: "NONE",
  };
  const aNumber = () => `OP-${crypto.randomUUID().slice(0, 13)}`;
  const documentOf = (changes: object) => ({
    ...{ Contact: { ContactID: contacts[0] }, Date: "2026-03-01", LineItems: [line], ...changes },
  });
  const invoiceOf = (changes: object) =>
    documentOf({
      ...{ Type: "ACCREC", InvoiceNumber: aNumber(), DueDate: "2026-03-15" },
      ...changes,
    });
  const put = (...documents: readonly object[]) =>
    place.xero.send("PUT", "Invoices", { Invoices: documents });
  const post = (path: string, Status: string) =>
    place.xero.send("POST", path, { [path.split("/")[0] ?? ""]: [{ Status }] });

  async function invoice(changes: object): Promise<Element> {
    const { status, body } = await put(invoiceOf(changes));
    const [made] = body.Invoices ?? [];
    if (status !== 200 || !made) throw new Error(`no invoice: ${status} ${JSON.stringify(body)}`);
    return made;
  }

  async function note(changes: object = {}): Promise<Element> {
    const draft = documentOf({
      ...{ Type: "ACCRECCREDIT", CreditNoteNumber: aNumber(), Status: "AUTHORISED" },
      ...changes,
    });
    const { status, body } = await place.xero.send("PUT", "CreditNotes", { CreditNotes: [draft] });
    const [made] = body.CreditNotes ?? [];
    if (status !== 200 || !made)
      throw new Error(`no credit note: ${status} ${JSON.stringify(body)}`);
    return made;
  }

  const allocate = (from: Element, to: Element, Amount: number) => {
    const Allocations = [{ Invoice: { InvoiceID: to.InvoiceID }, Amount, Date: "2026-03-10" }];
    return place.xero.send("PUT", `CreditNotes/${from.CreditNoteID}/Allocations`, { Allocations });
  };

  const textOf = (sent: Sent) => `${sent.status} ${messagesOf(sent).join(" ")}`;

  test("an invoice that waits for approval does not become a draft again", async () => {
    const { InvoiceID } = await invoice({ Status: "SUBMITTED" });
    expect((await post(`Invoices/${InvoiceID}`, "DRAFT")).status).toBe(400);
  });

  test.each([
    ["DRAFT", "DELETED"],
    ["AUTHORISED", "VOIDED"],
  ])("the number of an invoice that was %s and is %s is not free again", async (from, to) => {
    const InvoiceNumber = aNumber();
    const { InvoiceID } = await invoice({ InvoiceNumber, Status: from });
    expect((await post(`Invoices/${InvoiceID}`, to)).status).toBe(200);
    expect(textOf(await put(invoiceOf({ InvoiceNumber })))).toMatch(/^400 .*must be unique/);
  });

  test("half a penny of units times price is rounded up", async () => {
    const lines = [1.5, 0.5, 2.5].map((Quantity) => ({ ...line, Quantity, UnitAmount: 10.95 }));
    const { LineItems } = await invoice({ LineItems: lines });
    expect(LineItems.map((one) => (one as { readonly LineAmount?: number }).LineAmount)).toEqual([
      16.43, 5.48, 27.38,
    ]);
  });

  test("credit notes are found by their number", async () => {
    const { CreditNoteNumber, CreditNoteID } = await note();
    const query = new URLSearchParams({
      where: `CreditNoteNumber=="${CreditNoteNumber}"`,
      page: "1",
    });
    const { body } = await place.xero.send("GET", `CreditNotes?${query}`);
    expect(body.CreditNotes?.map((one) => one.CreditNoteID)).toEqual([CreditNoteID]);
  });

  test("an invoice may lead to an address of this machine", async () => {
    const Url = "http://localhost:8080/v1/invoices/1";
    expect((await put(invoiceOf({ Url }))).status).toBe(200);
  });

  test("a token of one organisation needs no tenant header", async () => {
    expect(
      (await place.xero.send("GET", "Organisation", undefined, { "xero-tenant-id": "" })).status,
    ).toBe(200);
  });

  test("without `summarizeErrors`, a list with one refusal is refused", async () => {
    const InvoiceNumber = aNumber();
    expect(
      (await put(invoiceOf({ InvoiceNumber }), invoiceOf({ CurrencyCode: "ZMW" }))).status,
    ).toBe(400);
    const query = new URLSearchParams({ InvoiceNumbers: InvoiceNumber, page: "1" });
    const found = (await place.xero.send("GET", `Invoices?${query}`)).body.Invoices ?? [];
    expect(found.map((one) => one.InvoiceNumber)).toEqual([InvoiceNumber]);
    expect((await post(`Invoices/${found[0]?.InvoiceID}`, "DELETED")).status).toBe(200);
  });

  test("a note with credit in use is not voided, and excess credit is refused", async () => {
    const [from, to] = [await note(), await invoice({ Status: "AUTHORISED" })];
    const others = await invoice({ Status: "AUTHORISED", Contact: { ContactID: contacts[1] } });
    expect((await allocate(from, others, 1)).status).toBe(400);
    expect((await allocate(from, to, 41)).status).toBe(400);
    expect((await allocate(from, to, 40)).status).toBe(200);
    expect((await post(`CreditNotes/${from.CreditNoteID}`, "VOIDED")).status).toBe(400);
    const voiding = await post(`Invoices/${to.InvoiceID}`, "VOIDED");
    expect(voiding.status).toBe(400);
  });

  test("every created document is removed again", {
    timeout: cleaningMs,
  }, async () => {
    expect(await place.xero.clean()).toEqual([]);
    const since = new Date(Date.now() - 10 * 60_000).toISOString();
    const { changes } = okOf(await place.ledger.listChanges(aCall(), { kind: "invoices", since }));
    const ours = changes.filter(({ contactId }) => contacts.includes(contactId));
    expect(ours.length).toBeGreaterThan(5);
    expect(ours.filter(({ status }) => status !== "voided" && status !== "deleted")).toEqual([]);
    const observed = okOf(
      await place.ledger.getMany(aCall(), { kind: "contacts", ids: contacts }),
    ).found;
    expect(observed.map(({ status }) => status)).toEqual(["archived", "archived"]);
  });
}
