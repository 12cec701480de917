/** What a preview takes for granted of the ledger, and what it shows of overdue documents. */
import { describe, expect, test } from "vitest";
import type { BillingState } from "../../../src/domain/model/billing-state.ts";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { previewEnd } from "../../../src/domain/previews/end.ts";
import { previewUnitsChange } from "../../../src/domain/previews/operations.ts";
import { billDue, type Preview } from "../../../src/domain/previews/preview.ts";
import { decideUpcoming } from "../../../src/domain/previews/upcoming.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { noNextPeriodLines } from "../../../src/domain/subscriptions/reversal.ts";
import { usageOf } from "../billing/open-usage-builder.ts";
import { changeTo, issued, stateOf } from "../subscriptions/billing-state-builder.ts";

const waiting = { status: "scheduled", inLedger: false, isPlanLineKnown: false } as const;
const half = { from: "2026-06-16" };

/** Each invoice as its type, its state and the amounts of its lines. */
const issuedBy = ({ issued: all }: Preview) =>
  all.map(({ draft, isDue }) =>
    [
      `${isDue ? "overdue " : ""}${draft.type} of ${draft.periodIndex}:`,
      ...draft.lines.map(({ amount }) => formatDecimal(amount)),
    ].join(" "),
  );

function refusalOf(run: () => unknown): readonly unknown[] {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param, error.message];
    throw error;
  }
  return [];
}

describe("a change of units", () => {
  test("amends an invoice that is still to be sent, as if the ledger accepted it", () => {
    const state = stateOf({ today: "2026-06-20", next: {}, renewalInvoice: waiting });
    const preview = previewUnitsChange(billDue(state), changeTo(12, { document: "amend" }));
    expect(preview.amended.map(({ invoiceId }) => invoiceId)).toEqual(["renewal 6"]);
    expect(preview.assumptions).toEqual(["invoices_accepted", "amendments_accepted"]);
    expect(preview.state.invoices[0]?.status).toBe("scheduled");
  });

  test("is refused like the operation if the invoice to amend is in the ledger and paid", () => {
    const state = stateOf({
      today: "2026-06-20",
      next: {},
      renewalInvoice: { status: "paid", amountDue: parseDecimal("0") },
    });
    const change = () => previewUnitsChange(billDue(state), changeTo(12, { document: "amend" }));
    expect(refusalOf(change)[0]).toBe("renewal_invoice_not_amendable");
  });

  test("bills a charge separately while the draft that it would join is still to be sent", () => {
    const invoices = [issued({ ...waiting })];
    const separate = previewUnitsChange(billDue(stateOf({ invoices })), changeTo(12, half));
    expect([separate.amended, issuedBy(separate)]).toEqual([[], ["change of 5: 10.0000"]]);
    const joined = previewUnitsChange(
      billDue(stateOf({ invoices: [issued()] })),
      changeTo(12, half),
    );
    expect([joined.amended.length, issuedBy(joined)]).toEqual([1, []]);
  });

  test("follows the renewals that are overdue, whose invoices have no number yet", () => {
    const late = stateOf({ today: "2026-08-25", organisation: { invoiceCreateDays: 10 } });
    const due = billDue(late);
    expect(issuedBy(due)).toEqual([
      "overdue renewal of 6: 100.0000",
      "overdue renewal of 7: 100.0000",
      "overdue renewal of 8: 100.0000",
    ]);
    expect(refusalOf(() => previewUnitsChange(due, changeTo(12)))).toEqual([
      "document_required",
      "document",
      "document is required: the renewal invoice (new) is there already. Send amend or separate.",
    ]);
    const separate = changeTo(12, { document: "separate" });
    expect(issuedBy(previewUnitsChange(due, separate)).at(-1)).toBe("change of 7: 20.0000");
  });
});

test("an end removes the renewal invoice that is overdue and returns its deferred amounts", () => {
  const deferred = [
    {
      id: "deferred",
      name: "Seats",
      description: "10 to 12",
      amount: parseDecimal("20.00"),
      period: stateOf().period,
      fromUnits: 10,
      toUnits: 12,
      daysRemaining: 30,
      daysInPeriod: 30,
    },
  ];
  const state = stateOf({
    today: "2026-06-25",
    deferred,
    organisation: { invoiceCreateDays: 10 },
  });
  const facts = { invoices: [], next: noNextPeriodLines, deferred };
  const request = {
    when: "now",
    deleteUnsentInvoices: false,
    voidApprovedInvoices: false,
  } as const;
  const preview = previewEnd(billDue(state), facts, request);
  expect(issuedBy(preview)).toEqual([
    "overdue renewal of 6: 100.0000 20.0000",
    "change of 5: 20.0000",
  ]);
  expect(preview.removed).toEqual([{ invoiceId: preview.issued[0]?.id, onlyUnsent: false }]);
  expect([preview.state.subscription.status, preview.state.deferred]).toEqual(["ended", []]);
});

describe("the upcoming invoice", () => {
  const linesOf = (state: BillingState) =>
    decideUpcoming(state)?.invoices.flatMap(({ lines }) =>
      lines.map(({ kind, amount }) => `${kind} ${formatDecimal(amount)}`),
    );

  test("has the usage so far after the plan, whichever document bills it", () => {
    const usage = [usageOf("7")];
    for (const firstInvoiceStatus of ["draft", "approved"] as const) {
      const state = stateOf({ usage, organisation: { firstInvoiceStatus } });
      expect(linesOf(state)).toEqual(["plan 100.0000", "usage 3.5000"]);
    }
    const ahead = stateOf({ today: "2026-06-20", usage, next: {}, renewalInvoice: {} });
    expect([decideUpcoming(ahead)?.ahead?.id, linesOf(ahead)]).toEqual([
      "renewal 6",
      ["usage 3.5000"],
    ]);
  });

  test("has no line for usage over nothing if no document gets one", () => {
    const usage = [usageOf("0.0001")];
    const lines = (invoiceCreateDays: number) =>
      linesOf(stateOf({ usage, organisation: { invoiceCreateDays } }));
    // Without Create Days the usage joins the renewal invoice, also a line over nothing.
    expect([lines(0), lines(14)]).toEqual([["plan 100.0000", "usage 0.0000"], ["plan 100.0000"]]);
  });

  test("has no lines in Setup Mode, and is none once the subscription is over", () => {
    expect(linesOf(stateOf({ organisation: { setupMode: true } }))).toEqual([]);
    for (const status of ["ended", "complete"] as const)
      expect(decideUpcoming(stateOf({ subscription: { status } }))).toBeNull();
  });

  test("is refused if its usage comes to more than an invoice can hold", () => {
    const usage = [usageOf("9".repeat(16))];
    expect(refusalOf(() => decideUpcoming(stateOf({ usage })))[0]).toBe("invalid_state");
  });
});
