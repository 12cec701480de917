/** What one document can hold is checked before any document is decided (MONEY-8). */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { DeferredLine } from "../../../src/domain/model/billing-state.ts";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { previewUnitsChange } from "../../../src/domain/previews/operations.ts";
import { billDue } from "../../../src/domain/previews/preview.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { decideCreation } from "../../../src/domain/subscriptions/create.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  changeTo,
  issued,
  refusalOf,
  type StateOrder,
  stateOf,
} from "../subscriptions/billing-state-builder.ts";
import { factsOf, requestOf, seatPlan } from "../subscriptions/creation-builder.ts";
import { meterOf, usageOf } from "./open-usage-builder.ts";

const d = parseDecimal;
const limit = "1000000000000000.0000";
/** Seats at 100,000,000 each: 9,000,000 of them cost 0.9 of what a document can hold. */
const dear = planOf("per_unit", { name: "Seats", price: d("100000000") });
const most = 9_000_000;
const half = { from: "2026-06-16", prorate: true } as const;
const tenth: DeferredLine = {
  id: "deferred",
  name: "Seats",
  description: "more",
  amount: d("100000000000000"),
  period: { start: civilDate("2026-06-16"), end: civilDate("2026-07-01") },
  fromUnits: 1,
  toUnits: 2,
  daysRemaining: 15,
  daysInPeriod: 30,
};
const held = (differs: Parameters<typeof issued>[0], total: string) =>
  issued({ ...differs, total: d(total), amountDue: d(total) });

function refusal(run: () => unknown): readonly (string | null)[] {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param, error.message];
    throw error;
  }
  return [];
}

const tooMuch = (names: string, amount: string, advice = "") =>
  `The amount of ${names} comes to ${amount}: less than ${limit} can be billed at once.${advice}`;

describe("a creation", () => {
  const facts = factsOf({ plan: { ...seatPlan, price: d("999999999.9999") } });
  const created = (price: string) =>
    requestOf({
      units: 1_000_000,
      charges: [{ chargeCode: "setup", quantity: 1, price: d(price) }],
    });

  it("is refused if plan and charges are more than the first invoice can hold", () => {
    expect(refusal(() => decideCreation(facts, created("100")))).toEqual([
      "invalid_parameter",
      "charges",
      tooMuch("Seats, Setup", limit),
    ]);
    expect(refusal(() => decideCreation(facts, created("99.99")))).toEqual([]);
  });
});

describe("a change of units", () => {
  const refused = (order: StateOrder, to: Parameters<typeof changeTo>, message: string) => {
    const state = stateOf({ plan: dear, units: 1, ...order });
    const expected = ["invalid_parameter", "units", message];
    expect(refusalOf(state, changeTo(...to))).toEqual(expected);
    // A preview refuses alike (PREVIEW-1).
    expect(refusal(() => previewUnitsChange(billDue(state), changeTo(...to)))).toEqual(expected);
  };

  it("is refused if the renewal could not hold what is deferred to it", () => {
    const onRenewal = { ...half, behaviour: "charge_on_renewal" } as const;
    const message = tooMuch("Seats", "1349999950000000.0000");
    refused({}, [most, onRenewal], message);
    refused({ deferred: [tenth] }, [most, { prorate: false }], tooMuch("Seats", limit));
  });

  it("is refused if a separate invoice could not hold both periods", () => {
    const inWindow = { today: "2026-06-20", next: {}, renewalInvoice: {} };
    const message = tooMuch("Seats", "1349999850000000.0000");
    refused(inWindow, [most, { ...half, document: "separate" }], message);
  });

  it("is refused if an amended invoice could not hold its other lines", () => {
    const renewalInvoice = held({ periodIndex: 6 }, "200000100000000");
    const inWindow = { today: "2026-06-20", next: {}, renewalInvoice };
    const message = tooMuch("Seats", "1100000000000000.0000");
    refused(inWindow, [most, { prorate: false, document: "amend" }], message);
    const first = { type: "first", periodIndex: 0 } as const;
    const pending: StateOrder = {
      index: 0,
      startDate: "2026-06-20",
      subscription: { status: "pending" },
      invoices: [held(first, "200000100000000")],
    };
    refused(pending, [most], message);
  });

  it("bills a charge on its own invoice if the draft that it would join is full", () => {
    const draft = held({}, "999999900000000");
    const state = stateOf({ plan: dear, units: 1, invoices: [draft] });
    const { joined, invoice } = previewed(state, changeTo(5, half));
    expect([joined, invoice]).toEqual([undefined, "change of 200000000.0000"]);
  });

  it("is refused if a credit note could not hold both credits", () => {
    const plan = planOf("volume", { tiers: tiersOf([most, "100000000"], [null, "1"]) });
    const order = {
      plan,
      units: most,
      today: "2026-06-20",
      next: {},
      renewalInvoice: { status: "approved" },
    } as const;
    const state = stateOf(order);
    const [code, param] = refusalOf(state, changeTo(most + 1, { ...half, document: "separate" }));
    expect([code, param]).toEqual(["invalid_parameter", "units"]);
  });
});

const previewed = (state: ReturnType<typeof stateOf>, request: ReturnType<typeof changeTo>) => {
  const { issued: invoices, amended } = previewUnitsChange(billDue(state), request);
  const [draft] = invoices.map((one) => one.draft);
  return {
    joined: amended[0],
    invoice: draft && `${draft.type} of ${formatDecimal(draft.subtotal)}`,
  };
};

describe("a renewal", () => {
  const dearCalls = usageOf("1000000", { meter: meterOf({ price: d("100000000") }) });
  const renewing = { plan: dear, units: most, today: "2026-07-01" };

  it("is refused in words if plan and usage are more than its invoice can hold", () => {
    expect(refusal(() => decideDue(stateOf({ ...renewing, usage: [dearCalls] })))).toEqual([
      "invalid_state",
      null,
      tooMuch("Seats, API calls", limit, " Events of API calls have to be voided."),
    ]);
  });

  it("bills usage apart if the renewal invoice that was issued ahead is full", () => {
    const renewalInvoice = held({ periodIndex: 6 }, "900000000000000");
    const decision = decideDue(
      stateOf({ ...renewing, next: {}, renewalInvoice, usage: [dearCalls] }),
    );
    expect([decision?.joined, decision?.invoices.map(({ draft }) => draft.type)]).toEqual([
      null,
      ["usage"],
    ]);
  });
});
