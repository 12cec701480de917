/** How the demo ledger replaces the lines of a document, and what an edit leaves as it was. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DemoLedgerFixture, startDemoLedgerFixture } from "./demo-ledger-fixture.ts";
import { type DemoHttp, type Element, messagesOf, openDemoHttp } from "./request.ts";

let fixture: DemoLedgerFixture;
let http: DemoHttp;

beforeAll(async () => {
  fixture = await startDemoLedgerFixture();
  http = await openDemoHttp(await fixture.connect());
});
afterAll(() => fixture.stop());

const line = { Quantity: 1, UnitAmount: 10, AccountCode: "200", TaxType: "NONE" };
const send: DemoHttp["send"] = (...request) => http.send(...request);
const edit = (id: string | undefined, changes: object) =>
  send("POST", `Invoices/${id}?unitdp=4`, changes);
const idsOf = (document: Partial<Element> | undefined) =>
  (document?.LineItems ?? []).map((one) => one.LineItemID);
const pay = (id: string | undefined, amount?: number) =>
  fixture.admin(`tenants/${http.connection.tenantId}/invoices/${id}/payments`, {
    amount,
    date: "2026-05-09",
  });

describe.each([
  ["Invoices", () => http.invoice({ LineItems: twoLines })],
  ["CreditNotes", () => http.creditNote({ LineItems: twoLines })],
] as const)("lines of %s", (resource, make) => {
  test("an update keeps the lines it names, adds lines without id, drops the others", async () => {
    const made = await make();
    const id = made.InvoiceID ?? made.CreditNoteID;
    const [first, second] = idsOf(made);
    const changed = await send("POST", `${resource}/${id}`, {
      LineItems: [
        { LineItemID: first, Quantity: 3 },
        { ...line, Description: "third" },
      ],
    });
    const [after] = changed.body[resource] ?? [];
    expect(after?.LineItems).toMatchObject([
      { LineItemID: first, Description: "first", Quantity: 3, LineAmount: 30 },
      { Description: "third", LineAmount: 10 },
    ]);
    expect(after?.Total).toBe(40);
    expect([first, second]).not.toContain(idsOf(after)[1]);
    const [read] = (await send("GET", `${resource}/${id}`)).body[resource] ?? [];
    expect(idsOf(read)).toEqual(idsOf(after));
  });

  test("a line of another document, or named twice, is refused and nothing changes", async () => {
    const [made, other] = [await make(), await make()];
    const id = made.InvoiceID ?? made.CreditNoteID;
    const [first] = idsOf(made);
    const foreign = await send("POST", `${resource}/${id}`, {
      LineItems: [{ LineItemID: idsOf(other)[0] }],
    });
    expect(messagesOf(foreign)).toEqual([
      expect.stringContaining("is not a line of this document"),
    ]);
    const twice = await send("POST", `${resource}/${id}`, {
      LineItems: [{ LineItemID: first }, { LineItemID: first?.toUpperCase() }],
    });
    expect(messagesOf(twice)).toEqual([expect.stringContaining("two lines")]);
    const none = await send("POST", `${resource}/${id}`, { LineItems: [] });
    expect(messagesOf(none)).toEqual(["One or more line items must be specified."]);
    const [read] = (await send("GET", `${resource}/${id}`)).body[resource] ?? [];
    expect(idsOf(read)).toEqual(idsOf(made));
  });
});

const twoLines = [
  { ...line, Description: "first" },
  { ...line, Description: "second" },
];

describe("amounts", () => {
  test("tax is rounded per line and then summed", async () => {
    const cents = { ...line, Description: "x", UnitAmount: 0.13, TaxType: "OUTPUT2" };
    const LineItems = [cents, cents, cents];
    expect(await http.invoice({ LineItems })).toMatchObject({ SubTotal: 0.39, TotalTax: 0.09 });
    expect(await http.creditNote({ LineItems })).toMatchObject({
      SubTotal: 0.39,
      TotalTax: 0.09,
      RemainingCredit: 0.48,
    });
  });

  test("a LineAmount that is not the product is refused", async () => {
    const LineItems = [{ ...line, Description: "x", Quantity: 2, LineAmount: 21 }];
    expect(await http.invoice({ LineItems })).toMatchObject({ Type: "ValidationException" });
    expect(await http.creditNote({ LineItems })).toMatchObject({ Type: "ValidationException" });
  });

  test("a sent tax amount survives every edit that does not change its basis", async () => {
    const taxed = { ...line, Description: "Taxed", TaxType: "OUTPUT2", TaxAmount: 1.97 };
    const made = await http.invoice({ LineItems: [taxed], Status: "AUTHORISED" });
    expect(made).toMatchObject({ TotalTax: 1.97, Total: 11.97 });
    await pay(made.InvoiceID, 5);
    const [LineItemID] = idsOf(made);
    const edits = [
      { Reference: "new" },
      { LineItems: [{ LineItemID, Description: "Renamed", AccountCode: "201" }] },
    ];
    for (const changes of edits) {
      expect((await edit(made.InvoiceID, changes)).body.Invoices).toMatchObject([
        { TotalTax: 1.97, AmountDue: 6.97 },
      ]);
    }
    expect(await http.readInvoice(made.InvoiceID)).toMatchObject({
      Reference: "new",
      LineItems: [{ Description: "Renamed", AccountCode: "201", TaxAmount: 1.97 }],
    });
  });

  test("tax is computed again if quantity, price, tax type or kind of amounts change", async () => {
    const taxed = { ...line, Description: "Taxed", TaxType: "OUTPUT2", TaxAmount: 1.97 };
    const made = await http.invoice({ LineItems: [taxed] });
    const [LineItemID] = idsOf(made);
    const taxAfter = async (changes: object) => (await edit(made.InvoiceID, changes)).body.Invoices;
    expect(await taxAfter({ LineItems: [{ LineItemID, Quantity: 2 }] })).toMatchObject([
      { TotalTax: 4, Total: 24 },
    ]);
    expect(await taxAfter({ LineItems: [{ LineItemID, TaxType: "RROUTPUT" }] })).toMatchObject([
      { TotalTax: 1 },
    ]);
    expect(await taxAfter({ LineAmountTypes: "Inclusive" })).toMatchObject([
      { TotalTax: 0.95, Total: 20 },
    ]);
  });
});

describe("money on an invoice", () => {
  test.each([
    ["price", { UnitAmount: 60 }],
    ["quantity", { Quantity: 1 }],
    ["tax type", { TaxType: "ZERORATEDOUTPUT" }],
    ["tax amount", { TaxAmount: 1 }],
  ])("forbids another %s, also if it is credit", async (_what, change) => {
    const [paid, credited] = [
      await http.invoice({ Status: "AUTHORISED" }),
      await http.invoice({ Status: "AUTHORISED" }),
    ];
    const { CreditNoteID } = await http.creditNote({ Status: "AUTHORISED" });
    await pay(paid.InvoiceID, 30);
    await http.allocate(CreditNoteID, [credited.InvoiceID, 40]);
    for (const made of [paid, credited]) {
      const [LineItemID] = idsOf(made);
      const refused = await edit(made.InvoiceID, { LineItems: [{ LineItemID, ...change }] });
      expect(messagesOf(refused)).toEqual([
        "This document cannot be edited as it has a payment or credit note allocated to it.",
      ]);
    }
  });

  test("an invoice over nothing is paid, and open again once it comes to something", async () => {
    const free = [{ ...line, Description: "Free", UnitAmount: 0 }];
    const made = await http.invoice({ LineItems: free, Status: "AUTHORISED" });
    expect(made).toMatchObject({ Status: "PAID", AmountDue: 0 });
    const [LineItemID] = idsOf(made);
    const dearer = await edit(made.InvoiceID, { LineItems: [{ LineItemID, UnitAmount: 7 }] });
    expect(dearer.body.Invoices).toMatchObject([{ Status: "AUTHORISED", Total: 7, AmountDue: 7 }]);
    expect(await (await pay(made.InvoiceID)).json()).toMatchObject({ status: "PAID" });
    expect((await edit(made.InvoiceID, { Reference: "kept" })).body.Invoices).toMatchObject([
      { Status: "PAID" },
    ]);
  });
});
