/** The refusals of restoring, each with its message, and the order among them. */
import { describe, expect, it } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { type StateOrder, seats, stateOf } from "./billing-state-builder.ts";
import {
  ahead,
  ended,
  factsOf,
  planLineOf,
  refusalOf,
  removed,
  removedAhead,
  restored,
  setToEnd,
} from "./restoration-builder.ts";

describe("a refusal", () => {
  const passed = (day: string) =>
    `The renewal date ${day} has passed: create a new subscription instead.`;
  const running = {
    kind: "end_subscription",
    id: "operation",
    description: "the subscription is being ended, 1 of 2 invoices removed in the ledger so far",
  } as const;
  const inSetupMode = { organisation: { setupMode: true } };

  it("of a subscription that is not set to end: active, pending or in its last cycle", () => {
    const message = "The subscription is neither ended nor set to end at the end of its period.";
    const last = { subscription: { endDate: civilDate("2026-07-01"), endAfterCycles: 6 } };
    const pending = {
      startDate: "2026-06-15",
      index: 0,
      subscription: { status: "pending" },
    } as const;
    for (const order of [{}, last, pending]) expect(refusalOf(factsOf(order))).toBe(message);
  });

  it("from the renewal date on, and of one that is complete", () => {
    expect(refusalOf(factsOf({ ...ended, today: "2026-06-30" }))).toBe("accepted");
    for (const today of ["2026-07-01", "2026-07-02", "2027-01-01"]) {
      expect(refusalOf(factsOf({ ...ended, today }))).toBe(passed("2026-07-01"));
    }
    const complete = { subscription: { ...setToEnd.subscription, status: "complete" } } as const;
    expect(refusalOf(factsOf({ ...complete, today: "2026-07-01" }))).toBe(passed("2026-07-01"));
  });

  it("while the customer is not active", () => {
    expect(refusalOf(factsOf(ended, { customerStatus: "inactive" }))).toBe(
      "The customer is not active.",
    );
  });

  it.each([
    ["active", "accepted"],
    ["legacy", "accepted"],
    ["draft", "The plan is draft: it must be active or legacy."],
    ["inactive", "The plan is inactive: it must be active or legacy."],
  ] as const)("by a plan that is %s: %s", (status, message) => {
    expect(refusalOf(factsOf({ ...ended, plan: { ...seats, status } }))).toBe(message);
  });

  it("in Setup Mode only if a document would have to be issued", () => {
    const order = { ...ahead, ...setToEnd, ...inSetupMode };
    const message =
      "The organisation is in Setup Mode: invoice INV-0006 would have to be issued again.";
    expect(refusalOf(factsOf(order, { removed: [removedAhead(order, 10)] }))).toBe(message);
    expect(refusalOf(factsOf(order))).toBe(
      "The organisation is in Setup Mode: the renewal invoice of the next period would have " +
        "to be issued.",
    );
    const raised = { ...order, units: 12, next: { billedUnits: 10 }, endRemovedRenewal: false };
    expect(refusalOf(factsOf(raised))).toBe(
      "The organisation is in Setup Mode: the raise of units in the next period would have to be " +
        "invoiced.",
    );
    const earlier = removed(
      [planLineOf(stateOf(), 10)].map((line) => ({ ...line, period: null })),
      { periodIndex: 4 },
    );
    expect(
      restored({ ...ended, ...inSetupMode, today: "2026-06-20" }, { removed: [earlier] }),
    ).toEqual({
      is: "active, 10 units, until 2026-07-01, ends null",
      dueDate: "2026-07-01",
    });
  });

  it("while another operation runs, and says which", () => {
    expect(refusalOf(factsOf({ ...ended, running }))).toBe(
      "Another operation on this subscription is still running: " +
        "the subscription is being ended, 1 of 2 invoices removed in the ledger so far.",
    );
  });

  it("is the first of: running job, not set to end, date, customer, plan, Setup Mode", () => {
    const all: StateOrder = {
      ...ahead,
      ...inSetupMode,
      plan: { ...seats, status: "inactive" },
      today: "2026-07-01",
    };
    const many = { customerStatus: "inactive", removed: [removedAhead(ahead, 10)] } as const;
    const plan = { ...seats, status: "legacy" } as const;
    const messages = [
      factsOf({ ...all, running }, many),
      factsOf(all, many),
      factsOf({ ...all, ...ended }, many),
      factsOf({ ...all, ...ended, today: "2026-06-30" }, many),
      factsOf({ ...all, ...ended, today: "2026-06-30" }, { ...many, customerStatus: "active" }),
      factsOf(
        { ...all, ...ended, today: "2026-06-30", plan },
        { ...many, customerStatus: "active" },
      ),
      factsOf(
        { ...all, ...ended, today: "2026-06-30", plan, organisation: {} },
        { ...many, customerStatus: "active" },
      ),
    ].map((facts) => refusalOf(facts).slice(0, 24));
    expect(messages).toEqual([
      "Another operation on thi",
      "The subscription is neit",
      "The renewal date 2026-07",
      "The customer is not acti",
      "The plan is inactive: it",
      "The organisation is in S",
      "accepted",
    ]);
  });
});
