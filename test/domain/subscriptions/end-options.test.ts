/** The invoice options of an end: which invoices they remove, in which order. */
import { describe, expect, it } from "vitest";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";
import { decideEnd, type EndRequest } from "../../../src/domain/subscriptions/end.ts";
import { stateOf } from "./billing-state-builder.ts";
import {
  atPeriodEnd,
  both,
  end,
  inWindow,
  open,
  refusal,
  removals,
  running,
} from "./end-builder.ts";

const d = parseDecimal;

describe("the invoice options", () => {
  const invoices = [
    open("change", { type: "change" }),
    open("sent draft", { sent: true }),
    open("awaiting", { status: "awaiting_approval" }),
    open("approved", { status: "approved" }),
    open("approved and sent", { status: "approved", sent: true }),
    open("partly paid", { status: "approved", amountDue: d("40.00") }),
    open("paid", { status: "paid", amountDue: ZERO }),
    open("over nothing", { status: "paid", total: ZERO, amountDue: ZERO }),
    open("refused by the ledger", { status: "not_in_external", inLedger: false }),
    open("usage", { type: "usage" }),
    open("to be sent", { status: "scheduled", inLedger: false }),
  ];
  const unsent = ["change", "awaiting", "usage", "to be sent"];
  const order = { invoices: [] };

  it("delete unsent drafts and invoices awaiting approval, of any period, newest first", () => {
    expect(removals(order, end({ deleteUnsentInvoices: true }), invoices)).toEqual(unsent);
  });

  it("void approved ones with nothing paid or credited, sent or not, newest first", () => {
    const request = end({ voidApprovedInvoices: true });
    expect(removals(order, request, invoices)).toEqual(["approved", "approved and sent"]);
  });

  it("void also invoices that would be approved once they are in the ledger", () => {
    const approving = { ...order, organisation: { firstInvoiceStatus: "approved" } } as const;
    const request = end({ voidApprovedInvoices: true });
    expect(removals(approving, request, invoices)).toEqual([
      "approved",
      "approved and sent",
      "to be sent",
    ]);
  });

  it("remove both kinds in the order of the invoices, unless paid or not in the ledger", () => {
    const wanted = ["change", "awaiting", "approved", "approved and sent", "usage", "to be sent"];
    expect(removals(order, both, invoices)).toEqual(wanted);
  });

  it("come after the renewal invoice, which is removed first and once", () => {
    const change = open("newest", { type: "change", periodIndex: 5 });
    const state = stateOf({ renewalInvoice: {}, ...inWindow });
    const [renewal, current] = state.invoices.map((invoice) => ({ ...invoice, sent: false }));
    if (renewal === undefined || current === undefined) throw new Error("two invoices");
    const decision = decideEnd({ state, invoices: [change, renewal, current] }, both);
    expect(decision).toEqual({
      kind: "ends",
      removals: ["renewal 6", "newest", "renewal 5"],
      onlyUnsent: [],
    });
  });

  it("delete invoices still unsent in the ledger, and the renewal invoice in any state", () => {
    const state = stateOf({ renewalInvoice: {}, ...inWindow });
    const ahead = state.invoices.map((invoice) => ({ ...invoice, sent: false })).slice(0, 1);
    const onlyUnsent = (request: EndRequest) => {
      const decision = decideEnd({ state, invoices: [...ahead, ...invoices] }, request);
      return decision.kind === "ends" && decision.onlyUnsent;
    };
    expect(onlyUnsent(end({ deleteUnsentInvoices: true }))).toEqual([
      "change",
      "awaiting",
      "usage",
    ]);
    expect(onlyUnsent(both)).toEqual([]);
    expect(onlyUnsent(end({ voidApprovedInvoices: true }))).toEqual([]);
    expect(onlyUnsent(atPeriodEnd)).toEqual([]);
  });

  it.each([
    ["delete_unsent_invoices", { deleteUnsentInvoices: true }],
    ["void_approved_invoices", { voidApprovedInvoices: true }],
    ["delete_unsent_invoices", { deleteUnsentInvoices: true, voidApprovedInvoices: true }],
  ])("are refused with period_end before anything else: %s %o", (param, options) => {
    const request = { ...atPeriodEnd, ...options };
    const message = `${param} is allowed with when now only.`;
    for (const order of [
      {},
      { subscription: { status: "ended" } },
      { running: running() },
    ] as const) {
      expect(refusal(order, request)).toEqual(["invoice_option_not_allowed", param, message]);
    }
  });
});
