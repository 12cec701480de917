/** What is issued again when a broken-off end's removal shows in the ledger later. END-12 */
import { describe, expect, it } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { decideLateRemoval } from "../../../src/domain/subscriptions/reissue.ts";
import {
  invoiceSummary,
  periodSummary,
  type StateOrder,
  stateOf,
} from "./billing-state-builder.ts";
import { ended, planLineOf, removed, removedAhead, setToEnd } from "./restoration-builder.ts";

const ahead = { today: "2026-06-20", renewalInvoice: null } as const satisfies StateOrder;

/** The invoices and periods of the decision in short. */
function late(order: StateOrder, invoice = removedAhead({ ...ahead }, 10)) {
  const { invoices, periods } = decideLateRemoval(stateOf(order), invoice);
  return {
    invoices: invoices.map(({ draft }) => invoiceSummary(draft)),
    periods: periods.map(periodSummary),
  };
}

const nothing = { invoices: [], periods: [] };

describe("a late removal of the renewal invoice", () => {
  it("of a period still to come issues it at the current units", () => {
    const order = { ...ahead, subscription: { units: 12 } };
    expect(late(order)).toEqual({
      invoices: [["120.0000 for 2026-07-01 to 2026-08-01: 12 × 10.0000"]],
      periods: ["6: 12 billed"],
    });
  });

  it.each([
    ["ended", ended],
    ["set to end", setToEnd],
  ])("of a period that never begins, as a later end has it %s, issues nothing", (_, order) => {
    expect(late({ ...ahead, ...order })).toEqual(nothing);
  });

  it("of a period that has begun issues each of its lines again", () => {
    const begun = { today: "2026-06-20" } as const;
    const lines = [planLineOf(stateOf(begun), 8)];
    expect(late(begun, removed(lines))).toEqual({
      invoices: [["80.0000 for 2026-06-01 to 2026-07-01: 8 × 10.0000"]],
      periods: [],
    });
  });
});

describe("a late removal of the first invoice", () => {
  const pending = { startDate: "2026-06-15", index: 0 } as const;
  const first = (order: StateOrder) =>
    removed([planLineOf(stateOf(order), 10)], { type: "first", periodIndex: 0 });

  it("of a pending subscription issues it again", () => {
    const order = { ...pending, today: "2026-06-10", subscription: { status: "pending" } } as const;
    expect(late(order, first(order)).invoices).toHaveLength(1);
  });

  it("of one that a later end ended before it began issues nothing", () => {
    const over = { status: "ended", endDate: civilDate("2026-06-10") } as const;
    const order = { ...pending, today: "2026-06-10", subscription: over } as const;
    expect(late(order, first(order))).toEqual(nothing);
  });
});
