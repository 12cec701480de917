/** Allocates credit of the demo ledger's notes to its invoices: effects and refusals. */
import { describe, expect } from "vitest";
import { sumsThatDiffer } from "./document-sums.ts";
import { linesOf, allocationTest as test } from "./fixtures.ts";
import { type DemoHttp, messagesOf } from "./request.ts";

const aboveOutstanding =
  "Credit Note cannot be allocated as amount is greater than amount outstanding";
const alreadyPaid = "The invoice you are trying to allocate to has already been paid off";
const moneyOnIt =
  "This document cannot be edited as it has a payment or credit note allocated to it.";

describe("credit on an invoice", () => {
  test("counts on both sides, is shown on both, and is answered without its id", async ({
    http,
    approvedInvoice,
    approvedNote,
  }) => {
    const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
    const put = await http.allocate(noteId, [invoiceId, 15.5]);
    expect(put.status).toBe(200);
    expect(put.body.Allocations).toMatchObject([
      {
        Amount: 15.5,
        Invoice: { InvoiceID: invoiceId },
        CreditNote: { CreditNoteID: noteId },
        ValidationErrors: [],
      },
    ]);
    expect(put.body.Allocations?.[0]).not.toHaveProperty("AllocationID");
    const invoice = await http.readInvoice(invoiceId);
    const note = await http.readCreditNote(noteId);
    expect(note).toMatchObject({
      Status: "AUTHORISED",
      RemainingCredit: 24.5,
      Allocations: [
        {
          AllocationID: expect.stringMatching(/^[0-9a-f-]{36}$/),
          Amount: 15.5,
          Date: `/Date(${Date.parse("2026-05-03T00:00:00Z")}+0000)/`,
          Invoice: { InvoiceID: invoiceId, InvoiceNumber: invoice?.InvoiceNumber },
        },
      ],
    });
    expect(invoice).toMatchObject({
      Status: "AUTHORISED",
      AmountCredited: 15.5,
      AmountDue: 84.5,
      CreditNotes: [
        { CreditNoteID: noteId, CreditNoteNumber: note?.CreditNoteNumber, AppliedAmount: 15.5 },
      ],
    });
  });

  test("is allocated to several invoices by one request, and a second one adds to it", async ({
    http,
    approvedInvoice,
    approvedNote,
  }) => {
    const [one, other, noteId] = [
      await approvedInvoice(),
      await approvedInvoice(),
      await approvedNote(),
    ];
    expect((await http.allocate(noteId, [one, 10], [other, 5], [one, 1])).status).toBe(200);
    expect((await http.allocate(noteId, [one, 4])).status).toBe(200);
    expect(await http.readCreditNote(noteId)).toMatchObject({
      RemainingCredit: 20,
      Allocations: [{ Amount: 10 }, { Amount: 5 }, { Amount: 1 }, { Amount: 4 }],
    });
    expect(await http.readInvoice(one)).toMatchObject({ AmountCredited: 15, AmountDue: 85 });
    expect(await http.readInvoice(other)).toMatchObject({ AmountCredited: 5, AmountDue: 95 });
  });

  test("pays an invoice in full together with payments, and uses up the note", async ({
    http,
    approvedInvoice,
    approvedNote,
    pay,
  }) => {
    const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
    await pay(invoiceId, 60);
    expect((await http.allocate(noteId, [invoiceId, 40])).status).toBe(200);
    const fullyPaid = {
      Status: "PAID",
      FullyPaidOnDate: `/Date(${Date.parse("2026-05-09T00:00:00Z")}+0000)/`,
    };
    expect(await http.readInvoice(invoiceId)).toMatchObject({ ...fullyPaid, AmountDue: 0 });
    expect(await http.readCreditNote(noteId)).toMatchObject({ Status: "PAID", RemainingCredit: 0 });
  });

  test("that is returned opens both documents again, and can be allocated elsewhere", async ({
    http,
    approvedInvoice,
    approvedNote,
    removeAllocation,
  }) => {
    const [invoiceId, noteId] = [
      await approvedInvoice({ LineItems: linesOf(40) }),
      await approvedNote(),
    ];
    await http.allocate(noteId, [invoiceId, 40]);
    const [allocation] = (await http.readCreditNote(noteId))?.Allocations ?? [];
    const removed = await removeAllocation(noteId, allocation?.AllocationID);
    expect([removed.status, removed.body]).toMatchObject([
      200,
      {
        AllocationID: allocation?.AllocationID,
        Amount: 40,
        Invoice: { InvoiceID: invoiceId },
        IsDeleted: true,
      },
    ]);
    const invoice = await http.readInvoice(invoiceId);
    expect(invoice).toMatchObject({
      Status: "AUTHORISED",
      AmountCredited: 0,
      AmountDue: 40,
      CreditNotes: [],
    });
    expect(invoice).not.toHaveProperty("FullyPaidOnDate");
    const open = { Status: "AUTHORISED", RemainingCredit: 40, Allocations: [] };
    expect(await http.readCreditNote(noteId)).toMatchObject(open);
    expect((await removeAllocation(noteId, allocation?.AllocationID)).status).toBe(404);
    expect((await http.allocate(noteId, [await approvedInvoice(), 40])).status).toBe(200);
  });

  test("forbids voiding and changing either document until it is returned", async ({
    http,
    approvedInvoice,
    approvedNote,
    removeAllocation,
  }) => {
    const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
    await http.allocate(noteId, [invoiceId, 1]);
    expect(
      messagesOf(await http.send("POST", `Invoices/${invoiceId}`, { Status: "VOIDED" })),
    ).toEqual([
      "The status VOIDED cannot be applied to the invoice because it has payments or credit " +
        "notes allocated to it.",
    ]);
    for (const changes of [
      { Status: "VOIDED" },
      { Reference: "late" },
      { LineItems: linesOf(50) },
    ]) {
      expect(messagesOf(await http.send("POST", `CreditNotes/${noteId}`, changes))).toEqual([
        moneyOnIt,
      ]);
    }
    const [allocation] = (await http.readCreditNote(noteId))?.Allocations ?? [];
    await removeAllocation(noteId, allocation?.AllocationID);
    expect((await http.send("POST", `Invoices/${invoiceId}`, { Status: "VOIDED" })).status).toBe(
      200,
    );
    expect((await http.send("POST", `CreditNotes/${noteId}`, { Status: "VOIDED" })).status).toBe(
      200,
    );
  });
});

describe("credit is refused", () => {
  let invoiceId: string;
  let noteId: string;
  test.beforeEach(async ({ approvedInvoice, approvedNote }) => {
    [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
  });
  const refusal = async (http: DemoHttp, note: string, invoice: string, amount = 1) => {
    const { status, body } = await http.allocate(note, [invoice, amount]);
    expect(status).toBe(400);
    return messagesOf({ status, body, headers: new Headers() });
  };

  test("above what is left of the note, or due on the invoice", async ({ http, approvedNote }) => {
    expect(await refusal(http, noteId, invoiceId, 40.01)).toEqual([aboveOutstanding]);
    expect(
      await refusal(http, await approvedNote({ LineItems: linesOf(200) }), invoiceId, 100.01),
    ).toEqual([aboveOutstanding]);
    await http.allocate(noteId, [invoiceId, 40]);
    expect(await refusal(http, noteId, invoiceId, 0.01)).toEqual([aboveOutstanding]);
  });

  test("above what earlier allocations of its request leave, and none is recorded", async ({
    http,
  }) => {
    const { status, body } = await http.allocate(noteId, [invoiceId, 30], [invoiceId, 11]);
    expect([status, body.Elements]).toMatchObject([
      400,
      [
        {
          Amount: 11,
          Invoice: { InvoiceID: invoiceId },
          ValidationErrors: [{ Message: aboveOutstanding }],
        },
      ],
    ]);
    expect(await http.readCreditNote(noteId)).toMatchObject({
      RemainingCredit: 40,
      Allocations: [],
    });
  });

  test("one by one if errors are not summarised", async ({ http }) => {
    const Allocations = [30, 11, 10].map((Amount) => ({
      Invoice: { InvoiceID: invoiceId },
      Amount,
      Date: "2026-05-03",
    }));
    const put = await http.send("PUT", `CreditNotes/${noteId}/Allocations?summarizeErrors=false`, {
      Allocations,
    });
    expect([put.status, put.body.Allocations]).toMatchObject([
      200,
      [
        { Amount: 30, StatusAttributeString: "OK" },
        {
          Amount: 11,
          StatusAttributeString: "ERROR",
          ValidationErrors: [{ Message: aboveOutstanding }],
        },
        { Amount: 10, StatusAttributeString: "OK" },
      ],
    ]);
    expect(await http.readInvoice(invoiceId)).toMatchObject({ AmountCredited: 40, AmountDue: 60 });
  });

  test("on an invoice that is paid off, of a status without due, or unknown", async ({
    http,
    pay,
  }) => {
    await pay(invoiceId);
    expect(await refusal(http, noteId, invoiceId)).toEqual([alreadyPaid, aboveOutstanding]);
    const draft = (await http.invoice()).InvoiceID ?? "";
    const notValid = "Invoice not of valid status for modification";
    expect(await refusal(http, noteId, draft)).toEqual([notValid]);
    await http.send("POST", `Invoices/${draft}`, { Status: "DELETED" });
    expect(await refusal(http, noteId, draft)).toEqual([notValid]);
    expect(await refusal(http, noteId, crypto.randomUUID())).toEqual([
      "Invoice could not be found",
    ]);
    expect(await refusal(http, noteId, "no id")).toEqual(["Invoice could not be found"]);
    expect((await http.allocate(crypto.randomUUID(), [invoiceId, 1])).status).toBe(404);
  });

  test("of a note that is not approved", async ({ http }) => {
    const { CreditNoteID = "" } = await http.creditNote();
    const notValid = ["Credit Note not of valid status for modification"];
    expect(await refusal(http, CreditNoteID, invoiceId)).toEqual(notValid);
    await http.send("POST", `CreditNotes/${noteId}`, { Status: "VOIDED" });
    expect(await refusal(http, noteId, invoiceId)).toEqual(notValid);
  });

  test("across contacts and currencies, without an amount, or on no day", async ({
    http,
    approvedInvoice,
  }) => {
    const name = `Other ${crypto.randomUUID()}`;
    const other = (await http.send("PUT", "Contacts", { Contacts: [{ Name: name }] })).body
      .Contacts?.[0];
    const foreign = await approvedInvoice({ Contact: { ContactID: other?.ContactID } });
    expect(await refusal(http, noteId, foreign)).toEqual([
      expect.stringContaining("another contact"),
    ]);
    const dollars = await approvedInvoice({ CurrencyCode: "USD" });
    expect(await refusal(http, noteId, dollars)).toEqual([
      expect.stringContaining("another currency"),
    ]);
    for (const amount of [0, -1, 0.004])
      expect(await refusal(http, noteId, invoiceId, amount)).toHaveLength(1);
    const Allocations = [{ Invoice: { InvoiceID: invoiceId }, Amount: 1, Date: "2026-02-30" }];
    const undated = await http.send("PUT", `CreditNotes/${noteId}/Allocations`, { Allocations });
    expect(messagesOf(undated)).toEqual(["The Date is not a valid date."]);
  });
});

test("the documents of all these requests have the sums of their allocations", async ({
  database,
}) => {
  expect(await sumsThatDiffer(database)).toEqual([]);
});
