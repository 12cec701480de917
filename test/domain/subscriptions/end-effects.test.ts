/** What an end writes: the dates and status of the subscription, and its last invoices. */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { IssuedInvoice } from "../../../src/domain/model/billing-state.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { decideEnd, decideEnded } from "../../../src/domain/subscriptions/end.ts";
import {
  afterChange,
  changeTo,
  dueSummary,
  invoiceSummary,
  issued,
  type StateOrder,
  stateOf,
} from "./billing-state-builder.ts";
import { atPeriodEnd, end, refusal, removals } from "./end-builder.ts";

const d = parseDecimal;

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

  it("shortens one with cycles left; in the final cycle nothing is set to end", () => {
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
  it("ends it today: the renewal date stays, nothing is due, nothing is given back", () => {
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

  it("ends a pending one before its start: an unpaid first invoice is removed", () => {
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

  it("that completes after the renewal date ends it on that date", () => {
    const late = decideEnded(stateOf({ today: "2026-07-03" }), "now");
    expect(late.subscription).toMatchObject({ status: "ended", endDate: "2026-07-01" });
  });
});
