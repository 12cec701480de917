/**
 * Credit of the demo ledger's notes on its invoices: what is refused, what follows, and that no
 * money is lost.
 */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type DemoWorld, startDemoWorld } from "./demo-ledger-fixture.ts";
import { type DemoHttp, type Element, messagesOf, openDemoHttp } from "./request.ts";

let world: DemoWorld;
let http: DemoHttp;
let database: pg.Pool;

beforeAll(async () => {
  world = await startDemoWorld();
  http = await openDemoHttp(await world.connect());
  database = new pg.Pool({ connectionString: world.databaseUrl, max: 1 });
});
afterAll(async () => {
  await database.end();
  await world.stop();
});

const aboveOutstanding =
  "Credit Note cannot be allocated as amount is greater than amount outstanding";
const alreadyPaid = "The invoice you are trying to allocate to has already been paid off";
const moneyOnIt =
  "This document cannot be edited as it has a payment or credit note allocated to it.";

const approvedInvoice = async (changes: object = {}) =>
  (await http.invoice({ Status: "AUTHORISED", ...changes })).InvoiceID ?? "";
const approvedNote = async (changes: object = {}) =>
  (await http.creditNote({ Status: "AUTHORISED", ...changes })).CreditNoteID ?? "";
const removeAllocation = (noteId: string, allocationId = "") =>
  http.send("DELETE", `CreditNotes/${noteId}/Allocations/${allocationId}`);
const pay = (id: string, amount?: number) =>
  world.admin(`tenants/${http.connection.tenantId}/invoices/${id}/payments`, {
    amount,
    date: "2026-05-09",
  });
const linesOf = (UnitAmount: number) => [
  { Description: "Work", Quantity: 1, UnitAmount, AccountCode: "200", TaxType: "NONE" },
];

/** Whether every document's sums are those of what is on it. */
async function sumsThatDiffer(): Promise<readonly object[]> {
  const { rows } = await database.query<object>(`
    select number, amount_allocated as told from demo_ledger.credit_notes n
      where amount_allocated <>
      (select coalesce(sum(amount), 0) from demo_ledger.credit_allocations a
        where a.credit_note_id = n.credit_note_id)
    union all
    select number, amount_credited from demo_ledger.invoices i where amount_credited <>
      (select coalesce(sum(amount), 0) from demo_ledger.credit_allocations a
        where a.invoice_id = i.invoice_id)
    union all
    select number, amount_paid from demo_ledger.invoices i where amount_paid <>
      (select coalesce(sum(amount), 0) from demo_ledger.payments p where p.invoice_id = i.invoice_id
        and p.status = 'AUTHORISED')`);
  return rows;
}

describe("credit on an invoice", () => {
  test("counts on both sides, is shown on both, and is answered without its id", async () => {
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

  test("is put on several invoices by one request, and a second request adds to the first", async () => {
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

  test("pays an invoice off together with payments, and uses up the note", async () => {
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

  test("that is taken back opens both again, and can be put elsewhere", async () => {
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

  test("forbids voiding and changing either, until it is taken back", async () => {
    const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
    await http.allocate(noteId, [invoiceId, 1]);
    expect(
      messagesOf(await http.send("POST", `Invoices/${invoiceId}`, { Status: "VOIDED" })),
    ).toEqual([
      "The status VOIDED cannot be applied to the invoice because it has payments or credit notes allocated to it.",
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
  beforeEach(async () => {
    [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
  });
  const refusal = async (note: string, invoice: string, amount = 1) => {
    const { status, body } = await http.allocate(note, [invoice, amount]);
    expect(status).toBe(400);
    return messagesOf({ status, body, headers: new Headers() });
  };

  test("above what is left of the note, or due on the invoice", async () => {
    expect(await refusal(noteId, invoiceId, 40.01)).toEqual([aboveOutstanding]);
    expect(
      await refusal(await approvedNote({ LineItems: linesOf(200) }), invoiceId, 100.01),
    ).toEqual([aboveOutstanding]);
    await http.allocate(noteId, [invoiceId, 40]);
    expect(await refusal(noteId, invoiceId, 0.01)).toEqual([aboveOutstanding]);
  });

  test("above what those before it in the same request leave, and then none of them is put on", async () => {
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

  test("each for itself where errors are not summarised", async () => {
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

  test("on an invoice that is paid off, of a status without due, or unknown", async () => {
    await pay(invoiceId);
    expect(await refusal(noteId, invoiceId)).toEqual([alreadyPaid, aboveOutstanding]);
    const draft = (await http.invoice()).InvoiceID ?? "";
    const notValid = "Invoice not of valid status for modification";
    expect(await refusal(noteId, draft)).toEqual([notValid]);
    await http.send("POST", `Invoices/${draft}`, { Status: "DELETED" });
    expect(await refusal(noteId, draft)).toEqual([notValid]);
    expect(await refusal(noteId, crypto.randomUUID())).toEqual(["Invoice could not be found"]);
    expect(await refusal(noteId, "no id")).toEqual(["Invoice could not be found"]);
    expect((await http.allocate(crypto.randomUUID(), [invoiceId, 1])).status).toBe(404);
  });

  test("of a note that is not approved", async () => {
    const { CreditNoteID = "" } = await http.creditNote();
    const notValid = ["Credit Note not of valid status for modification"];
    expect(await refusal(CreditNoteID, invoiceId)).toEqual(notValid);
    await http.send("POST", `CreditNotes/${noteId}`, { Status: "VOIDED" });
    expect(await refusal(noteId, invoiceId)).toEqual(notValid);
  });

  test("across contacts and currencies, without an amount, or on no day", async () => {
    const name = `Other ${crypto.randomUUID()}`;
    const other = (await http.send("PUT", "Contacts", { Contacts: [{ Name: name }] })).body
      .Contacts?.[0];
    const foreign = await approvedInvoice({ Contact: { ContactID: other?.ContactID } });
    expect(await refusal(noteId, foreign)).toEqual([expect.stringContaining("another contact")]);
    const dollars = await approvedInvoice({ CurrencyCode: "USD" });
    expect(await refusal(noteId, dollars)).toEqual([expect.stringContaining("another currency")]);
    for (const amount of [0, -1, 0.004])
      expect(await refusal(noteId, invoiceId, amount)).toHaveLength(1);
    const Allocations = [{ Invoice: { InvoiceID: invoiceId }, Amount: 1, Date: "2026-02-30" }];
    const undated = await http.send("PUT", `CreditNotes/${noteId}/Allocations`, { Allocations });
    expect(messagesOf(undated)).toEqual(["The Date is not a valid date."]);
  });
});

describe("at the same time", () => {
  const outcomesOf = async (asked: readonly Promise<{ readonly status: number }>[]) =>
    (await Promise.all(asked)).map(({ status }) => status).toSorted();

  test("twenty requests never spend more than a note has, nor more than an invoice is due", async () => {
    const invoiceIds = await Promise.all(
      Array.from({ length: 4 }, () => approvedInvoice({ LineItems: linesOf(10) })),
    );
    const noteIds = await Promise.all(
      Array.from({ length: 2 }, () => approvedNote({ LineItems: linesOf(15) })),
    );
    // 40 due against 30 of credit, asked for 20 times in parts of 3 and in opposite orders.
    const request = (index: number) => {
      const pair: [string, number][] = [0, 1].map((step) => [
        invoiceIds[(index + step) % 4] ?? "",
        1.5,
      ]);
      return http.allocate(noteIds[index % 2], ...(index % 3 === 0 ? pair : pair.toReversed()));
    };
    const asked = Array.from({ length: 20 }, (_, index) => request(index));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    const served = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => status === 400)).toHaveLength(20 - served);
    const notes = await Promise.all(
      noteIds.map(async (id) => (await http.readCreditNote(id)) as CreditLeft),
    );
    expect(notes.every((note) => note.RemainingCredit >= 0)).toBe(true);
    expect(notes.reduce((sum, note) => sum + note.RemainingCredit, 0)).toBe(30 - 3 * served);
    const invoices = await Promise.all(
      invoiceIds.map(async (id) => (await http.readInvoice(id)) as CreditedInvoice),
    );
    expect(invoices.every((invoice) => invoice.AmountCredited <= 10)).toBe(true);
    expect(invoices.reduce((sum, invoice) => sum + invoice.AmountCredited, 0)).toBe(3 * served);
    // Which ones were served is chance, and how many can be is with it; but nobody was refused for
    // whom enough was left.
    for (const index of statuses.keys())
      if (statuses[index] === 400) expect((await request(index)).status).toBe(400);
  });

  test("payment and credit never take an invoice below nothing due", async () => {
    const [invoiceId, noteIds] = [
      await approvedInvoice(),
      [await approvedNote({ LineItems: linesOf(100) })],
    ];
    const asked = [
      ...Array.from({ length: 4 }, () => http.allocate(noteIds[0], [invoiceId, 25])),
      ...Array.from({ length: 4 }, () => pay(invoiceId, 25)),
    ];
    expect(await outcomesOf(asked)).toEqual([200, 200, 200, 200, 400, 400, 400, 400]);
    expect(await http.readInvoice(invoiceId)).toMatchObject({ Status: "PAID", AmountDue: 0 });
  });

  test("a note is voided or its credit is used, never both", async () => {
    for (let round = 0; round < 5; round += 1) {
      const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
      const outcomes = await outcomesOf([
        http.allocate(noteId, [invoiceId, 40]),
        http.send("POST", `CreditNotes/${noteId}`, { Status: "VOIDED" }),
        http.send("POST", `Invoices/${invoiceId}`, { Status: "VOIDED" }),
      ]);
      const note = (await http.readCreditNote(noteId)) as Element & { readonly Status: string };
      const invoice = await http.readInvoice(invoiceId);
      const isUsed = note.Allocations.length === 1;
      expect(outcomes).toEqual(isUsed ? [200, 400, 400] : [200, 200, 400]);
      expect(invoice).toMatchObject({ AmountCredited: isUsed ? 40 : 0 });
      expect([note.Status, invoice]).toMatchObject(
        isUsed ? ["PAID", { Status: "AUTHORISED" }] : ["VOIDED", { Status: "VOIDED" }],
      );
    }
  });

  test("credit taken back twice is taken back once", async () => {
    const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
    await http.allocate(noteId, [invoiceId, 40]);
    const [allocation] = (await http.readCreditNote(noteId))?.Allocations ?? [];
    const asked = Array.from({ length: 5 }, () =>
      removeAllocation(noteId, allocation?.AllocationID),
    );
    expect(await outcomesOf(asked)).toEqual([200, 404, 404, 404, 404]);
  });
});

interface CreditedInvoice extends Element {
  readonly AmountCredited: number;
}

interface CreditLeft extends Element {
  readonly RemainingCredit: number;
}

describe("the books", () => {
  test("have sums that are those of what is on each document", async () => {
    expect(await sumsThatDiffer()).toEqual([]);
  });

  test.each([
    ["more allocated than a note comes to", "credit_notes set amount_allocated = total + 1"],
    [
      "a removed note with credit on an invoice",
      "credit_notes set status = 'VOIDED' where amount_allocated > 0",
    ],
    [
      "a note that is used up with credit left",
      "credit_notes set status = 'PAID' where amount_allocated < total",
    ],
    ["more credited than an invoice comes to", "invoices set amount_credited = total + 1"],
    [
      "a removed invoice with credit on it",
      "invoices set status = 'VOIDED' where amount_credited > 0",
    ],
    [
      "an invoice that is paid with something due",
      "invoices set status = 'PAID' where amount_credited < total",
    ],
    ["less than nothing on an invoice", "invoices set amount_credited = -1"],
  ])("cannot have %s", async (_what, change) => {
    await http.allocate(await approvedNote(), [await approvedInvoice(), 1]);
    await expect(database.query(`update demo_ledger.${change}`)).rejects.toThrow(
      "violates check constraint",
    );
  });
});
