/**
 * Credit notes and their allocations to invoices: exact in every digit, refused if a status or an
 * amount forbids them, and found again by number.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  aCall,
  addLedgerContact,
  addresses,
  aLine,
  type DemoLedgerFixture,
  invoiceDraft,
  okOf,
  startDemoLedgerFixture,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { Ledger, LedgerCreditNote, LedgerInvoice } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";
import { creditNoteDraft } from "../conformance/credit-drafts.ts";
import { type RecordingProxy, startRecordingProxy } from "./recording-proxy.ts";

const getNotes = "GET /api.xro/2.0/CreditNotes";

let fixture: DemoLedgerFixture;
let proxy: RecordingProxy;
let connection: XeroConnection;
let contactId: string;
// One straight to the ledger, and one whose every request is written down.
let ledger: Ledger;
let watched: Ledger;

beforeAll(async () => {
  fixture = await startDemoLedgerFixture();
  proxy = await startRecordingProxy(fixture.demo.url);
  connection = await fixture.connect();
  contactId = (await addLedgerContact(connection)).id;
  ledger = createXeroLedger(connection);
  watched = createXeroLedger({ ...connection, ...addresses(proxy.url) });
});
beforeEach(() => {
  proxy.exchanges.length = 0;
});
afterEach(async () => {
  await fetch(`${fixture.demo.url}/demo/faults`, { method: "DELETE" });
});
afterAll(async () => {
  await ledger.close();
  await watched.close();
  await proxy.stop();
  await fixture.stop();
});

async function createNote(
  changes: Parameters<typeof creditNoteDraft>[1] = {},
): Promise<LedgerCreditNote> {
  return okOf(
    okOf(await ledger.createCreditNotes(aCall(), [creditNoteDraft(contactId, changes)]))[0],
  );
}

async function createInvoice(
  changes: Parameters<typeof invoiceDraft>[1] = {},
): Promise<LedgerInvoice> {
  const draft = invoiceDraft(contactId, { status: "approved", ...changes });
  return okOf(okOf(await ledger.createInvoices(aCall(), [draft]))[0]);
}

function putting(note: LedgerCreditNote, invoice: LedgerInvoice, amount: string) {
  return { creditNoteId: note.id, invoiceId: invoice.id, amount, date: "2026-03-10" };
}

async function pay(id: string): Promise<void> {
  const answer = await fixture.admin(`tenants/${connection.tenantId}/invoices/${id}/payments`, {});
  if (answer.status !== 200) throw new Error(await answer.text());
}

// What the ledger is to say of a note instead of what it has.
async function sayOf(note: LedgerCreditNote, fault: object): Promise<void> {
  const said = {
    Type: "ACCRECCREDIT",
    CreditNoteID: note.id,
    CreditNoteNumber: note.number,
    Contact: { ContactID: note.contactId },
    Status: "AUTHORISED",
    CurrencyCode: note.currency,
    DateString: "2026-03-05T00:00:00",
    SubTotal: 31.5,
    TotalTax: 0,
    Total: 31.5,
    RemainingCredit: 31.5,
    UpdatedDateUTC: "/Date(1541176592690+0000)/",
    ...fault,
  };
  await fixture.order({
    match: getNotes,
    kind: "status",
    status: 200,
    body: JSON.stringify({ CreditNotes: [said] }),
  });
}

describe("a credit note", () => {
  test.each([
    ["draft", "31.5000"],
    ["awaiting_approval", "31.5000"],
    ["approved", "31.5000"],
  ] as const)("is made as %s with all its credit left", async (status, remainingCredit) => {
    const note = await createNote({ status });
    expect(note).toMatchObject({
      status,
      total: "31.5000",
      remainingCredit,
      sent: false,
      allocations: [],
    });
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toEqual(note);
  });

  test.each([
    ["exclusive", "12345679.9100", "2469135.9800", "14814815.8900"],
    ["inclusive", "10288066.5900", "2057613.3200", "12345679.9100"],
    ["none", "12345679.9100", "0.0000", "12345679.9100"],
  ] as const)("is exact if amounts are %s of tax", async (lineAmounts, subtotal, tax, total) => {
    const lines = [
      aLine("3", "0.3333", "1.0000", "OUTPUT2"),
      aLine("0.1", "123456789.1000", "12345678.9100", "OUTPUT2"),
    ];
    const note = await createNote({ lineAmounts, lines });
    expect(note.lines.map(({ amount }) => amount)).toEqual(["1.0000", "12345678.9100"]);
    expect(note).toMatchObject({ subtotal, tax, total, remainingCredit: total });
  });

  test("keeps unit amounts of four places", async () => {
    const note = await createNote({ lines: [aLine("10000", "0.0123", "123.0000")] });
    expect(note).toMatchObject({
      total: "123.0000",
      lines: [{ description: "Seats", amount: "123.0000" }],
    });
  });

  test("is found again where it was removed, and only under its very number", async () => {
    const note = await createNote();
    const found = okOf(
      await ledger.findCreditNotes(aCall(), { numbers: [note.number, note.number, "none"] }),
    );
    expect(found).toEqual([note]);
    for (const number of [
      note.number.toLowerCase(),
      note.number.slice(0, -1),
      `${note.number}" OR 1==1`,
    ]) {
      expect(okOf(await ledger.findCreditNotes(aCall(), { numbers: [number] }))).toEqual([]);
    }
  });

  test("is found among hundreds, in few requests", async () => {
    const note = await createNote();
    const numbers = Array.from({ length: 300 }, (_, index) => `CN-2026-${index}`);
    expect(
      okOf(await watched.findCreditNotes(aCall(), { numbers: [...numbers, note.number] })),
    ).toEqual([note]);
    const asked = proxy.exchanges.filter(({ url }) => url.pathname.endsWith("/CreditNotes"));
    expect(asked.length).toBeLessThan(20);
    for (const { url } of asked) expect(url.search.length).toBeLessThan(1_600);
  });

  test.each([
    ["of a supplier under the same number", { Type: "ACCPAYCREDIT" }],
    ["under another number", { CreditNoteNumber: "CN-OTHER" }],
  ])("%s is not found", async (_what, fault) => {
    const note = await createNote();
    await sayOf(note, fault);
    expect(okOf(await ledger.findCreditNotes(aCall(), { numbers: [note.number] }))).toEqual([]);
  });

  test("whose number the ledger keeps trimmed or in another case is found", async () => {
    const note = await createNote();
    const number = ` ${note.number.toLowerCase()}`;
    await sayOf(note, { CreditNoteNumber: number });
    expect(okOf(await ledger.findCreditNotes(aCall(), { numbers: [note.number] }))).toMatchObject([
      { number },
    ]);
  });

  test.each([
    { Allocations: [{ Amount: 1, Date: "/Date(0)/" }] },
    { RemainingCredit: null },
    { Status: "SENT" },
  ])("that cannot be read whole is not half read: %o", async (fault) => {
    const note = await createNote();
    const unreadable = { kind: "unavailable", outcome: "not_sent" };
    await sayOf(note, fault);
    expect(await ledger.getCreditNote(aCall(), note.id)).toMatchObject(unreadable);
    await sayOf(note, fault);
    expect(await ledger.findCreditNotes(aCall(), { numbers: [note.number] })).toMatchObject(
      unreadable,
    );
  });

  test("is not there under an id that is none", async () => {
    const note = await createNote();
    for (const id of [note.number, `${note.id}/Allocations`, "..", ""]) {
      expect(await watched.getCreditNote(aCall(), id)).toMatchObject({
        kind: "refused",
        reason: "not_found",
      });
    }
    expect(proxy.exchanges).toEqual([]);
  });
});

describe("credit", () => {
  test("is allocated in full or in part, and the note shows the remainder", async () => {
    const note = await createNote();
    const [first, second] = [await createInvoice(), await createInvoice()];
    const part = okOf(await ledger.allocateCredit(aCall("one"), putting(note, first, "10.0100")));
    expect(part).toMatchObject({ status: "approved", remainingCredit: "21.4900" });
    expect(part.allocations).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        invoiceId: first.id,
        amount: "10.0100",
        date: "2026-03-10",
      },
    ]);
    const rest = okOf(await ledger.allocateCredit(aCall("two"), putting(note, second, "21.4900")));
    expect(rest).toMatchObject({ status: "paid", remainingCredit: "0.0000", total: "31.5000" });
    expect(rest.allocations.map(({ invoiceId, amount }) => [invoiceId, amount]).sort()).toEqual(
      [
        [first.id, "10.0100"],
        [second.id, "21.4900"],
      ].sort(),
    );
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toEqual(rest);
    const credited = okOf(await ledger.getInvoice(aCall(), first.id));
    expect(credited).toMatchObject({
      amountCredited: "10.0100",
      amountDue: "21.4900",
      status: "approved",
    });
  });

  test("is sent without the note's other allocations, with an idempotency key", async () => {
    const note = await createNote();
    const [first, second] = [await createInvoice(), await createInvoice()];
    okOf(await watched.allocateCredit(aCall("one"), putting(note, first, "1.1000")));
    okOf(await watched.allocateCredit(aCall("two"), putting(note, second, "2.0000")));
    const puts = proxy.exchanges.filter(({ method }) => method === "PUT");
    expect(puts.map(({ sent }) => sent)).toEqual([
      `{"Allocations":[{"Invoice":{"InvoiceID":"${first.id}"},"Amount":1.1,"Date":"2026-03-10"}]}`,
      `{"Allocations":[{"Invoice":{"InvoiceID":"${second.id}"},"Amount":2,"Date":"2026-03-10"}]}`,
    ]);
    const keys = puts.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
    expect(keys[0]).not.toBe(keys[1]);
  });

  test("pays an invoice off, and money on it forbids to amend or remove it", async () => {
    const [note, invoice] = [await createNote(), await createInvoice()];
    okOf(await ledger.allocateCredit(aCall(), putting(note, invoice, "31.5000")));
    const paid = okOf(await ledger.getInvoice(aCall(), invoice.id));
    expect(paid).toMatchObject({
      status: "paid",
      amountDue: "0.0000",
      amountCredited: "31.5000",
      amountPaid: "0.0000",
    });
    const amendment = { id: invoice.id, allowed: ["approved", "paid"], changes: [] } as const;
    const refused = { kind: "refused", reason: "has_payment_or_credit" };
    expect(await ledger.amendInvoice(aCall(), amendment)).toMatchObject(refused);
    expect(await ledger.removeInvoice(aCall(), invoice.id)).toMatchObject(refused);
  });

  test.each([
    ["more than the note has", "31.5100", {}, { lines: [aLine("10", "10.5000", "105.0000")] }],
    ["more than is due", "31.5100", { lines: [aLine("10", "10.5000", "105.0000")] }, {}],
  ] as const)("%s is refused as too much", async (_what, amount, noteChanges, invoiceChanges) => {
    const [note, invoice] = [await createNote(noteChanges), await createInvoice(invoiceChanges)];
    const answer = await ledger.allocateCredit(aCall(), putting(note, invoice, amount));
    expect(answer).toMatchObject({
      kind: "refused",
      reason: "amount_exceeds",
      messages: [expect.any(String)],
    });
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toEqual(note);
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id))).toEqual(invoice);
  });

  test("to a paid invoice or from a used note is refused as too much", async () => {
    const [note, invoice, other] = [
      await createNote(),
      await createInvoice(),
      await createInvoice(),
    ];
    await pay(other.id);
    const paidOff = await ledger.allocateCredit(aCall(), putting(note, other, "1.0000"));
    expect(paidOff).toMatchObject({ kind: "refused", reason: "amount_exceeds" });
    okOf(await ledger.allocateCredit(aCall(), putting(note, invoice, "31.5000")));
    const usedUp = await ledger.allocateCredit(
      aCall(),
      putting(note, await createInvoice(), "1.0000"),
    );
    expect(usedUp).toMatchObject({ kind: "refused", reason: "amount_exceeds" });
  });

  test.each([
    "draft",
    "awaiting_approval",
  ] as const)("of a note or for an invoice that is %s is refused", async (status) => {
    const refused = {
      kind: "refused",
      reason: "wrong_status",
      messages: [expect.stringMatching(/status/)],
    };
    const note = await createNote({ status });
    expect(
      await ledger.allocateCredit(aCall(), putting(note, await createInvoice(), "1.0000")),
    ).toMatchObject(refused);
    const invoice = await createInvoice({ status });
    expect(
      await ledger.allocateCredit(aCall(), putting(await createNote(), invoice, "1.0000")),
    ).toMatchObject(refused);
  });

  test.each([
    "voided",
    "deleted",
  ])("for an invoice that is %s is refused by its status", async (outcome) => {
    const invoice = await createInvoice({ status: outcome === "voided" ? "approved" : "draft" });
    expect(okOf(await ledger.removeInvoice(aCall(), invoice.id))).toMatchObject({ outcome });
    const answer = await ledger.allocateCredit(
      aCall(),
      putting(await createNote(), invoice, "1.0000"),
    );
    expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
  });

  test("of or to a missing document is refused, without a write for no id", async () => {
    const [note, invoice] = [await createNote(), await createInvoice()];
    const refused = { kind: "refused", reason: "not_found" };
    const id = crypto.randomUUID();
    const application = putting(note, invoice, "1.0000");
    expect(
      await ledger.allocateCredit(aCall(), { ...application, creditNoteId: id }),
    ).toMatchObject(refused);
    expect(await ledger.allocateCredit(aCall(), { ...application, invoiceId: id })).toMatchObject(
      refused,
    );
    for (const wrong of [{ creditNoteId: note.number }, { invoiceId: invoice.number }]) {
      expect(await watched.allocateCredit(aCall(), { ...application, ...wrong })).toMatchObject(
        refused,
      );
    }
    expect(proxy.exchanges).toEqual([]);
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toEqual(note);
  });

  test("for another contact's invoice is refused in the ledger's own words", async () => {
    const other = (await addLedgerContact(connection)).id;
    const answer = okOf(
      await ledger.createInvoices(aCall(), [invoiceDraft(other, { status: "approved" })]),
    );
    const application = putting(await createNote(), okOf(answer[0]), "1.0000");
    const refused = { kind: "refused", messages: [expect.stringMatching(/contact/)] };
    expect(await ledger.allocateCredit(aCall(), application)).toMatchObject(refused);
  });

  test("that a note has not left, asked for many times at once, is never spent twice", async () => {
    const note = await createNote();
    const invoices = await Promise.all(Array.from({ length: 4 }, () => createInvoice()));
    const answers = await Promise.all(
      invoices.map((invoice) =>
        ledger.allocateCredit(aCall(invoice.id), putting(note, invoice, "20.0000")),
      ),
    );
    const refused = answers.filter(
      (answer) => answer.kind === "refused" && answer.reason === "amount_exceeds",
    );
    expect(refused).toHaveLength(3);
    const after = okOf(await ledger.getCreditNote(aCall(), note.id));
    expect(after).toMatchObject({
      remainingCredit: "11.5000",
      allocations: [{ amount: "20.0000" }],
    });
  });
});
