/**
 * The demo ledger's rules of credit notes over plain HTTP: numbers, statuses, edits, lists, and the
 * view of an operator.
 */
import { describe, expect } from "vitest";
import { perFile } from "../../../test/support/file-fixture.ts";
import { demoLedgerTest } from "./fixtures.ts";
import { type DemoHttp, messagesOf, openDemoHttp } from "./request.ts";

const test = demoLedgerTest
  .extend("send", perFile, ({ http }) => http.send)
  .extend("creditNote", perFile, ({ http }) => http.creditNote);

const wrongStatus = "Credit Note not of valid status for modification";
const taken = "Credit Note # must be unique.";

function draft(http: DemoHttp, changes: object = {}): object {
  const line = {
    Description: "Work",
    Quantity: 1,
    UnitAmount: 40,
    AccountCode: "200",
    TaxType: "NONE",
  };
  return {
    Type: "ACCRECCREDIT",
    CreditNoteNumber: crypto.randomUUID(),
    Contact: { ContactID: http.contactId },
    LineItems: [line],
    ...changes,
  };
}

describe("numbers", () => {
  test("a number belongs to one credit note, also in a batch and after a change", async ({
    http,
    send,
    creditNote,
  }) => {
    const { CreditNoteNumber } = await creditNote();
    expect(await creditNote({ CreditNoteNumber })).toMatchObject({
      ErrorNumber: 10,
      Type: "ValidationException",
    });
    const batch = await send("PUT", "CreditNotes?summarizeErrors=false", {
      CreditNotes: [draft(http, { CreditNoteNumber }), draft(http)],
    });
    expect([batch.status, batch.body.CreditNotes]).toMatchObject([
      200,
      [
        { HasErrors: true, StatusAttributeString: "ERROR", ValidationErrors: [{ Message: taken }] },
        { HasErrors: false, StatusAttributeString: "OK", Status: "DRAFT" },
      ],
    ]);
    const other = await creditNote();
    const renamed = await send("POST", `CreditNotes/${other.CreditNoteID}`, { CreditNoteNumber });
    expect([renamed.status, messagesOf(renamed)]).toEqual([400, [taken]]);
  });

  test("summarised errors answer 400 with the refused, and the others are created", async ({
    http,
    send,
  }) => {
    const CreditNoteNumber = `S-${crypto.randomUUID()}`;
    const drafts = [draft(http, { CreditNoteNumber }), draft(http, { CurrencyCode: "ZMW" })];
    const refused = await send("PUT", "CreditNotes?summarizeErrors=true", { CreditNotes: drafts });
    expect([refused.status, messagesOf(refused)]).toEqual([
      400,
      ["Organisation is not subscribed to currency ZMW"],
    ]);
    expect((await send("GET", `CreditNotes/${CreditNoteNumber}`)).status).toBe(200);
  });
});

describe("statuses", () => {
  test.for([
    ["DRAFT", "SUBMITTED"],
    ["DRAFT", "AUTHORISED"],
    ["DRAFT", "DELETED"],
    ["SUBMITTED", "AUTHORISED"],
    ["SUBMITTED", "DELETED"],
    ["AUTHORISED", "VOIDED"],
  ] as const)("%s may become %s", async ([from, to], { http, send, creditNote }) => {
    const { CreditNoteID } = await creditNote({ Status: from });
    expect((await send("POST", `CreditNotes/${CreditNoteID}`, { Status: to })).status).toBe(200);
    const remaining = to === "DELETED" || to === "VOIDED" ? 0 : 40;
    expect(await http.readCreditNote(CreditNoteID)).toMatchObject({
      Status: to,
      RemainingCredit: remaining,
    });
  });

  test.for([
    ["DRAFT", "VOIDED"],
    ["DRAFT", "PAID"],
    ["SUBMITTED", "VOIDED"],
    ["SUBMITTED", "DRAFT"],
    ["AUTHORISED", "DELETED"],
    ["AUTHORISED", "DRAFT"],
  ] as const)("%s cannot become %s", async ([from, to], { send, creditNote }) => {
    const { CreditNoteID } = await creditNote({ Status: from });
    const changed = await send("POST", `CreditNotes/${CreditNoteID}`, { Status: to });
    expect([changed.status, messagesOf(changed)]).toEqual([400, [wrongStatus]]);
  });

  test.for(["DELETED", "VOIDED"])("a credit note that is %s cannot be changed", async (status, {
    send,
    creditNote,
  }) => {
    const { CreditNoteID } = await creditNote({
      Status: status === "VOIDED" ? "AUTHORISED" : "DRAFT",
    });
    await send("POST", `CreditNotes/${CreditNoteID}`, { Status: status });
    const changed = await send("POST", `CreditNotes/${CreditNoteID}`, { Reference: "late" });
    expect([changed.status, messagesOf(changed)]).toEqual([400, [wrongStatus]]);
  });

  test.for(["PAID", "VOIDED", "DELETED"])("a credit note cannot be created as %s", async (status, {
    creditNote,
  }) => {
    expect(await creditNote({ Status: status })).toMatchObject({
      ErrorNumber: 10,
      Type: "ValidationException",
    });
  });

  test("a credit note of another type, with a discount or below zero is refused", async ({
    creditNote,
  }) => {
    const line = {
      Description: "Work",
      Quantity: 1,
      UnitAmount: 40,
      AccountCode: "200",
      TaxType: "NONE",
    };
    const wrong = [
      { Type: "ACCPAYCREDIT" },
      { LineItems: [{ ...line, DiscountRate: 10 }] },
      { Status: "AUTHORISED", LineItems: [{ ...line, UnitAmount: -1 }] },
    ];
    for (const changes of wrong)
      expect(await creditNote(changes)).toMatchObject({ ErrorNumber: 10 });
  });

  test("an edit changes reference, contact and lines, but not SentToContact", async ({
    http,
    send,
    creditNote,
  }) => {
    const { InvoiceID } = await http.invoice({ Status: "AUTHORISED" });
    const Allocations = [{ Invoice: { InvoiceID }, Amount: 1, Date: "2026-05-03" }];
    const { CreditNoteID } = await creditNote({
      Reference: "PO 1",
      SentToContact: true,
      Allocations,
    });
    const changed = await send("POST", `CreditNotes/${CreditNoteID}`, {
      Reference: "PO 2",
      SentToContact: true,
      LineItems: [
        { Description: "Less", Quantity: 1, UnitAmount: 9, AccountCode: "200", TaxType: "OUTPUT2" },
      ],
    });
    expect(changed.body.CreditNotes).toMatchObject([
      {
        Reference: "PO 2",
        SentToContact: false,
        Total: 10.8,
        RemainingCredit: 10.8,
        Allocations: [],
      },
    ]);
    expect(await http.readInvoice(InvoiceID)).toMatchObject({ AmountCredited: 0 });
  });
});

describe("lists", () => {
  test("have no lines without page, and pagination with it", async ({ send, creditNote }) => {
    const { CreditNoteID, CreditNoteNumber } = await creditNote();
    const where = `where=${encodeURIComponent(`CreditNoteNumber=="${CreditNoteNumber}"`)}`;
    const bare = await send("GET", `CreditNotes?${where}`);
    expect(bare.body.CreditNotes).toMatchObject([{ CreditNoteID, LineItems: [] }]);
    expect(bare.body).not.toHaveProperty("pagination");
    const paged = await send("GET", `CreditNotes?${where}&page=1&pageSize=1`);
    expect(paged.body).toMatchObject({
      pagination: { page: 1, pageSize: 1, pageCount: 1, itemCount: 1 },
      CreditNotes: [{ CreditNoteID, LineItems: [{ Description: "Work" }] }],
    });
  });

  test("are filtered by number and change, and ordered", async ({ send, creditNote }) => {
    const odd = `odd "\\ ${crypto.randomUUID()}`;
    const [one, other] = [await creditNote({ CreditNoteNumber: odd }), await creditNote()];
    const where = `CreditNoteNumber=="${odd.replace(/["\\]/g, "\\$&")}"`;
    const ids = async (query: string, headers = {}) =>
      (await send("GET", `CreditNotes?${query}`, undefined, headers)).body.CreditNotes?.map(
        (note) => note.CreditNoteID,
      );
    expect(await ids(`where=${encodeURIComponent(where)}`)).toEqual([one.CreditNoteID]);
    const newest = (await ids("page=1&order=UpdatedDateUTC%20DESC"))?.slice(0, 2);
    expect(newest).toEqual([other.CreditNoteID, one.CreditNoteID]);
    const later = { "if-modified-since": new Date(Date.now() + 60_000).toISOString().slice(0, 19) };
    expect(await ids("page=1", later)).toEqual([]);
    expect((await send("GET", `CreditNotes?where=${encodeURIComponent("Total>1")}`)).status).toBe(
      400,
    );
  });

  test("are one organisation's, as are the documents", async ({ fixture, creditNote }) => {
    const { CreditNoteID } = await creditNote();
    const other = await openDemoHttp(await fixture.connect());
    expect((await other.send("GET", "CreditNotes")).body.CreditNotes).toEqual([]);
    expect((await other.send("GET", `CreditNotes/${CreditNoteID}`)).status).toBe(404);
    expect(
      (await other.send("POST", `CreditNotes/${CreditNoteID}`, { Status: "DELETED" })).status,
    ).toBe(404);
    expect(
      (await other.allocate(CreditNoteID, [(await other.invoice()).InvoiceID, 1])).status,
    ).toBe(404);
  });
});

test("an operator sees the remaining and the allocated credit, newest first", async ({
  fixture,
  http,
  creditNote,
}) => {
  const invoice = await http.invoice({ Status: "AUTHORISED" });
  const note = await creditNote({ Status: "AUTHORISED" });
  await http.allocate(note.CreditNoteID, [invoice.InvoiceID, 15]);
  const shown = (await (await fetch(`${fixture.demo.url}/demo/documents`)).json()) as Record<
    string,
    readonly object[]
  >;
  const { CreditNoteNumber, LineItems } = note;
  const allocations = [
    { credit_note: CreditNoteNumber, invoice: invoice.InvoiceNumber, amount: "15.00" },
  ];
  const amounts = { status: "AUTHORISED", total: "40.00", remaining: "25.00" };
  expect(shown.credit_notes?.[0]).toMatchObject({
    number: CreditNoteNumber,
    ...amounts,
    allocations,
    lines: [{ id: LineItems?.[0]?.LineItemID, description: "Work", amount: "40.00" }],
  });
  expect(shown.invoices?.[0]).toMatchObject({
    number: invoice.InvoiceNumber,
    paid: "0.00",
    credited: "15.00",
    due: "85.00",
    allocations,
    lines: [{ id: invoice.LineItems?.[0]?.LineItemID, description: "Work", amount: "100.00" }],
  });
});
