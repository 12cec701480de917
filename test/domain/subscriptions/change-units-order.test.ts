/** Of two refusals of a change of units, the one that UNITS-11 names first answers. */
import { describe, expect, it } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { Plan } from "../../../src/domain/catalogue/plan.ts";
import type { SubscriptionStatus } from "../../../src/domain/model/subscription.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { type RefusalCode, refusals } from "../../../src/domain/refusal.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import { changeTo, issued, refusalOf, stateOf } from "./billing-state-builder.ts";

const flatFee = planOf("flat_fee", { price: parseDecimal("49") });
const bounded = planOf("tiered", { tiers: tiersOf([5, "1"], [9, "2"]), freeUnits: 2 });
const costly = planOf("per_unit", { price: parseDecimal("999999999.9999") });
const cheaper = planOf("volume", { tiers: tiersOf([10, "10"], [null, "0"]) });
const running = {
  kind: "amend_invoice",
  id: "operation",
  description: "invoice INV-0006 is being amended",
} as const;

/** The order of UNITS-11, with the refusals of another operation and of amounts. */
const order = [
  "setup_mode_on",
  "invalid_state",
  "subscription_not_changeable",
  "plan_has_no_units",
  "units_below_minimum",
  "units_above_maximum",
  "invalid_parameter",
  "units_unchanged",
  "effective_date_required",
  "effective_date_out_of_period",
  "proration_not_applicable",
  "proration_behaviour_not_allowed",
  "document_required",
  "document_not_allowed",
  "proration_required",
  "proration_unavailable",
  "renewal_invoice_not_amendable",
  "first_invoice_not_amendable",
  "ledger_accounts_not_mapped",
] as const satisfies readonly RefusalCode[];
type Code = (typeof order)[number];

/**
 * The cause of a refusal of a change from 10 to 1,000,012 units: each member that it needs, and no
 * other.
 */
interface Fault {
  readonly setupMode?: true;
  readonly running?: true;
  readonly status?: SubscriptionStatus;
  readonly plan?: Plan;
  readonly minimumUnits?: number;
  readonly units?: number;
  readonly final?: true;
  readonly ahead?: "issued" | "paid" | false;
  readonly firstInvoice?: false;
  readonly closed?: true;
  readonly account?: null;
  readonly prorate?: boolean;
  readonly from?: string | null;
  readonly document?: "amend" | null;
  readonly onRenewal?: true;
}

const faults: Readonly<Record<Code, readonly Fault[]>> = {
  setup_mode_on: [{ setupMode: true }],
  invalid_state: [{ running: true }],
  subscription_not_changeable: [{ status: "ended" }, { status: "complete" }],
  plan_has_no_units: [{ plan: flatFee }],
  units_below_minimum: [{ minimumUnits: 1_000_013 }],
  units_above_maximum: [{ plan: bounded }],
  invalid_parameter: [{ plan: costly }],
  units_unchanged: [{ units: 1_000_012 }],
  effective_date_required: [{ prorate: true, from: null }],
  effective_date_out_of_period: [{ prorate: true, from: "2026-07-01" }],
  proration_not_applicable: [
    { prorate: true, status: "pending" },
    { prorate: true, units: 1_000_020 },
  ],
  proration_behaviour_not_allowed: [
    { prorate: true, onRenewal: true, final: true },
    { prorate: true, onRenewal: true, ahead: "issued" },
    { prorate: true, onRenewal: true, ahead: "paid" },
  ],
  document_required: [{ ahead: "issued", document: null }],
  document_not_allowed: [{ ahead: false, document: "amend" }],
  proration_required: [{ prorate: false, plan: cheaper }],
  proration_unavailable: [{ prorate: true, closed: true }],
  renewal_invoice_not_amendable: [{ ahead: "paid", document: "amend" }],
  first_invoice_not_amendable: [{ status: "pending", firstInvoice: false }],
  ledger_accounts_not_mapped: [{ account: null }],
};

function answerTo(fault: Fault): string {
  const { units = 10, plan, ahead: next = false, from = "2026-06-16", prorate = false } = fault;
  const isAhead = next !== false;
  const state = stateOf({
    units,
    ...(plan && { plan }),
    ...(isAhead && { renewalInvoice: { status: next === "paid" ? "paid" : "approved" } }),
    invoices: fault.firstInvoice === false ? [] : [issued({ type: "first" })],
    running: fault.running ? running : null,
    period: { prorationClosed: fault.closed ?? false },
    subscription: {
      status: fault.status ?? "active",
      minimumUnits: fault.minimumUnits ?? 0,
      endDate: fault.final ? civilDate("2026-07-01") : null,
    },
    organisation: {
      setupMode: fault.setupMode ?? false,
      ...(fault.account === null && { revenueAccount: null }),
    },
  });
  const request = changeTo(1_000_012, {
    prorate,
    ...(prorate && from !== null && { from }),
    behaviour: fault.onRenewal ? "charge_on_renewal" : null,
    document: fault.document === undefined ? (isAhead ? "separate" : null) : fault.document,
  });
  return refusalOf(state, { ...request, prorate })[0];
}

/** Both faults in one, or null if they contradict each other. */
function both(one: Fault, other: Fault): Fault | null {
  const merged: Fault = { ...one, ...other };
  const kept = Object.entries(one).every(([key, value]) => merged[key as keyof Fault] === value);
  return kept ? merged : null;
}

it("each has the status that the specification has for it", () => {
  const conflicts = ["invalid_state", "ledger_accounts_not_mapped"];
  for (const code of order)
    expect([code, refusals[code].status]).toEqual([code, conflicts.includes(code) ? 409 : 422]);
});

describe("of two refusals the earlier one answers", () => {
  it.each(order)("%s is provoked by each of its faults alone", (code) => {
    for (const fault of faults[code]) expect(answerTo(fault)).toBe(code);
  });

  /** Pairs that no request can provoke together, each with its reason. */
  const impossible: Readonly<Partial<Record<Code, readonly Code[]>>> = {
    // A subscription has one status and one plan. A flat fee has no tiers. Above the last tier
    // there is no price. An amount beyond an invoice's limit is no credit.
    subscription_not_changeable: ["first_invoice_not_amendable"],
    plan_has_no_units: ["units_above_maximum", "invalid_parameter", "proration_required"],
    units_above_maximum: ["invalid_parameter", "proration_required"],
    invalid_parameter: ["proration_required"],
    // A date is missing or wrong; `prorate` is true or false.
    effective_date_required: ["effective_date_out_of_period", "proration_required"],
    effective_date_out_of_period: ["proration_required"],
    proration_not_applicable: ["proration_required"],
    // Prorated while pending answers proration_not_applicable before, and nothing is a credit then.
    proration_behaviour_not_allowed: ["proration_required", "first_invoice_not_amendable"],
    proration_required: ["proration_unavailable", "first_invoice_not_amendable"],
    proration_unavailable: ["first_invoice_not_amendable"],
    // `document` is there or not, the renewal invoice is there or not.
    document_required: ["document_not_allowed", "renewal_invoice_not_amendable"],
    document_not_allowed: ["renewal_invoice_not_amendable"],
  };

  const pairs = order.flatMap((earlier, index) =>
    order.slice(index + 1).map((later) => [earlier, later] as const),
  );
  it.each(
    pairs.filter(([earlier, later]) => !impossible[earlier]?.includes(later)),
  )("%s before %s", (earlier, later) => {
    const together = faults[earlier].flatMap((one) =>
      faults[later].map((other) => both(one, other)),
    );
    const possible = together.filter((fault) => fault !== null);
    expect(possible).not.toEqual([]);
    expect(possible.map(answerTo)).toContain(earlier);
    for (const fault of possible)
      expect(order.indexOf(answerTo(fault) as Code)).toBeLessThanOrEqual(order.indexOf(earlier));
  });
});
