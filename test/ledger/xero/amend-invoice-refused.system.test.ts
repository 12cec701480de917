/** Amending an invoice that must not be changed is refused without a write. */
import { describe, expect } from "vitest";
import { aCall, okOf } from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { LedgerInvoice, LedgerInvoiceStatus } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import {
  type AmendmentFixture,
  added,
  named,
  open,
  post,
  amendmentTest as test,
} from "./amend-invoice-fixture.ts";

test.beforeEach(({ fixture }) => fixture.reset());
describe("an invoice that must not be changed", () => {
  async function inStatus(
    fixture: AmendmentFixture,
    status: LedgerInvoiceStatus,
  ): Promise<LedgerInvoice> {
    const isOpen = status === "draft" || status === "awaiting_approval" || status === "approved";
    const invoice = await fixture.createInvoice({
      status: isOpen ? status : status === "deleted" ? "draft" : "approved",
    });
    if (status === "paid") await fixture.pay(invoice.id);
    if (status === "voided" || status === "deleted")
      okOf(await fixture.ledger.removeInvoice(aCall(), invoice.id));
    return okOf(await fixture.ledger.getInvoice(aCall(), invoice.id));
  }

  test.for([
    ["draft", ["approved"], "is a draft; its lines can be changed while it is approved."],
    [
      "awaiting_approval",
      ["draft"],
      "is awaiting approval; its lines can be changed while it is a draft.",
    ],
    [
      "approved",
      ["draft", "awaiting_approval"],
      "is approved; its lines can be changed while it is a draft or",
    ],
    ["paid", open, "is paid; its lines"],
    ["voided", open, "is voided; its lines"],
    ["deleted", open, "is deleted; its lines"],
  ] as const)("because it is %s is refused without a write", async ([status, allowed, words], {
    fixture,
  }) => {
    const invoice = await inStatus(fixture, status);
    const changes = [named(invoice.lines[0]), added()];
    const answer = await fixture.watched.amendInvoice(aCall(), {
      id: invoice.id,
      allowed,
      changes,
    });
    expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(answer).toMatchObject({
      messages: [expect.stringContaining(`Invoice ${invoice.number} ${words}`)],
    });
    expect(fixture.writes()).toEqual([]);
    expect(okOf(await fixture.ledger.getInvoice(aCall(), invoice.id))).toEqual(invoice);
  });

  test.for([
    "draft",
    "awaiting_approval",
    "approved",
  ] as const)("is none that is %s and may be", async (status, { fixture }) => {
    const invoice = await inStatus(fixture, status);
    const answer = await fixture.ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: [status],
      changes: [added()],
    });
    expect(okOf(answer).invoice).toMatchObject({ status, total: "156.3300" });
  });

  test("because money is on it is refused without a write", async ({ fixture }) => {
    const invoice = await fixture.createInvoice({ status: "approved" });
    await fixture.pay(invoice.id, 1);
    const answer = await fixture.watched.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "refused", reason: "has_payment_or_credit" });
    const paid = await fixture.createInvoice({ status: "approved" });
    await fixture.pay(paid.id);
    const other = await fixture.watched.amendInvoice(aCall(), {
      id: paid.id,
      allowed: ["paid"],
      changes: [added()],
    });
    expect(other).toMatchObject({ kind: "refused", reason: "has_payment_or_credit" });
    expect(fixture.writes()).toEqual([]);
  });

  test("because the ledger has no invoice of this id is refused", async ({ fixture }) => {
    const other = createXeroLedger(await fixture.demo.connect());
    const theirs = await fixture.createInvoice();
    for (const [from, id] of [
      [fixture.watched, crypto.randomUUID()],
      [fixture.watched, `../Contacts/${fixture.contactId}`],
      [fixture.watched, theirs.number],
      [other, theirs.id],
    ] as const) {
      const answer = await from.amendInvoice(aCall(), { id, allowed: open, changes: [added()] });
      expect(answer).toMatchObject({ kind: "refused", reason: "not_found" });
    }
    expect(fixture.writes()).toEqual([]);
    await other.close();
  });

  async function whileItWaits<T>(
    fixture: AmendmentFixture,
    start: () => Promise<T>,
    then: () => Promise<void>,
  ): Promise<T> {
    await fixture.demo.order({ match: post, kind: "slow_before", delayMs: 1_500 });
    const started = start();
    const left = async () => {
      const answer = await fetch(`${fixture.demo.demo.url}/demo/faults`);
      return ((await answer.json()) as { left: number }).left;
    };
    await expect.poll(left, { interval: 20 }).toBe(0);
    await then();
    return started;
  }

  test("because it was approved after we read it is refused by the ledger", async ({ fixture }) => {
    const invoice = await fixture.createInvoice();
    const answer = await whileItWaits(
      fixture,
      () =>
        fixture.ledger.amendInvoice(aCall(), {
          id: invoice.id,
          allowed: ["draft"],
          changes: [added()],
        }),
      () => fixture.byHand(invoice.id, { Status: "AUTHORISED" }),
    );
    expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(okOf(await fixture.ledger.getInvoice(aCall(), invoice.id)).lines).toEqual(invoice.lines);
  });

  test("because money came onto it after we read it is refused by the ledger", async ({
    fixture,
  }) => {
    const invoice = await fixture.createInvoice({ status: "approved" });
    const answer = await whileItWaits(
      fixture,
      () =>
        fixture.ledger.amendInvoice(aCall(), { id: invoice.id, allowed: open, changes: [added()] }),
      () => fixture.pay(invoice.id, 1),
    );
    expect(answer).toMatchObject({ kind: "refused", reason: "has_payment_or_credit" });
    expect(okOf(await fixture.ledger.getInvoice(aCall(), invoice.id)).lines).toEqual(invoice.lines);
  });
});
