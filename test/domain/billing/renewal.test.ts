/**
 * What is due on a day: beginning, issuing ahead, renewing and completing. Each happens once and in
 * order, with what it bills.
 */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { addDays, civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { BillingState } from "../../../src/domain/model/billing-state.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { planOf } from "../catalogue/catalogue.ts";
import {
  afterChange,
  afterDue,
  changeTo,
  dueOver,
  dueSummary,
  type StateOrder,
  seats,
  stateOf,
} from "../subscriptions/billing-state-builder.ts";

const d = parseDecimal;
const planOnly = (month: string, next: string, units = 10) =>
  `${units * 10}.0000 for 2026-${month}-01 to 2026-${next}-01: ${units} × 10.0000`;

const due = (order: StateOrder) => dueSummary(decideDue(stateOf(order)));

describe("a pending subscription", () => {
  const pending: StateOrder = {
    index: 0,
    startDate: "2026-06-20",
    subscription: { status: "pending" },
  };

  it.each([
    ["2026-06-19", null],
    ["2026-06-20", { is: "active, in 0, until 2026-07-20", periods: [], invoices: [] }],
    ["2026-07-05", { is: "active, in 0, until 2026-07-20", periods: [], invoices: [] }],
  ])("becomes active when its start date begins: on %s", (today, decision) => {
    expect(due({ ...pending, today })).toEqual(decision);
  });

  it("whose first period begins in Setup Mode is never billed for that period's usage", () => {
    const organisation = { setupMode: true };
    expect(due({ ...pending, today: "2026-06-20", organisation })).toEqual({
      is: "active, in 0, until 2026-07-20",
      periods: ["0: 10 billed, in Setup Mode"],
      invoices: [],
    });
  });

  it("whose start was missed for long begins and renews at once", () => {
    expect(due({ ...pending, today: "2026-07-20" })).toEqual({
      is: "active, in 1, until 2026-08-20",
      periods: ["1: 10 billed"],
      invoices: [["renewal of 1", "100.0000 for 2026-07-20 to 2026-08-20: 10 × 10.0000"]],
    });
  });

  it("that is set to end completes with its first period", () => {
    const subscription = {
      status: "pending",
      cancelAtPeriodEnd: true,
      endDate: civilDate("2026-07-20"),
    } as const;
    const { summaries } = dueOver(
      stateOf({ ...pending, subscription }),
      "2026-06-20",
      "2026-07-19",
      "2026-07-20",
    );
    const decision = (is: string) => ({ is, periods: [], invoices: [] });
    expect(summaries).toEqual([
      decision("active, in 0, until 2026-07-20"),
      null,
      decision("complete, in 0, until 2026-07-20"),
    ]);
  });
});

describe("the renewal invoice", () => {
  const issued = {
    is: "active, in 5, until 2026-07-01",
    periods: ["6: 10 billed"],
    invoices: [["renewal of 6", planOnly("07", "08")]],
  };
  const renewed = { ...issued, is: "active, in 6, until 2026-08-01" };

  it.each([
    [14, "2026-06-16", null],
    [14, "2026-06-17", issued],
    [14, "2026-06-30", issued],
    [14, "2026-07-01", renewed],
    [0, "2026-06-30", null],
    [0, "2026-07-01", renewed],
    [1, "2026-06-29", null],
    [1, "2026-06-30", issued],
    [25, "2026-06-05", null],
    [25, "2026-06-06", issued],
    [60, "2026-06-05", null],
  ])("of %i create days is issued from its window's first day: on %s", (days, today, decision) => {
    expect(due({ today, organisation: { invoiceCreateDays: days } })).toEqual(decision);
  });

  it.each([
    [3, 1, 60, "2026-05-02"],
    [3, 1, 80, "2026-04-29"],
    [12, 0, 200, "2026-06-15"],
    [12, 0, 400, "2026-01-29"],
  ])("every %i months has at most its days less 28: %i, %i days", (count, index, days, first) => {
    const plan = { ...seats, interval: { unit: "month", count } as const };
    const order = { plan, index, organisation: { invoiceCreateDays: days } };
    expect(due({ ...order, today: addDays(civilDate(first), -1) })).toBeNull();
    expect(due({ ...order, today: first })).toHaveProperty("periods", [`${index + 1}: 10 billed`]);
  });

  it("is dated and due from the day that it is issued on, for the period that it bills", () => {
    const decision = decideDue(
      stateOf({ today: "2026-06-17", subscription: { discountPercent: d("10") } }),
    );
    expect(decision?.invoices).toEqual([
      {
        deferredIds: [],
        usage: [],
        draft: {
          type: "renewal",
          reference: "PO 7",
          currency: "EUR",
          issueDate: "2026-06-17",
          dueDate: "2026-07-17",
          period: { start: "2026-07-01", end: "2026-08-01" },
          periodIndex: 6,
          subtotal: d("90.00"),
          lines: [
            {
              kind: "plan",
              name: "Seats",
              description: "10 × 10.0000, less 10 %",
              units: 10,
              quantity: null,
              unitPrice: d("10"),
              amount: d("90.00"),
              facts: expect.objectContaining({ r: "plan/1", u: 10, d: "10" }),
              period: { start: "2026-07-01", end: "2026-08-01" },
              proration: null,
              chargeId: null,
              meterId: null,
              revenueAccount: "200",
              taxType: "OUTPUT",
            },
          ],
        },
      },
    ]);
  });

  it("is issued once, ahead or not, and its period begins with the units that it billed", () => {
    const { state, summaries } = dueOver(
      stateOf(),
      "2026-06-17",
      "2026-06-20",
      "2026-07-01",
      "2026-07-02",
    );
    expect(summaries).toEqual([
      issued,
      null,
      { is: "active, in 6, until 2026-08-01", periods: [], invoices: [] },
      null,
    ]);
    expect(state.period).toMatchObject({ index: 6, billedUnits: 10, prorationClosed: false });
    expect(dueOver(stateOf(), "2026-07-01", "2026-07-02").summaries).toEqual([renewed, null]);
  });

  it("is not issued again if it was removed since", () => {
    expect(due({ today: "2026-06-20", renewalInvoice: null })).toBeNull();
    expect(due({ today: "2026-07-01", renewalInvoice: null })).toEqual({
      is: "active, in 6, until 2026-08-01",
      periods: [],
      invoices: [],
    });
  });

  it("leaves its period billed for its units, also if a person has removed it since", () => {
    for (const renewalInvoice of [null, {}]) {
      const order = { today: "2026-07-01", renewalInvoice, units: 8, next: { billedUnits: 10 } };
      expect(due(order)).toMatchObject({ periods: [] });
    }
  });

  it("is issued over an amount of zero, and for a flat fee without units", () => {
    expect(due({ today: "2026-07-01", units: 0 })).toHaveProperty(
      "invoices.0.1",
      planOnly("07", "08", 0),
    );
    const flat = stateOf({ today: "2026-07-01", plan: planOf("flat_fee", { price: d("49") }) });
    const decision = decideDue(flat);
    expect(decision?.periods).toMatchObject([{ index: 6, billedUnits: null }]);
    expect(decision?.invoices[0]?.draft.lines).toMatchObject([{ units: null, amount: d("49.00") }]);
    expect(decideDue(afterDue(flat, decision))).toBeNull();
  });
});

describe("units changed after the renewal invoice was issued", () => {
  const changed = (state: BillingState, units: number, document: "amend" | "separate") =>
    afterChange(state, decideUnitsChange(state, changeTo(units, { document })));

  it.each([
    ["down", 8, "separate", 10],
    ["down", 8, "amend", 8],
    ["up", 12, "separate", 12],
    ["up", 12, "amend", 12],
  ] as const)("%s to %i, by %s, leave %i billed units", (_, units, document, billed) => {
    const before = dueOver(stateOf(), "2026-06-17").state;
    const { state } = dueOver(changed(before, units, document), "2026-07-01");
    expect(state.subscription).toMatchObject({ units, renewalDate: "2026-08-01" });
    expect(state.period).toMatchObject({ index: 6, billedUnits: billed, prorationClosed: false });
    expect(dueOver(state, "2026-07-18").summaries).toEqual([
      {
        is: "active, in 6, until 2026-08-01",
        periods: [`7: ${units} billed`],
        invoices: [["renewal of 7", planOnly("08", "09", units)]],
      },
    ]);
  });

  it("without proration are billed in full by the renewal, which opens proration again", () => {
    const state = afterChange(stateOf(), decideUnitsChange(stateOf(), changeTo(12)));
    expect(state.period.prorationClosed).toBe(true);
    const next = dueOver(state, "2026-07-01");
    expect(next.summaries).toHaveProperty("0.invoices", [
      ["renewal of 6", planOnly("07", "08", 12)],
    ]);
    expect(next.state.period).toMatchObject({ billedUnits: 12, prorationClosed: false });
  });
});

describe("missed periods", () => {
  it("are renewed in order, each billed once, dated today", () => {
    const state = stateOf({ today: "2026-09-20" });
    const decision = decideDue(state);
    expect(dueSummary(decision)).toEqual({
      is: "active, in 8, until 2026-10-01",
      periods: ["6: 10 billed", "7: 10 billed", "8: 10 billed", "9: 10 billed"],
      invoices: [
        ["renewal of 6", planOnly("07", "08")],
        ["renewal of 7", planOnly("08", "09")],
        ["renewal of 8", planOnly("09", "10")],
        ["renewal of 9", planOnly("10", "11")],
      ],
    });
    for (const { draft } of decision?.invoices ?? []) expect(draft.issueDate).toBe("2026-09-20");
    expect(decideDue(afterDue(state, decision))).toBeNull();
  });

  it("begin with the one that was issued ahead", () => {
    const order = { units: 12, billed: 10, next: { billedUnits: 10 }, today: "2026-08-01" };
    expect(due(order)).toEqual({
      is: "active, in 7, until 2026-09-01",
      periods: ["7: 12 billed"],
      invoices: [["renewal of 7", planOnly("08", "09", 12)]],
    });
  });

  it("of more than two years are caught up in several steps, none left out", () => {
    let state = stateOf({ today: "2031-06-20" });
    const steps: number[][] = [];
    for (let decision = decideDue(state); decision !== null; decision = decideDue(state)) {
      expect(decision.invoices.map(({ draft }) => draft.periodIndex)).toEqual(
        decision.periods.map(({ index }) => index),
      );
      steps.push(decision.periods.map(({ index }) => index));
      state = afterDue(state, decision);
    }
    expect(steps.map(({ length }) => length)).toEqual([24, 24, 13]);
    expect(steps.flat()).toEqual(Array.from({ length: 61 }, (_, k) => 6 + k));
    expect(state.subscription.renewalDate).toBe("2031-07-01");
  });

  it.each([
    ["2027-12-31", 1, ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"]],
    ["2026-12-31", 1, ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"]],
    ["2028-02-29", 12, ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]],
    ["2027-11-30", 3, ["2028-02-29", "2028-05-30", "2028-08-30", "2028-11-30", "2029-02-28"]],
  ])("from %s every %i months begin on the anchor's day", (startDate, count, renewals) => {
    const plan = { ...seats, interval: { unit: "month", count } as const };
    let state = stateOf({ plan, startDate, index: 0, organisation: { invoiceCreateDays: 0 } });
    for (const [k, renewal] of renewals.entries()) {
      expect(state.subscription.renewalDate).toBe(renewal);
      state = dueOver(state, addDays(civilDate(renewal), -1), renewal).state;
      expect(state.period).toMatchObject({ index: k + 1, start: renewal });
    }
    const last = renewals.at(-1) ?? "";
    const start = stateOf({
      plan,
      startDate,
      index: 0,
      today: last,
      organisation: { invoiceCreateDays: 0 },
    });
    expect(decideDue(start)?.periods.map((period) => period.start)).toEqual(renewals);
  });
});
