/** Restoring: every form, and what is reissued, to the cent. */
import { describe, expect, it } from "vitest";
import { chargeLine, prorationLine } from "../../../src/domain/billing/invoice-lines.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { decideRestoration } from "../../../src/domain/subscriptions/restore.ts";
import { planOf } from "../catalogue/catalogue.ts";
import {
  afterChange,
  changeTo,
  nextLine,
  reversedDays,
  type StateOrder,
  seats,
  stateOf,
} from "./billing-state-builder.ts";
import { setupCharge } from "./creation-builder.ts";
import {
  ahead,
  ended,
  factsOf,
  planLineOf,
  removed,
  removedAhead,
  restored,
  setToEnd,
} from "./restoration-builder.ts";

const d = parseDecimal;
const flatFee = planOf("flat_fee", { name: "Site", price: d("49") });
const july = "2026-07-01 to 2026-08-01";
const june = "2026-06-01 to 2026-07-01";
const asItWas = { is: "active, 10 units, until 2026-07-01, ends null" };
const sixCycles = (order: StateOrder): StateOrder => ({
  ...order,
  subscription: { endAfterCycles: 12, ...order.subscription },
});

describe("the subscription", () => {
  it.each([
    ["ended", ended],
    ["set to end", setToEnd],
  ])("that was %s goes on and renews: nothing is removed, nothing is issued", (_, order) => {
    expect(restored(order)).toEqual({ ...asItWas, dueDate: "2026-06-17" });
  });

  it.each([
    ["ended", ended],
    ["set to end", setToEnd],
  ])("that was %s gets back the end date that end_after_cycles gave it", (_, order) => {
    expect(restored(sixCycles(order))).toEqual({
      is: "active, 10 units, until 2026-07-01, ends 2027-01-01",
      dueDate: "2026-06-17",
    });
  });

  it("in its last cycle issues nothing ahead and completes on its renewal date", () => {
    const last = {
      ...ended,
      subscription: { ...ended.subscription, endAfterCycles: 6 },
      today: "2026-06-20",
    };
    expect(restored(last)).toEqual({
      is: "active, 10 units, until 2026-07-01, ends 2026-07-01",
      dueDate: "2026-07-01",
    });
  });

  it("counts its cycles from its anchor, also if that was clamped", () => {
    const order = { ...ended, startDate: "2026-01-31", today: "2026-07-01" };
    const cycles = { ...order, subscription: { ...ended.subscription, endAfterCycles: 13 } };
    expect(restored(cycles)).toMatchObject({
      is: "active, 10 units, until 2026-07-31, ends 2027-02-28",
    });
  });

  it("keeps units, period and renewal date; the billed units of the period stay", () => {
    const facts = factsOf({ ...ended, units: 12, billed: 10 });
    const { subscription, periods } = decideRestoration(facts);
    const { status: _, endDate: __, ...rest } = facts.state.subscription;
    expect(subscription).toMatchObject(rest);
    expect(periods).toEqual([]);
  });
});

describe("one that was pending", () => {
  const pending = { startDate: "2026-06-15", index: 0, today: "2026-06-10" } as const;
  const first = (order: StateOrder) => {
    const state = stateOf(order);
    return removed([planLineOf(state, 10), chargeLine(setupCharge, 2, null, state.organisation)], {
      type: "first",
      periodIndex: 0,
    });
  };
  const reissued = [
    "first of 0",
    "100.0000 for 2026-06-15 to 2026-07-15: 10 × 10.0000",
    "100.0000 for undefined to undefined: Setting up",
  ];

  it("is pending again, its first invoice reissued with its charges, dated its start", () => {
    const order = { ...pending, ...ended };
    expect(restored(order, { removed: [first(order)] })).toEqual({
      is: "pending, 10 units, until 2026-07-15, ends null",
      dueDate: "2026-06-15",
      invoices: [reissued],
    });
    const [invoice] = decideRestoration(factsOf(order, { removed: [first(order)] })).invoices;
    expect(invoice).toMatchObject({
      replaces: "removed first 0",
      deferredIds: [],
      draft: {
        issueDate: "2026-06-15",
        dueDate: "2026-07-15",
        reference: "PO 7",
        subtotal: d("200.00"),
      },
    });
  });

  it("is active once its start date has come, and the invoice is dated today", () => {
    const order = { ...pending, ...ended, today: "2026-06-16" };
    expect(restored(order, { removed: [first(order)] })).toEqual({
      is: "active, 10 units, until 2026-07-15, ends null",
      dueDate: "2026-07-01",
      invoices: [reissued],
    });
    const [invoice] = decideRestoration(factsOf(order, { removed: [first(order)] })).invoices;
    expect(invoice?.draft).toMatchObject({ issueDate: "2026-06-16", dueDate: "2026-07-16" });
  });

  it("and set to end goes on: it is pending and keeps its first invoice", () => {
    const order = {
      ...pending,
      subscription: {
        status: "pending",
        endDate: civilDate("2026-07-15"),
        cancelAtPeriodEnd: true,
      },
    } as const;
    expect(restored(order)).toEqual({
      is: "pending, 10 units, until 2026-07-15, ends null",
      dueDate: "2026-06-15",
    });
  });
});

describe("the renewal invoice", () => {
  it.each([
    ["ended", ended],
    ["set to end", setToEnd],
  ])("that was removed of one %s is reissued, on today's date", (_, form) => {
    const order = { ...ahead, ...form };
    const facts = { removed: [removedAhead(order, 10)] };
    expect(restored(order, facts)).toEqual({
      ...asItWas,
      dueDate: "2026-07-01",
      periods: ["6: 10 billed"],
      invoices: [["renewal of 6", `100.0000 for ${july}: 10 × 10.0000`]],
    });
    const [invoice] = decideRestoration(factsOf(order, facts)).invoices;
    expect(invoice).toMatchObject({
      replaces: null,
      draft: { issueDate: "2026-06-20", dueDate: "2026-07-20" },
    });
  });

  it.each([12, 8])("bills the %i units at the restoration", (units) => {
    const order = { ...ahead, ...setToEnd, units, next: { billedUnits: 10 } };
    expect(restored(order, { removed: [removedAhead(order, 10)] })).toMatchObject({
      periods: [`6: ${units} billed`],
      invoices: [["renewal of 6", `${units}0.0000 for ${july}: ${units} × 10.0000`]],
    });
  });

  it("of a flat fee has no units", () => {
    const order = { ...ahead, ...ended, plan: flatFee };
    expect(restored(order, { removed: [removedAhead(order, 0)] })).toMatchObject({
      periods: ["6: null billed"],
      invoices: [["renewal of 6", `49.0000 for ${july}: 49.0000`]],
    });
  });

  it("bills everything deferred: the lines from before and those of the removed one", () => {
    const change = (units: number, from: string, state = stateOf({ today: "2026-06-16" })) =>
      afterChange(
        state,
        decideUnitsChange(state, changeTo(units, { from, behaviour: "charge_on_renewal" })),
      );
    const { deferred } = change(13, "2026-06-16", change(12, "2026-06-16"));
    const order = { ...ahead, ...setToEnd, units: 13, billed: 13, deferred };
    const facts = { removed: [removedAhead(order, 10)] };
    expect(restored(order, facts)).toMatchObject({
      invoices: [
        [
          "renewal of 6",
          `130.0000 for ${july}: 13 × 10.0000`,
          "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats, 15 of 30 days: " +
            "(120 − 100) × 15 ÷ 30",
          "5.0000 for 2026-06-16 to 2026-07-01: 12 to 13 seats, 15 of 30 days: " +
            "(130 − 120) × 15 ÷ 30",
        ],
      ],
    });
    expect(decideRestoration(factsOf(order, facts)).invoices[0]?.deferredIds).toEqual([
      "deferred 0",
      "deferred 1",
    ]);
  });

  it("does not bill its own prorations again: they are deferred, or billed since", () => {
    const order = { ...ahead, ...ended };
    const state = stateOf(order);
    const charge = afterChange(
      stateOf(),
      decideUnitsChange(
        stateOf(),
        changeTo(12, { from: "2026-06-16", behaviour: "charge_on_renewal" }),
      ),
    ).deferred[0];
    if (charge === undefined) throw new Error("nothing is deferred");
    const lines = [
      planLineOf(state, 10, "nextPeriod"),
      prorationLine(seats, charge, state.organisation),
    ];
    expect(restored(order, { removed: [removed(lines, { periodIndex: 6 })] })).toMatchObject({
      invoices: [["renewal of 6", `100.0000 for ${july}: 10 × 10.0000`]],
    });
  });

  it("is issued if the window is open by today and none was issued before", () => {
    expect(restored({ ...ended, today: "2026-06-20" })).toEqual({
      ...asItWas,
      dueDate: "2026-07-01",
      periods: ["6: 10 billed"],
      invoices: [["renewal of 6", `100.0000 for ${july}: 10 × 10.0000`]],
    });
  });

  it.each([
    ["ended", ended],
    ["set to end", setToEnd],
  ])("that a person removed of one %s stays removed", (_, form) => {
    expect(restored({ ...ahead, ...form, endRemovedRenewal: false })).toEqual({
      ...asItWas,
      dueDate: "2026-07-01",
    });
  });

  it("that stands is not issued a second time", () => {
    expect(restored({ ...ended, today: "2026-06-20", renewalInvoice: {} })).toEqual({
      ...asItWas,
      dueDate: "2026-07-01",
    });
  });
});

describe("the renewal invoice after a change that was billed separately", () => {
  const separately = (units: number, differs: StateOrder = {}): StateOrder => ({
    ...ahead,
    ...setToEnd,
    units,
    next: { billedUnits: 12, billedSeparately: true },
    ...differs,
  });

  it.each([
    12, 15, 5,
  ])("bills only the period, at %i units: the end reversed the change", (units) => {
    expect(restored(separately(units), { removed: [removedAhead(separately(units), 10)] })).toEqual(
      {
        is: `active, ${units} units, until 2026-07-01, ends null`,
        dueDate: "2026-07-01",
        periods: [`6: ${units} billed`],
        invoices: [["renewal of 6", `${units}0.0000 for ${july}: ${units} × 10.0000`]],
      },
    );
  });

  it("can be amended by the next change of units", () => {
    const order = separately(12);
    const { periods } = decideRestoration(factsOf(order));
    const state = stateOf({
      ...order,
      subscription: {},
      next: periods[0] ?? {},
      renewalInvoice: {},
    });
    const { amended } = decideUnitsChange(state, changeTo(13, { document: "amend" }));
    expect(amended?.planLine?.units).toBe(13);
  });

  it("comes with a reversal of what other documents bill of its period", () => {
    const next = { lines: [nextLine("20"), nextLine("-8")], renewalUnits: 10 };
    expect(restored(separately(12), { next })).toMatchObject({
      invoices: [["renewal of 6", `120.0000 for ${july}: 12 × 10.0000`]],
      creditNote: [
        expect.stringMatching(
          /^12\.0000 from 2026-07-01: Reverses 12\.0000 of INV-0020 for the period/,
        ),
      ],
    });
    const below = { lines: [nextLine("-8")], renewalUnits: 10 };
    expect(restored(separately(12), { next: below })).toMatchObject({
      invoices: [
        ["change of 5", `8.0000 for ${july}: Reverses CN-0008 for ${reversedDays}`],
        ["renewal of 6", `120.0000 for ${july}: 12 × 10.0000`],
      ],
    });
  });
});

describe("the invoices of the current period that the end removed", () => {
  const state = stateOf();
  const prorated = (from: string, to: string) =>
    prorationLine(
      seats,
      {
        name: "Seats",
        description: "10 to 12 seats",
        amount: d("10.00"),
        period: { start: civilDate(from), end: civilDate(to) },
        fromUnits: 10,
        toUnits: 12,
        daysRemaining: 15,
        daysInPeriod: 30,
      },
      state.organisation,
    );
  const own = prorated("2026-06-16", "2026-07-01");
  const before = prorated("2026-05-16", "2026-06-01");
  const planText = `100.0000 for ${june}: 10 × 10.0000`;
  const ownText = "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats";
  const beforeText = "10.0000 for 2026-05-16 to 2026-06-01: 10 to 12 seats";

  it("are reissued line by line, oldest first, and name the invoices that they replace", () => {
    const order = { ...ahead, ...ended, units: 12, billed: 12 };
    const all = [
      removed([planLineOf(stateOf(order), 10)], { id: "renewal" }),
      removed([own], { type: "change", id: "change" }),
      removedAhead(order, 12),
    ];
    expect(restored(order, { removed: all })).toEqual({
      is: "active, 12 units, until 2026-07-01, ends null",
      dueDate: "2026-07-01",
      periods: ["6: 12 billed"],
      invoices: [
        ["renewal of 5", planText],
        ["change of 5", ownText],
        ["renewal of 6", `120.0000 for ${july}: 12 × 10.0000`],
      ],
    });
    const { invoices } = decideRestoration(factsOf(order, { removed: all }));
    expect(invoices.map(({ replaces }) => replaces)).toEqual(["renewal", "change", null]);
  });

  it("keep the charges of the period before that still count as billed by them", () => {
    const lines = [planLineOf(state, 10), before, own];
    expect(restored(ended, { removed: [removed(lines, { billsDeferred: true })] })).toMatchObject({
      invoices: [["renewal of 5", planText, beforeText, ownText]],
    });
  });

  it("lose lines that are deferred or billed since, because the end removed them ahead", () => {
    const lines = [planLineOf(state, 10), before, own];
    expect(restored(ended, { removed: [removed(lines)] })).toMatchObject({
      invoices: [["renewal of 5", planText, ownText]],
    });
  });

  it("are joined by what an earlier invoice billed ahead separately: only that is reissued", () => {
    const separate = removed([before, own], { type: "change", periodIndex: 4 });
    const facts = { removed: [separate, removed([before], { type: "change", periodIndex: 4 })] };
    expect(restored(ended, facts)).toMatchObject({ invoices: [["change of 5", ownText]] });
    const [invoice] = decideRestoration(factsOf(ended, facts)).invoices;
    expect(invoice?.draft.period).toEqual({ start: "2026-06-01", end: "2026-07-01" });
  });

  it("lose what they billed ahead of the next period: its renewal invoice bills that", () => {
    const separate = removed([own, prorated("2026-07-01", "2026-08-01")], { type: "change" });
    const order = { ...ahead, ...ended, units: 12 };
    expect(restored(order, { removed: [separate] })).toMatchObject({
      invoices: [
        ["change of 5", ownText],
        ["renewal of 6", `120.0000 for ${july}: 12 × 10.0000`],
      ],
    });
  });

  it("bill the units that they billed before, also if there are fewer now", () => {
    const order = { ...setToEnd, units: 3, billed: 10 };
    expect(restored(order, { removed: [removed([planLineOf(state, 10)])] })).toMatchObject({
      invoices: [["renewal of 5", planText]],
    });
  });
});
