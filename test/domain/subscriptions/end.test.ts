/** What an end removes without options, and its refusals. */
import { describe, expect, it } from "vitest";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import type { EndRequest } from "../../../src/domain/subscriptions/end.ts";
import { afterChange, changeTo, type StateOrder, stateOf } from "./billing-state-builder.ts";
import { atPeriodEnd, end, inWindow, open, refusal, removals, running } from "./end-builder.ts";

const d = parseDecimal;

describe("an end", () => {
  it.each([end(), atPeriodEnd])("removes nothing if there is no renewal invoice: %o", (request) => {
    expect(removals({}, request)).toEqual([]);
    expect(removals({ renewalInvoice: null, ...inWindow }, request)).toEqual([]);
  });

  it.each([
    "scheduled",
    "not_in_external",
    "draft",
    "awaiting_approval",
    "approved",
  ] as const)("removes a renewal invoice issued ahead that is %s", (status) => {
    for (const request of [end(), atPeriodEnd]) {
      expect(removals({ renewalInvoice: { status }, ...inWindow }, request)).toEqual(["renewal 6"]);
    }
  });

  it("removes a renewal invoice over nothing, which the ledger has as paid", () => {
    const renewalInvoice = { status: "paid", total: ZERO, amountDue: ZERO } as const;
    expect(removals({ renewalInvoice, ...inWindow }, end())).toEqual(["renewal 6"]);
  });

  it("leaves invoices of current and earlier periods without an option", () => {
    expect(removals({}, end(), [open("a"), open("b", { status: "approved" })])).toEqual([]);
  });
});

const paidAhead = {
  renewalInvoice: { status: "approved", amountDue: d("60.00") },
  ...inWindow,
} as const;

describe("an end is refused with invalid_state", () => {
  const setupMode = { organisation: { setupMode: true } };
  it.each<[string, StateOrder, EndRequest, string]>([
    [
      "while another operation runs, whatever else",
      { running: running(), subscription: { status: "ended" } },
      end(),
      "Another operation on this subscription is still running: the subscription is being ended.",
    ],
    [
      "of an ended one",
      { subscription: { status: "ended" } },
      end(),
      "The subscription has ended already.",
    ],
    [
      "of an ended one at period end",
      { subscription: { status: "ended" } },
      atPeriodEnd,
      "The subscription has ended already.",
    ],
    [
      "of a complete one",
      { subscription: { status: "complete" }, ...setupMode },
      end(),
      "The subscription is complete already: it ran to the end of its last period.",
    ],
    [
      "in Setup Mode with an option, also if it would remove nothing",
      setupMode,
      end({ voidApprovedInvoices: true }),
      "The organisation is in Setup Mode: no invoice can be removed.",
    ],
    [
      "in Setup Mode with a renewal invoice from before",
      { ...setupMode, ...paidAhead },
      atPeriodEnd,
      "The organisation is in Setup Mode: the renewal invoice INV-0006 would have to be removed.",
    ],
    [
      "while the renewal invoice is partly paid or credited",
      paidAhead,
      end(),
      "The renewal invoice INV-0006 has a payment or credit on it: it cannot be removed.",
    ],
    [
      "while the renewal invoice is paid",
      { renewalInvoice: { status: "paid", amountDue: ZERO }, ...inWindow },
      atPeriodEnd,
      "The renewal invoice INV-0006 has a payment or credit on it: it cannot be removed.",
    ],
  ])("%s", (_, order, request, message) => {
    expect(refusal(order, request)).toEqual(["invalid_state", null, message]);
  });

  it("in Setup Mode with a deferred amount if it ends now, not at period end", () => {
    const deferring = changeTo(12, { from: "2026-06-16", behaviour: "charge_on_renewal" });
    const { deferred } = afterChange(stateOf(), decideUnitsChange(stateOf(), deferring));
    const message =
      "The organisation is in Setup Mode: a deferred amount would have to be invoiced.";
    expect(refusal({ ...setupMode, deferred }, end())).toEqual(["invalid_state", null, message]);
    expect(refusal({ ...setupMode, deferred }, atPeriodEnd)[0]).toBe("accepted");
    expect(refusal(setupMode, end())[0]).toBe("accepted");
  });
});
