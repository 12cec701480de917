/**
 * The document that bills usage, and the day: at renewals, completions and ends, late, and around
 * Setup Mode. USAGE-9, USAGE-10, USAGE-15.
 */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { RunningJob } from "../../../src/domain/model/billing-state.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { afterDue, type StateOrder, stateOf } from "../subscriptions/billing-state-builder.ts";
import { closeSummary, meterOf, storage, usageOf } from "./open-usage-builder.ts";

const d = parseDecimal;
/** Four calls in June, the period that ends on the renewal date. */
const june = usageOf("4");
const free = usageOf("7", { meter: meterOf({ id: "free", price: d("0") }) });
/** Storage in June, some of it after a first bill: it is 9.00 cheaper. */
const cheaper = usageOf("1", { meter: storage, before: "10" });
const july = ["2026-07-01", "2026-08-01"] as const;
const plan = (start: string, end: string) => `100.0000 for ${start} to ${end}: 10 × 10.0000`;
const juneLine = "2.0000 for 2026-06-01 to 2026-07-01: 4 call: 4 × 0.5000";
const freeLine = "0.0000 for 2026-06-01 to 2026-07-01: 7 call: 7 × 0.0000";
const credit =
  "9.0000 from 2026-06-01: 1 GB more in the period from 2026-06-01: " +
  "11 × 1.0000 for 11, less 10 × 2.0000 for 10";
const amending: RunningJob = {
  id: "op",
  kind: "amend_invoice",
  description: "invoice INV-0006 is being amended",
};

/** What is due on the renewal date, 1 July 2026, or on another day. */
function due(order: StateOrder, today = "2026-07-01"): unknown {
  const decision = decideDue(stateOf({ today, ...order }));
  return decision && closeSummary(decision);
}

describe("usage at a renewal", () => {
  it("joins a new draft behind the plan line, lines of zero included", () => {
    expect(due({ usage: [june, free] })).toEqual({
      bills: "1 to 1",
      invoices: [
        [
          "renewal of 6",
          plan(...july),
          juneLine,
          freeLine,
          "calls of 5 in bill 0",
          "free of 5 in bill 0",
        ],
      ],
    });
    expect(due({ usage: [free] })).toMatchObject({
      invoices: [["renewal of 6", plan(...july), freeLine, expect.anything()]],
    });
  });

  it("comes after deferred lines", () => {
    const charge = {
      id: "deferred 0",
      name: "Seats",
      description: "more",
      amount: d("5.00"),
      fromUnits: 9,
      toUnits: 10,
    };
    const days = {
      daysRemaining: 15,
      daysInPeriod: 30,
      period: { start: civilDate("2026-06-16"), end: civilDate("2026-07-01") },
    };
    const decision = decideDue(
      stateOf({ today: "2026-07-01", usage: [june], deferred: [{ ...charge, ...days }] }),
    );
    expect(decision?.invoices[0]?.draft.lines.map(({ kind }) => kind)).toEqual([
      "plan",
      "proration",
      "usage",
    ]);
  });

  it.each([
    "awaiting_approval",
    "approved",
  ] as const)("is billed on a separate invoice if invoices begin as %s", (status) => {
    const organisation = { firstInvoiceStatus: status };
    expect(due({ organisation, usage: [june, free] })).toEqual({
      bills: "1 to 1",
      invoices: [
        ["renewal of 6", plan(...july)],
        ["usage of 5", juneLine, freeLine, "calls of 5 in bill 0", "free of 5 in bill 0"],
      ],
    });
    expect(due({ organisation, usage: [free] })).toEqual({
      bills: "1 to 1",
      invoices: [["renewal of 6", plan(...july)]],
      unbilled: ["free of 5 in bill 0"],
    });
  });

  it("closes the bill also without usage", () => {
    expect(due({})).toEqual({ bills: "1 to 1", invoices: [["renewal of 6", plan(...july)]] });
    expect(due({ usageBills: { open: 7, billed: 7 } })).toMatchObject({ bills: "8 to 8" });
  });

  it("is not billed before the renewal date: the bill stays open", () => {
    expect(due({ usage: [june] }, "2026-06-16")).toBeNull();
    // Issued ahead: without the usage of the period that still runs.
    expect(due({ usage: [june] }, "2026-06-17")).toEqual({
      bills: "0 to 0",
      invoices: [["renewal of 6", plan(...july)]],
    });
  });

  it("leaves usage of the next bill to that bill", () => {
    const next = usageOf("1", { index: 6, bill: 1 });
    const state = stateOf({ today: "2026-07-01", usage: [june, next] });
    const decision = decideDue(state);
    expect(decision && closeSummary(decision)).toMatchObject({
      bills: "1 to 1",
      invoices: [["renewal of 6", plan(...july), juneLine, "calls of 5 in bill 0"]],
    });
    const then = afterDue(state, decision);
    expect(then.usage).toEqual([next]);
    expect(
      decideDue({ ...then, today: civilDate("2026-08-01") })?.invoices[0]?.usage,
    ).toMatchObject([{ usage: next }]);
  });

  it("whose price fell is credited, on a credit note in addition to the invoice", () => {
    expect(due({ usage: [june, cheaper] })).toEqual({
      bills: "1 to 1",
      invoices: [["renewal of 6", plan(...july), juneLine, "calls of 5 in bill 0"]],
      creditNotes: [[credit, "storage of 5 in bill 0"]],
    });
    expect(
      due({ usage: [free, cheaper], organisation: { firstInvoiceStatus: "approved" } }),
    ).toEqual({
      bills: "1 to 1",
      invoices: [["renewal of 6", plan(...july)]],
      creditNotes: [[credit, "storage of 5 in bill 0"]],
      unbilled: ["free of 5 in bill 0"],
    });
  });

  it("of months that were missed is billed with the renewal that ended each period", () => {
    const usage = [
      june,
      usageOf("6", { index: 6, bill: 1 }),
      usageOf("8", { index: 7, bill: 2 }),
      usageOf("1", { index: 8, bill: 3 }),
    ];
    expect(due({ usage }, "2026-09-02")).toEqual({
      bills: "3 to 3",
      invoices: [
        ["renewal of 6", plan(...july), juneLine, "calls of 5 in bill 0"],
        [
          "renewal of 7",
          plan("2026-08-01", "2026-09-01"),
          "3.0000 for 2026-07-01 to 2026-08-01: 6 call: 6 × 0.5000",
          "calls of 6 in bill 1",
        ],
        [
          "renewal of 8",
          plan("2026-09-01", "2026-10-01"),
          "4.0000 for 2026-08-01 to 2026-09-01: 8 call: 8 × 0.5000",
          "calls of 7 in bill 2",
        ],
      ],
    });
  });

  it("over more than can be billed is refused, and nothing is performed", () => {
    const usage = [usageOf("9999999999", { meter: meterOf({ price: d("999999") }) })];
    expect(() => due({ usage })).toThrow(Refusal);
    expect(() => due({ usage })).toThrow(/have to be voided/);
  });
});

describe("usage with a renewal invoice that was issued ahead", () => {
  const own = { bills: "1 to 1", invoices: [["usage of 5", juneLine, "calls of 5 in bill 0"]] };

  it("joins it while that is a draft in the ledger, and only if it costs something", () => {
    expect(due({ usage: [june, free], renewalInvoice: {} })).toEqual({
      bills: "1 to 1",
      joined: ["renewal 6", juneLine, freeLine, "calls of 5 in bill 0", "free of 5 in bill 0"],
    });
    const decision = decideDue(stateOf({ today: "2026-07-01", usage: [june], renewalInvoice: {} }));
    expect(decision?.joined?.amendment).toMatchObject({ planLine: null, onlyDraft: true });
    expect(due({ usage: [free, cheaper], renewalInvoice: {} })).toEqual({
      bills: "1 to 1",
      creditNotes: [[credit, "storage of 5 in bill 0"]],
      unbilled: ["free of 5 in bill 0"],
    });
  });

  it.each([
    ["is approved", { status: "approved" }],
    ["waits for approval", { status: "awaiting_approval" }],
    ["is paid", { status: "paid", amountDue: d("0") }],
    ["waits for the ledger", { status: "scheduled", inLedger: false }],
    ["was refused by the ledger", { status: "not_in_external", inLedger: false }],
    ["is not known to be in the ledger", { inLedger: false }],
    ["has a payment on it", { amountDue: d("99.99") }],
  ] as const)("is billed on a separate invoice if that %s", (_, renewalInvoice) => {
    expect(due({ usage: [june], renewalInvoice })).toEqual(own);
  });

  it("is billed on a separate invoice if that was removed or a job on an invoice runs", () => {
    expect(due({ usage: [june], renewalInvoice: null })).toEqual(own);
    expect(due({ usage: [june], renewalInvoice: {}, running: amending })).toEqual(own);
  });

  it("is billed on a separate invoice if a request follows that an amendment would refuse", () => {
    const decision = decideDue(
      stateOf({ today: "2026-07-01", usage: [june], renewalInvoice: {} }),
      {
        mayJoin: false,
      },
    );
    expect(decision && closeSummary(decision)).toEqual(own);
  });

  it("of periods missed after it is billed by later renewals", () => {
    const usage = [june, usageOf("6", { index: 6, bill: 1 })];
    expect(due({ usage, renewalInvoice: {} }, "2026-08-01")).toMatchObject({
      bills: "2 to 2",
      joined: ["renewal 6", juneLine, "calls of 5 in bill 0"],
      invoices: [
        [
          "renewal of 7",
          plan("2026-08-01", "2026-09-01"),
          expect.stringContaining("6 call"),
          "calls of 6 in bill 1",
        ],
      ],
    });
  });

  it("of periods missed after it never joins it, because the period differs", () => {
    const usage = [june, usageOf("6", { index: 6, bill: 1 })];
    const organisation = { firstInvoiceStatus: "approved" } as const;
    expect(due({ usage, renewalInvoice: {}, organisation }, "2026-08-01")).toMatchObject({
      joined: ["renewal 6", juneLine, "calls of 5 in bill 0"],
      invoices: [
        ["renewal of 7", plan("2026-08-01", "2026-09-01")],
        ["usage of 6", expect.anything(), "calls of 6 in bill 1"],
      ],
    });
  });
});

describe("usage in Setup Mode", () => {
  const setupMode = { organisation: { setupMode: true } };

  it("is not billed: its bills go on and wait", () => {
    expect(due({ ...setupMode, usage: [june, cheaper] })).toEqual({ bills: "0 to 1" });
    expect(
      due({ ...setupMode, usage: [june], usageBills: { open: 4, billed: 2 } }, "2026-08-01"),
    ).toEqual({
      bills: "2 to 6",
    });
  });

  it("is billed by the next close after it, except for periods that began in it", () => {
    const unbilled = usageOf("6", { index: 6, bill: 1, setupMode: true });
    const usage = [june, unbilled, usageOf("1", { bill: 1 })];
    expect(due({ usage, usageBills: { open: 1, billed: 0 }, index: 6 }, "2026-08-01")).toEqual({
      bills: "2 to 2",
      invoices: [
        [
          "renewal of 7",
          plan("2026-08-01", "2026-09-01"),
          "2.0000 for 2026-06-01 to 2026-07-01: 4 call in the period from 2026-06-01: 4 × 0.5000",
          "0.5000 for 2026-06-01 to 2026-07-01: 1 call more in the period from 2026-06-01: " +
            "5 × 0.5000 for 5, less 4 × 0.5000 for 4",
          "calls of 5 in bill 0",
          "calls of 5 in bill 1",
        ],
      ],
      unbilled: ["calls of 6 in bill 1"],
    });
  });

  it("of a subscription that completes is billed once Setup Mode is over", () => {
    const subscription = { cancelAtPeriodEnd: true, endDate: civilDate("2026-07-01") };
    const state = stateOf({ ...setupMode, today: "2026-07-01", usage: [june], subscription });
    const decision = decideDue(state);
    expect(decision && closeSummary(decision)).toEqual({ bills: "0 to 0" });
    const over = { ...afterDue(state, decision), usage: [june] };
    expect(decideDue(over)).toBeNull();
    const after = decideDue({ ...over, organisation: { ...over.organisation, setupMode: false } });
    expect(after && closeSummary(after)).toEqual({
      bills: "1 to 1",
      invoices: [["usage of 5", juneLine, "calls of 5 in bill 0"]],
    });
  });
});

describe("usage at the end of the last period", () => {
  it.each([
    ["set to end", { cancelAtPeriodEnd: true, endDate: civilDate("2026-07-01") }],
    ["of so many cycles", { endAfterCycles: 6, endDate: civilDate("2026-07-01") }],
  ])("of a subscription %s is billed at completion, of every bill", (_, subscription) => {
    // Usage that a clock ahead dates after the end is never billed.
    const usage = [june, usageOf("2", { bill: 1 }), usageOf("2", { index: 6, bill: 1 })];
    expect(due({ subscription, usage })).toEqual({
      bills: "2 to 2",
      invoices: [
        [
          "usage of 5",
          juneLine,
          "1.0000 for 2026-06-01 to 2026-07-01: 2 call more in the period from 2026-06-01: " +
            "6 × 0.5000 for 6, less 4 × 0.5000 for 4",
          "calls of 5 in bill 0",
          "calls of 5 in bill 1",
        ],
      ],
    });
    expect(due({ subscription })).toEqual({ bills: "0 to 0" });
    expect(due({ subscription, usage: [free, cheaper] })).toEqual({
      bills: "1 to 1",
      creditNotes: [[credit, "storage of 5 in bill 0"]],
      unbilled: ["free of 5 in bill 0"],
    });
  });
});

describe("usage after the end", () => {
  const over = (status: "ended" | "complete") =>
    ({ subscription: { status, endDate: civilDate("2026-06-20") } }) as const;

  it.each([
    "ended",
    "complete",
  ] as const)("of a subscription that is %s is billed on one more invoice, once", (status) => {
    const late = usageOf("3", { bill: 4, before: "4" });
    const state = stateOf({
      ...over(status),
      today: "2026-06-25",
      usage: [late],
      usageBills: { open: 4, billed: 4 },
    });
    const decision = decideDue(state);
    expect(decision && closeSummary(decision)).toEqual({
      bills: "5 to 5",
      invoices: [
        [
          "usage of 5",
          "1.5000 for 2026-06-01 to 2026-07-01: 3 call more in the period from 2026-06-01: " +
            "7 × 0.5000 for 7, less 4 × 0.5000 for 4",
          "calls of 5 in bill 4",
        ],
      ],
    });
    expect(decision).toMatchObject({ dueDate: null, subscription: { status } });
    expect(decideDue(afterDue(state, decision))).toBeNull();
  });

  it("over zero is noted, and usage of a bill that is not loaded stays", () => {
    expect(due({ ...over("ended"), usage: [free] })).toEqual({
      bills: "1 to 1",
      unbilled: ["free of 5 in bill 0"],
    });
    expect(due({ ...over("ended"), usage: null })).toBeNull();
    expect(due({ ...over("ended"), usage: [] })).toBeNull();
    expect(due({ ...over("ended"), organisation: { setupMode: true }, usage: [june] })).toBeNull();
  });
});
