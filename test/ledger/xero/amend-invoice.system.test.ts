/**
 * Amending the lines of an invoice that the ledger has: lines that the amendment does not name
 * stay, and a repeated amendment changes nothing.
 */
import { describe, expect } from "vitest";
import {
  aCall,
  aLine,
  aShortCall,
  okOf,
  sentOnce,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import {
  type AmendmentFixture,
  added,
  named,
  open,
  post,
  amendmentTest as test,
} from "./amend-invoice-fixture.ts";

test.beforeEach(({ fixture }) => fixture.reset());
describe("an amendment", () => {
  test("changes the named line under its id, adds another, and keeps the rest", async ({
    fixture,
  }) => {
    const invoice = await fixture.createInvoice();
    const changes = [added(), named(invoice.lines[0])];
    const amended = okOf(
      await fixture.watched.amendInvoice(aCall("op"), { id: invoice.id, allowed: open, changes }),
    );
    expect(amended.invoice).toMatchObject({
      id: invoice.id,
      number: invoice.number,
      status: "draft",
    });
    expect(amended.invoice.lines).toEqual([
      { ...invoice.lines[0], amount: "42.0000" },
      invoice.lines[1],
      {
        ledgerLineId: amended.lineIds[0],
        description: "Seats 3 to 4 (2.5 × 10.333 = 25.83)",
        amount: "25.8300",
      },
    ]);
    expect(amended.lineIds[1]).toBe(invoice.lines[0]?.ledgerLineId);
    expect(amended.invoice).toMatchObject({
      subtotal: "166.8300",
      total: "166.8300",
      reference: "PO 42",
    });
    expect(okOf(await fixture.ledger.getInvoice(aCall(), invoice.id))).toEqual(amended.invoice);
    // On an update a key could answer with what was before.
    expect(fixture.writes()).toHaveLength(1);
    expect(fixture.writes()[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test.for([
    ["exclusive", "2469135.9800", "14814816.1900"],
    ["inclusive", "2057613.3200", "12345680.2100"],
    ["none", "0.0000", "12345680.2100"],
  ] as const)("is exact if amounts are %s of tax", async ([lineAmounts, tax, total], {
    fixture,
  }) => {
    const invoice = await fixture.createInvoice({
      lineAmounts,
      lines: [aLine("3", "0.3333", "1.0000", "OUTPUT2")],
    });
    const big = added({
      quantity: "0.1",
      unitAmount: "123456789.1000",
      amount: "12345678.9100",
      taxType: "OUTPUT2",
    });
    const small = added({ quantity: "3", unitAmount: "0.1000", amount: "0.3000", taxType: "NONE" });
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [big, small],
    });
    const amended = okOf(answer).invoice;
    expect(amended.lines.map(({ amount }) => amount)).toEqual([
      "1.0000",
      "12345678.9100",
      "0.3000",
    ]);
    expect(amended).toMatchObject({ tax, total });
  });

  test.for([
    ["kind of amounts", { lineAmounts: "inclusive" }, "its amounts are without tax"],
    ["currency", { currency: "EUR" }, "its currency is GBP"],
    ["contact", { contactId: crypto.randomUUID() }, "it is for another contact"],
  ] as const)("of an invoice with another %s is refused without a write", async ([
    _what,
    other,
    words,
  ], { fixture }) => {
    const invoice = await fixture.createInvoice();
    const { contactId, currency } = invoice;
    const meaning = { contactId, currency, lineAmounts: "exclusive" } as const;
    const amendment = { id: invoice.id, allowed: open, changes: [added()] };
    const refused = { ...amendment, meaning: { ...meaning, ...other } };
    expect(await fixture.watched.amendInvoice(aCall(), refused)).toMatchObject({
      kind: "refused",
      reason: "drift",
      messages: [`Invoice ${invoice.number} was changed in the ledger: ${words}.`],
    });
    expect(fixture.writes()).toEqual([]);
    okOf(await fixture.ledger.amendInvoice(aCall(), { ...amendment, meaning }));
  });

  test("of an invoice whose contact was merged into another is made", async ({ fixture }) => {
    const merged = await fixture.addContact();
    const invoice = await fixture.createInvoice({ contactId: merged });
    await fixture.merge(merged);
    const { currency } = invoice;
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      meaning: { contactId: merged, currency, lineAmounts: "exclusive" },
      changes: [added()],
    });
    expect(okOf(answer).invoice).toMatchObject({ contactId: fixture.contactId });
    expect(okOf(answer).invoice.lines).toHaveLength(3);
  });

  test("of lines that another program replaced by equal ones finds them", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    const { LineItems: raw } = await fixture.rawInvoice(invoice.id);
    const without = raw.map(({ LineItemID: _, LineAmount: _amount, ...line }) => line);
    await fixture.byHand(invoice.id, { LineItems: without });
    const [line] = invoice.lines;
    const was = { ...named(line), quantity: "3", amount: "31.5000" };
    const { ledgerLineId: _, ...content } = was;
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [{ ...named(line), was: content }, added()],
    });
    const { invoice: after, lineIds } = okOf(answer);
    expect(after).toMatchObject({ subtotal: "166.8300" });
    expect(after.lines).toHaveLength(3);
    expect(after.lines[0]).toMatchObject({ ledgerLineId: lineIds[0], amount: "42.0000" });
    expect(lineIds[0]).not.toBe(line?.ledgerLineId);
  });

  test("keeps a bookkeeper's line, account, unit price and tax", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    const freight = {
      Description: "Freight",
      Quantity: 2.5,
      UnitAmount: 0.3333,
      AccountCode: "260",
      TaxType: "OUTPUT2",
    };
    const standing = invoice.lines.map(({ ledgerLineId }) => ({ LineItemID: ledgerLineId }));
    await fixture.byHand(invoice.id, { LineItems: [{ ...freight, TaxAmount: 0.05 }, ...standing] });
    const before = (await fixture.rawInvoice(invoice.id)).LineItems;
    const changes = [named(invoice.lines[0]), added()];
    okOf(await fixture.ledger.amendInvoice(aCall(), { id: invoice.id, allowed: open, changes }));
    const after = (await fixture.rawInvoice(invoice.id)).LineItems;
    expect(after).toHaveLength(4);
    expect(after[0]).toEqual(before[0]);
    expect(after[0]).toMatchObject({ ...freight, TaxAmount: 0.05 });
    expect(after[2]).toEqual(before[2]);
  });

  test("repeated changes nothing and sends nothing, and says the same ids", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    const amendment = {
      id: invoice.id,
      allowed: open,
      changes: [named(invoice.lines[1]), added(), added()],
    };
    const first = okOf(await fixture.ledger.amendInvoice(aCall("op"), amendment));
    expect(first.invoice.lines).toHaveLength(4);
    const again = okOf(await fixture.watched.amendInvoice(aCall("op"), amendment));
    expect(again).toEqual(first);
    expect(fixture.writes()).toEqual([]);
  });

  test("of a line that was deleted by hand is refused and adds no line", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    await fixture.byHand(invoice.id, {
      LineItems: [{ LineItemID: invoice.lines[1]?.ledgerLineId }],
    });
    const before = okOf(await fixture.ledger.getInvoice(aCall(), invoice.id));
    const amendment = { id: invoice.id, allowed: open, changes: [named(invoice.lines[0])] };
    expect(await fixture.watched.amendInvoice(aCall(), amendment)).toMatchObject({
      kind: "refused",
      reason: "drift",
    });
    expect(fixture.writes()).toEqual([]);
    expect(okOf(await fixture.ledger.getInvoice(aCall(), invoice.id))).toEqual(before);
  });

  test("that the ledger refuses reports the reason and changes nothing", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    const changes = [named(invoice.lines[0]), added({ accountCode: "205" })];
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes,
    });
    expect(answer).toMatchObject({ kind: "refused", reason: "account_invalid" });
    expect(okOf(await fixture.ledger.getInvoice(aCall(), invoice.id))).toEqual(invoice);
  });
});

describe("an amendment whose answer is lost", () => {
  test.for([
    "drop_before",
    "drop_after",
  ])("(%s) and is repeated gives exactly one added line", async (kind, { fixture }) => {
    const invoice = await fixture.createInvoice();
    const amendment = {
      id: invoice.id,
      allowed: open,
      changes: [named(invoice.lines[0]), added()],
    };
    await fixture.demo.order({ match: post, kind });
    const lost = await fixture.ledger.amendInvoice(aCall("op"), amendment);
    expect(lost).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const again = okOf(await fixture.ledger.amendInvoice(aCall("op"), amendment));
    expect(again.invoice.lines).toHaveLength(3);
    expect(again.invoice).toMatchObject({ total: "166.8300" });
    expect(okOf(await fixture.ledger.amendInvoice(aCall("op"), amendment))).toEqual(again);
  });

  test("because the ledger was slow is unknown, and is there once it is done", async ({
    fixture,
  }) => {
    const invoice = await fixture.createInvoice();
    const amendment = { id: invoice.id, allowed: open, changes: [added()] };
    await fixture.ledger.describe(aCall());
    await fixture.demo.order({ match: post, kind: "slow_before", delayMs: 800 });
    const { answer: lost } = await sentOnce(() =>
      fixture.ledger.amendInvoice(aShortCall("op"), amendment),
    );
    expect(lost).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const linesNow = async () =>
      okOf(await fixture.ledger.getInvoice(aCall(), invoice.id)).lines.length;
    await expect.poll(linesNow).toBe(3);
    expect(
      okOf(await fixture.ledger.amendInvoice(aCall("op"), amendment)).invoice.lines,
    ).toHaveLength(3);
  });

  test("at the first read was not sent", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    await fixture.demo.order({ match: "GET /api.xro/2.0/Invoices", kind: "drop_before" });
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
  });
});

describe("an answer that cannot be trusted", () => {
  // What the ledger says of an invoice, with a part of it made wrong.
  async function answerWith(
    fixture: AmendmentFixture,
    match: string,
    id: string,
    fault: object,
  ): Promise<void> {
    const invoice = await fixture.rawInvoice(id);
    const body = JSON.stringify({ Invoices: [{ ...invoice, ...fault }] });
    await fixture.demo.order({ match, kind: "status", status: 200, body });
  }

  test.for([
    ["no lines", { LineItems: [] }],
    ["lines that are none", { LineItems: null }],
    ["a line without id", { LineItems: [{ Description: "Seats", LineAmount: 31.5 }] }],
    ["a status that nobody knows", { Status: "SENT" }],
  ] as const)("when read, for %s, is followed by no write", async ([_what, fault], { fixture }) => {
    const invoice = await fixture.createInvoice();
    await answerWith(fixture, `GET /api.xro/2.0/Invoices/${invoice.id}`, invoice.id, fault);
    const answer = await fixture.watched.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
    expect(fixture.writes()).toEqual([]);
  });

  const addedLine = {
    LineItemID: "new",
    Description: "Seats 3 to 4 (2.5 × 10.333 = 25.83)",
    LineAmount: 25.83,
  };

  test.for([
    ["without the added line", {}],
    [
      "of another invoice",
      { InvoiceID: "11111111-2222-3333-4444-555555555555", LineItems: [addedLine] },
    ],
    ["without amounts", { Total: null }],
  ] as const)("after the write, %s, leaves it unknown", async ([_what, fault], { fixture }) => {
    const invoice = await fixture.createInvoice();
    await answerWith(fixture, post, invoice.id, fault);
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
  });

  test("but says in a 200 that it was refused, is a refusal", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    const Message =
      "This document cannot be edited as it has a payment or credit note allocated to it.";
    await answerWith(fixture, post, invoice.id, {
      HasErrors: true,
      ValidationErrors: [{ Message }],
    });
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toEqual({
      kind: "refused",
      reason: "has_payment_or_credit",
      messages: [Message],
    });
  });
});
