/** What set the billed units of a period, by everything that sets them. MONEY-9. */
import { describe, expect, it } from "vitest";
import { billedByOf, billedFor } from "../../../src/domain/billing/billed-by.ts";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import type { PeriodState } from "../../../src/domain/model/billing-state.ts";
import { billClosedAmendment } from "../../../src/domain/subscriptions/abandoned-amendment.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { decideRestoration } from "../../../src/domain/subscriptions/restore.ts";
import { planOf } from "../catalogue/catalogue.ts";
import {
  changeTo,
  issued,
  type StateOrder,
  stateOf,
} from "../subscriptions/billing-state-builder.ts";
import { ahead, factsOf, setToEnd } from "../subscriptions/restoration-builder.ts";

const created = billedFor(10, "creation");
const inWindow = { today: "2026-06-20", period: created, next: created, renewalInvoice: {} };
const half = { from: "2026-06-16" };

const billed = (periods: readonly PeriodState[] = []) => periods.map(({ billedBy }) => billedBy);

describe("what set billed units", () => {
  it("is read while they are the billed ones", () => {
    expect(billedByOf(billedFor(10, "change"))).toBe("change");
    expect(billedByOf({ ...billedFor(10, "change"), billedUnits: 1 })).toBeUndefined();
    expect(billedByOf({ billedUnits: 10, billedBy: null })).toBeUndefined();
  });

  it("is not known of a change without an id, and of a plan without units", () => {
    expect(billedFor(10, undefined).billedBy).toBeNull();
    expect(billedFor(null, "creation").billedBy).toBeNull();
  });
});

describe("a change of units", () => {
  const pending: StateOrder = {
    index: 0,
    startDate: "2026-06-20",
    subscription: { status: "pending" },
    invoices: [issued({ type: "first", periodIndex: 0 })],
  };

  it.each([
    ["billed in the current period", { period: created }, changeTo(12, half), ["12 change"]],
    ["that bills nothing", { period: created }, changeTo(12), ["10 creation"]],
    ["downwards", { period: created }, changeTo(8), ["10 creation"]],
    [
      "billed separately",
      inWindow,
      changeTo(12, { ...half, document: "separate" }),
      ["12 change", "12 change"],
    ],
    [
      "of the renewal invoice",
      inWindow,
      changeTo(8, { document: "amend" }),
      ["10 creation", "8 change"],
    ],
    ["of a first invoice", pending, changeTo(12), ["12 change"]],
  ] as const)("%s leaves periods with what set their units", (_, order, request, periods) => {
    const decision = decideUnitsChange(stateOf(order), { ...request, changeId: "change" });
    expect(billed(decision.periods)).toEqual(periods);
  });
});

describe("a period that begins", () => {
  const due = (order: StateOrder) =>
    billed(decideDue(stateOf({ today: "2026-07-01", ...order }))?.periods);
  const setupMode = { organisation: { setupMode: true } };
  const removed = { renewalInvoice: null, endRemovedRenewal: true };

  it.each([
    ["has the units of the creation", {}, ["10 creation"]],
    [
      "has the units of the last change",
      { subscription: { unitChangeId: "change" } },
      ["10 change"],
    ],
    ["of a flat fee has none", { plan: planOf("flat_fee") }, [null]],
    ["in Setup Mode has its units by that", setupMode, ["10 setup_mode"]],
    ["after an end removed its invoice has its units by that", removed, ["10 removal"]],
    [
      "in Setup Mode after that has them by Setup Mode",
      { ...removed, ...setupMode },
      ["10 setup_mode"],
    ],
    [
      "in Setup Mode with its invoice has the units of that",
      { next: created, renewalInvoice: {}, ...setupMode },
      ["10 creation"],
    ],
  ] satisfies readonly (readonly [
    string,
    StateOrder,
    (string | null)[],
  ])[])("%s", (_, order, periods) => {
    expect(due(order)).toEqual(periods);
  });

  it("has the current units if a restoration issues its invoice again", () => {
    const unitChangeId = "change";
    const subscription = { ...setToEnd.subscription, unitChangeId };
    const order = { ...ahead, subscription, next: billedFor(8, "creation") };
    expect(billed(decideRestoration(factsOf(order)).periods)).toEqual(["10 change"]);
  });
});

describe("an abandoned amendment", () => {
  const abandoned = (billedUnits: number, toUnits: number, stands: boolean) => {
    const state = stateOf({ ...inWindow, next: billedFor(billedUnits, "second") });
    if (state.nextPeriod === null) throw new Error("there is no next period");
    const repricing = { fromUnits: 10, billedBy: "10 first", toUnits, changeId: "second" };
    const closed = { period: state.nextPeriod, added: null, isUsage: false, repricing, stands };
    const { period, invoice, creditNote } = billClosedAmendment(state, closed);
    const [line] = [...(invoice?.lines ?? []), ...(creditNote?.lines ?? [])];
    return [period.billedBy, line?.facts];
  };

  it("that is billed separately starts from what set the units before, and stays", () => {
    const names = expect.objectContaining({ b: "first", c: "second" });
    expect(abandoned(13, 13, true)).toEqual(["13 second", names]);
    expect(abandoned(8, 8, true)).toEqual(["8 second", names]);
  });

  it("that bills nothing gives back what set the units before", () => {
    expect(abandoned(8, 8, false)).toEqual(["10 first", undefined]);
  });

  it("that bills nothing leaves what set higher units since", () => {
    expect(abandoned(12, 8, false)).toEqual(["12 second", undefined]);
  });
});
