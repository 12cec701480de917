/** Ends: every rule of the specification with both options, the order of removals, the refusals, and what is written at the end. */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import type { IssuedInvoice } from "../../../src/domain/subscriptions/billing-state.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import {
  decideEnd,
  decideEnded,
  type EndRequest,
  type OpenInvoice,
} from "../../../src/domain/subscriptions/end.ts";
import {
  afterChange,
  changeTo,
  issued,
  type StateOrder,
  stateOf,
  dueSummary,
  invoiceSummary,
} from "./billing-state-builder.ts";

const d = parseDecimal;
const inWindow = { today: "2026-06-20" };

/** An end with `now`, or what is said. */
function end(differs: Partial<EndRequest> = {}): EndRequest {
  return { when: "now", deleteUnsentInvoices: false, voidApprovedInvoices: false, ...differs };
}

const atPeriodEnd = end({ when: "period_end" });
const both = end({ deleteUnsentInvoices: true, voidApprovedInvoices: true });

/** An invoice that an option may ask for: not sent, of an earlier period. */
function open(id: string, differs: Partial<OpenInvoice> = {}): OpenInvoice {
  return { ...issued({ periodIndex: 3 }), id, number: id, sent: false, ...differs };
}

/** What is removed for a request, by the ids of the invoices. */
function removals(
  order: StateOrder,
  request: EndRequest,
  invoices: readonly OpenInvoice[] = [],
): readonly string[] {
  const state = stateOf(order);
  const all = [...state.invoices.map((invoice) => ({ ...invoice, sent: false })), ...invoices];
  const decision = decideEnd({ state, invoices: all }, request);
  if (decision.kind !== "ends") throw new Error(decision.kind);
  return decision.removals;
}

function refusal(order: StateOrder, request: EndRequest): [string, string | null, string] {
  const state = stateOf(order);
  try {
    decideEnd(
      { state, invoices: state.invoices.map((invoice) => ({ ...invoice, sent: false })) },
      request,
    );
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param, error.message];
    throw error;
  }
  return ["accepted", null, ""];
}

describe("an end", () => {
  it.each([
    end(),
    atPeriodEnd,
  ])("removes nothing where no renewal invoice is there: %o", (request) => {
    expect(removals({}, request)).toEqual([]);
    expect(removals({ renewalInvoice: null, ...inWindow }, request)).toEqual([]);
  });

  it.each([
    "scheduled",
    "not_in_external",
    "draft",
    "awaiting_approval",
    "approved",
  ] as const)("removes a renewal invoice issued ahead that is %s, now or at period end", (status) => {
    for (const request of [end(), atPeriodEnd]) {
      expect(removals({ renewalInvoice: { status }, ...inWindow }, request)).toEqual(["renewal 6"]);
    }
  });

  it("removes a renewal invoice over nothing, which the ledger has as paid", () => {
    const renewalInvoice = { status: "paid", total: ZERO, amountDue: ZERO } as const;
    expect(removals({ renewalInvoice, ...inWindow }, end())).toEqual(["renewal 6"]);
  });

  it("leaves the invoices of the current and of earlier periods where no option asks for them", () => {
    expect(removals({}, end(), [open("a"), open("b", { status: "approved" })])).toEqual([]);
  });
});

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

  it("delete never-sent drafts and those awaiting approval, of any period and type, newest first", () => {
    expect(removals(order, end({ deleteUnsentInvoices: true }), invoices)).toEqual(unsent);
  });

  it("void approved ones with nothing paid or credited, sent or not, newest first", () => {
    const request = end({ voidApprovedInvoices: true });
    expect(removals(order, request, invoices)).toEqual(["approved", "approved and sent"]);
  });

  it("void also what would be approved once it is sent to the ledger", () => {
    const approving = { ...order, organisation: { firstInvoiceStatus: "approved" } } as const;
    const request = end({ voidApprovedInvoices: true });
    expect(removals(approving, request, invoices)).toEqual([
      "approved",
      "approved and sent",
      "to be sent",
    ]);
  });

  it("both remove all of them in the order of the invoices, and leave alone what carries money or is not in the ledger", () => {
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

  it("delete what was never sent only as long as it is so in the ledger; the renewal invoice goes whatever it is there", () => {
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

function running() {
  return {
    kind: "end_subscription",
    id: "ending",
    description: "the subscription is being ended",
  } as const;
}

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
      "in Setup Mode with an option, also where it would remove nothing",
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

  it("in Setup Mode with a deferred amount where it ends now, and not at period end", () => {
    const deferring = changeTo(12, { from: "2026-06-16", behaviour: "charge_on_renewal" });
    const { deferred } = afterChange(stateOf(), decideUnitsChange(stateOf(), deferring));
    const message =
      "The organisation is in Setup Mode: a deferred amount would have to be invoiced.";
    expect(refusal({ ...setupMode, deferred }, end())).toEqual(["invalid_state", null, message]);
    expect(refusal({ ...setupMode, deferred }, atPeriodEnd)[0]).toBe("accepted");
    expect(refusal(setupMode, end())[0]).toBe("accepted");
  });
});

describe("period_end", () => {
  const setToEnd = { subscription: { cancelAtPeriodEnd: true, endDate: civilDate("2026-07-01") } };

  it("keeps it active until its renewal date, on which it completes", () => {
    const ended = decideEnded(stateOf(), "period_end");
    expect(ended).toMatchObject({ dueDate: "2026-07-01", invoices: [] });
    expect(ended.subscription).toMatchObject({
      status: "active",
      cancelAtPeriodEnd: true,
      endDate: "2026-07-01",
    });
    const state = { ...stateOf({ today: "2026-07-01" }), subscription: ended.subscription };
    expect(dueSummary(decideDue(state))).toEqual({
      is: "complete, in 5, until 2026-07-01",
      periods: [],
      invoices: [],
    });
    expect(dueSummary(decideDue({ ...state, today: civilDate("2026-06-30") }))).toBeNull();
  });

  it("of a pending one ends with the first period, which is billed", () => {
    const pending = {
      index: 0,
      startDate: "2026-07-01",
      today: "2026-06-10",
      subscription: { status: "pending" },
    };
    const order = pending as StateOrder;
    expect(removals(order, atPeriodEnd)).toEqual([]);
    const ended = decideEnded(stateOf(order), "period_end");
    expect(ended).toMatchObject({ dueDate: "2026-07-01", invoices: [] });
    expect(ended.subscription).toMatchObject({
      status: "pending",
      cancelAtPeriodEnd: true,
      endDate: "2026-08-01",
    });
  });

  it("twice changes nothing, and now after it ends at once", () => {
    const state = stateOf(setToEnd);
    expect(decideEnd({ state, invoices: [] }, atPeriodEnd)).toEqual({ kind: "unchanged" });
    expect(decideEnd({ state, invoices: [] }, end())).toEqual({
      kind: "ends",
      removals: [],
      onlyUnsent: [],
    });
    const { subscription } = decideEnded(state, "now");
    expect(subscription).toMatchObject({
      status: "ended",
      cancelAtPeriodEnd: false,
      endDate: "2026-06-10",
    });
  });

  it("shortens one that would have ended after more cycles, and its final cycle still differs", () => {
    const cycles = { endAfterCycles: 8, endDate: civilDate("2026-09-01") };
    expect(decideEnded(stateOf({ subscription: cycles }), "period_end").subscription).toMatchObject(
      {
        cancelAtPeriodEnd: true,
        endDate: "2026-07-01",
        endAfterCycles: 8,
      },
    );
    const final = { endAfterCycles: 6, endDate: civilDate("2026-07-01") };
    expect(removals({ subscription: final }, atPeriodEnd)).toEqual([]);
    expect(
      decideEnded(stateOf({ subscription: final }), "period_end").subscription.cancelAtPeriodEnd,
    ).toBe(true);
  });

  it("leaves deferred amounts to its completion", () => {
    const deferring = changeTo(12, { from: "2026-06-16", behaviour: "charge_on_renewal" });
    const state = afterChange(stateOf(), decideUnitsChange(stateOf(), deferring));
    expect(decideEnded(state, "period_end").invoices).toEqual([]);
  });
});

describe("now", () => {
  it("ends it today: the renewal date stays, nothing is due any more, nothing of the period is given back", () => {
    const { subscription, dueDate, invoices } = decideEnded(stateOf(), "now");
    expect(subscription).toMatchObject({
      status: "ended",
      endDate: "2026-06-10",
      renewalDate: "2026-07-01",
      units: 10,
    });
    expect([dueDate, invoices]).toEqual([null, []]);
  });

  it("bills what was deferred, on one invoice of type change of the current period", () => {
    const deferring = (units: number) =>
      changeTo(units, { from: "2026-06-16", behaviour: "charge_on_renewal" });
    const once = afterChange(stateOf(), decideUnitsChange(stateOf(), deferring(12)));
    const state = {
      ...afterChange(once, decideUnitsChange(once, deferring(14))),
      today: civilDate("2026-06-20"),
    };
    const { invoices } = decideEnded(state, "now");
    expect(invoices).toHaveLength(1);
    const [invoice] = invoices;
    expect(invoice?.deferredIds).toEqual(["deferred 0", "deferred 1"]);
    expect(invoice?.draft).toMatchObject({
      type: "change",
      periodIndex: 5,
      issueDate: "2026-06-20",
    });
    expect(invoice && invoiceSummary(invoice.draft)).toEqual([
      "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30",
      "10.0000 for 2026-06-16 to 2026-07-01: 12 to 14 seats, 15 of 30 days: (140 − 120) × 15 ÷ 30",
    ]);
  });

  it("ends a pending one before it began: its first invoice is removed, unless money is on it", () => {
    const first = (differs: Partial<IssuedInvoice> = {}): StateOrder => ({
      index: 0,
      startDate: "2026-07-01",
      today: "2026-06-10",
      subscription: { status: "pending" },
      invoices: [issued({ type: "first", periodIndex: 0, number: "INV-0001", ...differs })],
    });
    expect(removals(first(), end())).toEqual(["first 0"]);
    expect(removals({ ...first(), invoices: [] }, end())).toEqual([]);
    const message =
      "The first invoice INV-0001 has a payment or credit on it: it cannot be removed.";
    expect(refusal(first({ amountDue: d("1.00") }), end())).toEqual([
      "invalid_state",
      null,
      message,
    ]);
    const { subscription } = decideEnded(stateOf(first()), "now");
    expect(subscription).toMatchObject({
      status: "ended",
      endDate: "2026-06-10",
      startDate: "2026-07-01",
    });
  });

  it("that the ledger held up beyond the renewal date ends it on that: the next period was never billed", () => {
    const late = decideEnded(stateOf({ today: "2026-07-03" }), "now");
    expect(late.subscription).toMatchObject({ status: "ended", endDate: "2026-07-01" });
  });
});
