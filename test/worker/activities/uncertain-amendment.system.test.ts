/**
 * An amendment whose earlier answer was lost, of an invoice whose lines another program replaced
 * since: nothing is billed twice (LEDGER-2, LEDGER-13).
 */
import { expect } from "vitest";
import { unknownReferenceData } from "../../../src/domain/ledger/validation.ts";
import type { AmendmentToSend } from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import { requestAmendment } from "../../../src/worker/activities/posting/request-amendment.ts";
import {
  type AmendmentFixture,
  amendmentTest as test,
} from "../../ledger/xero/amend-invoice-fixture.ts";

const deadlineMs = 10_000;

/** An amendment that adds a line to an invoice, all lines of which a program has replaced. */
async function replaced(
  fixture: AmendmentFixture,
  attempts: number,
  amounts: readonly number[],
): Promise<AmendmentToSend> {
  const invoice = await fixture.createInvoice();
  const lines = amounts.map((UnitAmount, at) => {
    return { Description: `Other ${at}`, Quantity: 1, UnitAmount, AccountCode: "200" };
  });
  await fixture.byHand(invoice.id, { LineItems: lines });
  const content = { units: null, unitPrice: null, revenueAccount: "200", taxType: null };
  const plan = { kind: "plan", name: "Seats", description: "4 × 10.5", amount: "42.0000" } as const;
  const was = { units: null, unitPrice: null, description: "3 × 10.5", amount: "31.5000" };
  const ledgerLineId = invoice.lines[0]?.ledgerLineId ?? "";
  return {
    ...{ id: crypto.randomUUID(), attempts, joins: false, isAwaited: false, skipValidation: false },
    ...{ subscriptionId: "s", invoiceId: "i", number: invoice.number, ledgerId: invoice.id },
    ...{ currency: invoice.currency, contactId: invoice.contactId },
    ledgerSubtotal: invoice.subtotal,
    lines: [{ id: "l", ...content, ...plan, ledgerLineId, amending: true, was }],
  };
}

const outcomeOf = async (fixture: AmendmentFixture, amendment: AmendmentToSend) =>
  (await requestAmendment(fixture.ledger, amendment, deadlineMs, unknownReferenceData)).outcome;

test("a first attempt is closed, whatever the lines come to", async ({ fixture }) => {
  const amendment = await replaced(fixture, 1, [42, 99]);
  expect(await outcomeOf(fixture, amendment)).toMatchObject({
    kind: "closed",
    reason: "drift",
    isRepriceable: false,
  });
});

test("a repeat is closed if the lines come to what they did before it", async ({ fixture }) => {
  const amendment = await replaced(fixture, 2, [130.5]);
  expect(await outcomeOf(fixture, amendment)).toMatchObject({ kind: "closed", reason: "drift" });
});

test("a repeat waits for an operator if they come to something else", async ({ fixture }) => {
  const amendment = await replaced(fixture, 2, [42, 99]);
  expect(await outcomeOf(fixture, amendment)).toMatchObject({
    kind: "refused",
    reason: "drift",
    message: expect.stringContaining("come to 141.0000 there: compare them"),
  });
});
