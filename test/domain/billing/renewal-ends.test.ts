/**
 * What is due of deferred lines, in the last period and in Setup Mode: nothing is billed twice,
 * nothing is lost.
 */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { BillingState, DeferredLine } from "../../../src/domain/model/billing-state.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import {
  afterChange,
  afterDue,
  changeTo,
  dueOver,
  dueSummary,
  type StateOrder,
  stateOf,
} from "../subscriptions/billing-state-builder.ts";

const d = parseDecimal;
const planOnly = (month: string, next: string, units = 10) =>
  `${units * 10}.0000 for 2026-${month}-01 to 2026-${next}-01: ${units} × 10.0000`;
const deferred = (units: number, from: string, state = stateOf()): BillingState =>
  afterChange(
    state,
    decideUnitsChange(state, changeTo(units, { from, behaviour: "charge_on_renewal" })),
  );
const waiting =
  "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30";
const due = (order: StateOrder) => dueSummary(decideDue(stateOf(order)));
const inSetupMode = { organisation: { setupMode: true } };

describe("deferred lines", () => {
  it("are billed by the renewal invoice, ahead or not, after its plan line, and once", () => {
    const invoices = [["renewal of 6", planOnly("07", "08", 12), waiting]];
    for (const day of ["2026-06-17", "2026-07-01"]) {
      const { state, summaries } = dueOver(deferred(12, "2026-06-16"), day, "2026-08-01");
      expect(summaries).toMatchObject([
        { invoices },
        { invoices: [["renewal of 7", planOnly("08", "09", 12)]] },
      ]);
      expect(state.deferred).toEqual([]);
    }
  });

  it("are billed oldest first, each by the first invoice issued, and are listed by id", () => {
    const twice = deferred(13, "2026-06-16", deferred(12, "2026-06-16"));
    const decision = decideDue({ ...twice, today: civilDate("2026-08-01") });
    expect(decision?.invoices.map(({ deferredIds }) => deferredIds)).toEqual([
      ["deferred 0", "deferred 1"],
      [],
    ]);
    expect(decision?.invoices[0]?.draft).toMatchObject({
      type: "renewal",
      periodIndex: 6,
      subtotal: d("145.00"),
    });
    expect(decision?.invoices[0]?.draft.lines).toMatchObject([
      { kind: "plan", amount: d("130.00") },
      {
        kind: "proration",
        amount: d("10.00"),
        proration: { fromUnits: 10, toUnits: 12, daysRemaining: 15 },
      },
      {
        kind: "proration",
        amount: d("5.00"),
        proration: { fromUnits: 12, toUnits: 13, daysInPeriod: 30 },
      },
    ]);
  });

  const setToEnd = (state: BillingState): BillingState => {
    const { renewalDate } = state.subscription;
    return {
      ...state,
      subscription: { ...state.subscription, cancelAtPeriodEnd: true, endDate: renewalDate },
    };
  };
  const change = ["change of 5", waiting];

  it("whose renewal never comes are billed when it completes", () => {
    const state = { ...setToEnd(deferred(12, "2026-06-16")), today: civilDate("2026-07-03") };
    const decision = decideDue(state);
    expect(dueSummary(decision)).toEqual({
      is: "complete, in 5, until 2026-07-01",
      periods: [],
      invoices: [change],
    });
    expect(decision?.invoices[0]).toMatchObject({
      deferredIds: ["deferred 0"],
      draft: {
        issueDate: "2026-07-03",
        dueDate: "2026-08-02",
        period: { start: "2026-06-01", end: "2026-07-01" },
      },
    });
    expect(decideDue(afterDue(state, decision))).toBeNull();
  });

  it("wait while Setup Mode is on and join the first renewal invoice after it", () => {
    const on = { ...deferred(12, "2026-06-16"), organisation: stateOf(inSetupMode).organisation };
    const between = dueOver(on, "2026-06-17", "2026-07-01").state;
    expect(between.deferred.map(({ amount }: DeferredLine) => amount)).toEqual([d("10.00")]);
    const off = { ...between, organisation: stateOf().organisation };
    expect(dueOver(off, "2026-07-18").summaries).toHaveProperty("0.invoices", [
      ["renewal of 7", planOnly("08", "09", 12), waiting],
    ]);
  });

  it("of a subscription that completes in Setup Mode are billed once it is off", () => {
    const state = {
      ...setToEnd(deferred(12, "2026-06-16")),
      organisation: stateOf(inSetupMode).organisation,
    };
    const complete = dueOver(state, "2026-07-01", "2026-07-02");
    expect(complete.summaries).toEqual([
      { is: "complete, in 5, until 2026-07-01", periods: [], invoices: [] },
      null,
    ]);
    const off = { ...complete.state, organisation: stateOf().organisation };
    expect(dueOver(off, "2026-07-10", "2026-07-11").summaries).toEqual([
      { is: "complete, in 5, until 2026-07-01", periods: [], invoices: [change] },
      null,
    ]);
  });
});

describe("the last period", () => {
  const ends = (differs: StateOrder["subscription"]) => ({
    endDate: civilDate("2026-07-01"),
    ...differs,
  });

  it.each([
    ["set to end", ends({ cancelAtPeriodEnd: true })],
    ["of a limited number of cycles", ends({ endAfterCycles: 6 })],
  ])("of one %s has no renewal invoice and completes on the renewal date", (_, subscription) => {
    const { state, summaries } = dueOver(
      stateOf({ subscription }),
      "2026-06-20",
      "2026-06-30",
      "2026-07-01",
      "2026-09-01",
    );
    expect(summaries).toEqual([
      null,
      null,
      { is: "complete, in 5, until 2026-07-01", periods: [], invoices: [] },
      null,
    ]);
    expect(state.subscription).toMatchObject({
      ...subscription,
      status: "complete",
      renewalDate: "2026-07-01",
    });
    expect(decideDue({ ...state, today: civilDate("2027-01-01") })).toBeNull();
  });

  it("comes after as many renewals as there are cycles left, also if days were missed", () => {
    const subscription = { endAfterCycles: 8, endDate: civilDate("2026-09-01") };
    const decision = decideDue(stateOf({ subscription, today: "2026-12-24" }));
    expect(dueSummary(decision)).toMatchObject({
      is: "complete, in 7, until 2026-09-01",
      periods: ["6: 10 billed", "7: 10 billed"],
      invoices: [
        ["renewal of 6", planOnly("07", "08")],
        ["renewal of 7", planOnly("08", "09")],
      ],
    });
    expect(decision?.subscription.endDate).toBe("2026-09-01");
  });

  it("is that of End, also if the next was prepared before", () => {
    const subscription = ends({ cancelAtPeriodEnd: true });
    expect(due({ subscription, renewalInvoice: null, today: "2026-07-01" })).toEqual({
      is: "complete, in 5, until 2026-07-01",
      periods: [],
      invoices: [],
    });
  });

  it("is over for good: an ended one has nothing due", () => {
    const subscription = { status: "ended", endDate: civilDate("2026-06-10") } as const;
    expect(due({ subscription, today: "2026-07-01" })).toBeNull();
  });
});

describe("Setup Mode", () => {
  it("issues nothing, and never bills periods that begin during it", () => {
    const on = stateOf(inSetupMode);
    const { state, summaries } = dueOver(on, "2026-06-20", "2026-07-01", "2026-07-20");
    const renewed = {
      is: "active, in 6, until 2026-08-01",
      periods: ["6: 10 billed, in Setup Mode"],
      invoices: [],
    };
    expect(summaries).toEqual([null, renewed, null]);
    const off = { ...state, organisation: stateOf().organisation };
    expect(dueOver(off, "2026-07-10", "2026-07-18", "2026-08-01").summaries).toEqual([
      null,
      {
        is: "active, in 6, until 2026-08-01",
        periods: ["7: 10 billed"],
        invoices: [["renewal of 7", planOnly("08", "09")]],
      },
      { is: "active, in 7, until 2026-09-01", periods: [], invoices: [] },
    ]);
  });

  it("leaves alone what was issued before it, and bills nothing else of that period", () => {
    expect(due({ ...inSetupMode, renewalInvoice: {}, today: "2026-07-01" })).toEqual({
      is: "active, in 6, until 2026-08-01",
      periods: ["6: 10 billed, in Setup Mode"],
      invoices: [],
    });
  });

  it("turned off inside the window issues at once what was held back", () => {
    const on = dueOver(stateOf(inSetupMode), "2026-06-20").state;
    const off = { ...on, organisation: stateOf().organisation };
    expect(dueOver(off, "2026-06-21").summaries).toMatchObject([
      { invoices: [["renewal of 6", planOnly("07", "08")]] },
    ]);
  });
});
