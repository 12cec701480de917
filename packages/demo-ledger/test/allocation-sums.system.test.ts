/** No money is lost or spent twice: concurrent credit, payments and voids, and the stored sums. */
import { describe, expect } from "vitest";
import { sumsThatDiffer } from "./document-sums.ts";
import { linesOf, allocationTest as test } from "./fixtures.ts";
import type { Element } from "./request.ts";

describe("concurrent requests", () => {
  const outcomesOf = async (calls: readonly Promise<{ readonly status: number }>[]) =>
    (await Promise.all(calls)).map(({ status }) => status).toSorted();

  test("never spend more than a note has, nor more than an invoice is due", async ({
    http,
    approvedInvoice,
    approvedNote,
  }) => {
    const invoiceIds = await Promise.all(
      Array.from({ length: 4 }, () => approvedInvoice({ LineItems: linesOf(10) })),
    );
    const noteIds = await Promise.all(
      Array.from({ length: 2 }, () => approvedNote({ LineItems: linesOf(15) })),
    );
    // 40 due against 30 of credit, requested 20 times in parts of 3 and in opposite orders.
    const request = (index: number) => {
      const pair: [string, number][] = [0, 1].map((step) => [
        invoiceIds[(index + step) % 4] ?? "",
        1.5,
      ]);
      return http.allocate(noteIds[index % 2], ...(index % 3 === 0 ? pair : pair.toReversed()));
    };
    const calls = Array.from({ length: 20 }, (_, index) => request(index));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
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
    // Which requests succeed is chance, and so is their number. But none was refused for which
    // enough credit was left.
    for (const index of statuses.keys())
      if (statuses[index] === 400) expect((await request(index)).status).toBe(400);
  });

  test("of payment and credit never take the amount due below zero", async ({
    http,
    approvedInvoice,
    approvedNote,
    pay,
  }) => {
    const [invoiceId, noteIds] = [
      await approvedInvoice(),
      [await approvedNote({ LineItems: linesOf(100) })],
    ];
    const calls = [
      ...Array.from({ length: 4 }, () => http.allocate(noteIds[0], [invoiceId, 25])),
      ...Array.from({ length: 4 }, () => pay(invoiceId, 25)),
    ];
    expect(await outcomesOf(calls)).toEqual([200, 200, 200, 200, 400, 400, 400, 400]);
    expect(await http.readInvoice(invoiceId)).toMatchObject({ Status: "PAID", AmountDue: 0 });
  });

  test("void a note or use its credit, never both", async ({
    http,
    approvedInvoice,
    approvedNote,
  }) => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
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

  test("return an allocation once", async ({
    http,
    approvedInvoice,
    approvedNote,
    removeAllocation,
  }) => {
    const [invoiceId, noteId] = [await approvedInvoice(), await approvedNote()];
    await http.allocate(noteId, [invoiceId, 40]);
    const [allocation] = (await http.readCreditNote(noteId))?.Allocations ?? [];
    const calls = Array.from({ length: 5 }, () =>
      removeAllocation(noteId, allocation?.AllocationID),
    );
    expect(await outcomesOf(calls)).toEqual([200, 404, 404, 404, 404]);
  });
});

interface CreditedInvoice extends Element {
  readonly AmountCredited: number;
}

interface CreditLeft extends Element {
  readonly RemainingCredit: number;
}

describe("ledger documents", () => {
  test("have the sums of their payments and allocations", async ({ database }) => {
    expect(await sumsThatDiffer(database)).toEqual([]);
  });

  test.for([
    ["more allocated than the total of a note", "credit_notes set amount_allocated = total + 1"],
    [
      "a removed note with credit on an invoice",
      "credit_notes set status = 'VOIDED' where amount_allocated > 0",
    ],
    [
      "a note that is used up with credit left",
      "credit_notes set status = 'PAID' where amount_allocated < total",
    ],
    ["more credited than the total of an invoice", "invoices set amount_credited = total + 1"],
    [
      "a removed invoice with credit on it",
      "invoices set status = 'VOIDED' where amount_credited > 0",
    ],
    [
      "an invoice that is paid with something due",
      "invoices set status = 'PAID' where amount_credited < total",
    ],
    ["less than nothing on an invoice", "invoices set amount_credited = -1"],
  ] as const)("cannot have %s", async ([_what, change], {
    http,
    database,
    approvedInvoice,
    approvedNote,
  }) => {
    await http.allocate(await approvedNote(), [await approvedInvoice(), 1]);
    await expect(database.query(`update demo_ledger.${change}`)).rejects.toThrow(
      "violates check constraint",
    );
  });
});
