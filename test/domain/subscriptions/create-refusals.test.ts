/** Every refusal of a creation, with its code and param, in its order. */
import { describe, expect, it } from "vitest";
import type { CatalogueStatus } from "../../../src/domain/catalogue/plan.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { type CreationFacts, decideCreation } from "../../../src/domain/subscriptions/create.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  customer,
  factsOf,
  organisation,
  requestOf,
  seatPlan,
  setupCharge,
} from "./creation-builder.ts";

const asked = (chargeCode: string, price: string | null = null) => ({
  chargeCode,
  quantity: 1,
  price: price === null ? null : parseDecimal(price),
});
const chargesOf = (differs: Partial<typeof setupCharge>) => {
  const other = { ...setupCharge, code: "other", ...differs };
  return new Map([setupCharge, other].map((charge) => [charge.code, charge]));
};
const flatFee = planOf("flat_fee", { price: parseDecimal("49") });
const tieredPlan = planOf("tiered", { tiers: tiersOf([10, "1"], [20, "2"]), freeUnits: 3 });
const setupMode = { ...organisation, setupMode: true };
const yearly = { ...seatPlan, interval: { unit: "month", count: 12 } } as const;

type Asked = NonNullable<Parameters<typeof requestOf>[0]>;

function refusalOf(facts: Partial<CreationFacts>, request: Asked): [string, string | null] {
  try {
    decideCreation(factsOf(facts), requestOf(request));
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param];
    throw error;
  }
  return ["accepted", null];
}

type Case = [
  guarantee: string,
  facts: Partial<CreationFacts>,
  request: Asked,
  code: string,
  param: string | null,
];

describe("the catalogue", () => {
  it.each<Case>([
    ["a name that no zone has", {}, { timezone: "europe/paris" }, "invalid_parameter", "timezone"],
    ["an offset for a zone", {}, { timezone: "+02:00" }, "invalid_parameter", "timezone"],
    ["an unknown customer", { customer: null }, {}, "customer_not_found", "customer_code"],
    ["an unknown plan", { plan: null }, {}, "plan_not_found", "plan_code"],
    [
      "an unknown charge",
      {},
      { charges: [asked("setup"), asked("gone")] },
      "charge_not_found",
      "charges.1.charge_code",
    ],
    [
      "an inactive customer",
      { customer: { ...customer, status: "inactive" } },
      {},
      "customer_not_active",
      "customer_code",
    ],
    ...(["draft", "inactive", "legacy"] as const).flatMap((status: CatalogueStatus): Case[] => [
      [`a ${status} plan`, { plan: { ...seatPlan, status } }, {}, "plan_not_active", "plan_code"],
      [
        `a ${status} charge`,
        { charges: chargesOf({ status }) },
        { charges: [asked("setup"), asked("other")] },
        "charge_not_active",
        "charges.1.charge_code",
      ],
    ]),
    [
      "a charge in another currency",
      { charges: chargesOf({ currency: "USD" }) },
      { charges: [asked("other")] },
      "currency_mismatch",
      "charges.0.charge_code",
    ],
  ])("refuses %s", (_, facts, request, code, param) => {
    expect(refusalOf(facts, request)).toEqual([code, param]);
  });
});

describe("prices", () => {
  const fixedPrice = { ...seatPlan, allowsPriceOverride: false };
  it.each<Case>([
    [
      "a price of the plan",
      { plan: fixedPrice },
      { price: parseDecimal("1") },
      "price_override_not_allowed",
      "price",
    ],
    [
      "also the plan's own price",
      { plan: fixedPrice },
      { price: seatPlan.price },
      "price_override_not_allowed",
      "price",
    ],
    [
      "a price of tiers",
      { plan: tieredPlan },
      { price: parseDecimal("1") },
      "price_override_not_allowed",
      "price",
    ],
    [
      "a price of the charge",
      { charges: chargesOf({ allowsPriceOverride: false }) },
      { charges: [asked("setup", "1"), asked("other", "1")] },
      "price_override_not_allowed",
      "charges.1.price",
    ],
  ])("refuses %s if none is allowed", (_, facts, request, code, param) => {
    expect(refusalOf(facts, request)).toEqual([code, param]);
  });
});

describe("units", () => {
  const costly = planOf("per_unit", { price: parseDecimal("999999999.9999") });
  it.each<Case>([
    ["units on a flat fee", { plan: flatFee }, { units: 1 }, "plan_has_no_units", "units"],
    ["also no units on a flat fee", { plan: flatFee }, { units: 0 }, "plan_has_no_units", "units"],
    [
      "least units on a flat fee",
      { plan: flatFee },
      { units: null, minimumUnits: 0 },
      "plan_has_no_units",
      "minimum_units",
    ],
    ["missing units", {}, { units: null }, "invalid_parameter", "units"],
    ["least units below the plan's", {}, { minimumUnits: 1 }, "invalid_parameter", "minimum_units"],
    ["units below the plan's least", {}, { units: 1 }, "units_below_minimum", "units"],
    [
      "units below the least asked for",
      {},
      { units: 5, minimumUnits: 6 },
      "units_below_minimum",
      "units",
    ],
    [
      "units above the last tier",
      { plan: tieredPlan },
      { units: 24 },
      "units_above_maximum",
      "units",
    ],
    [
      "an amount that cannot be stored",
      { plan: costly },
      { units: 1_000_000_000 },
      "invalid_parameter",
      "units",
    ],
  ])("refuses %s", (_, facts, request, code, param) => {
    expect(refusalOf(facts, request)).toEqual([code, param]);
  });

  it("accepts them on their bounds", () => {
    expect(refusalOf({}, { units: 2 })).toEqual(["accepted", null]);
    expect(refusalOf({}, { units: 2, minimumUnits: 2 })).toEqual(["accepted", null]);
    expect(refusalOf({ plan: tieredPlan }, { units: 23 })).toEqual(["accepted", null]);
    expect(refusalOf({ plan: tieredPlan }, { units: 0 })).toEqual(["accepted", null]);
  });
});

describe("the start", () => {
  it.each<Case>([
    [
      "a future start in Setup Mode",
      { organisation: setupMode },
      { startDate: "2026-06-11" },
      "start_date_in_future",
      "start_date",
    ],
    [
      "a start off its billing day",
      {},
      { startDate: "2026-06-10", billingDay: 11 },
      "invalid_parameter",
      "start_date",
    ],
    [
      "a start before the clamped day",
      {},
      { startDate: "2026-06-29", billingDay: 31 },
      "invalid_parameter",
      "start_date",
    ],
    ["a billing day that today is not", {}, { billingDay: 11 }, "invalid_parameter", "billing_day"],
    [
      "a start more than five years ahead",
      {},
      { startDate: "2031-06-11" },
      "invalid_parameter",
      "start_date",
    ],
    ["the calendar's last day", {}, { startDate: "9999-12-31" }, "invalid_parameter", "start_date"],
    [
      "a first period that is over",
      {},
      { startDate: "2026-05-10" },
      "invalid_parameter",
      "start_date",
    ],
    [
      "the calendar's first day",
      {},
      { startDate: "0001-01-01" },
      "invalid_parameter",
      "start_date",
    ],
    [
      "a first period that is over in Setup Mode",
      { organisation: setupMode },
      { startDate: "2026-05-10" },
      "invalid_parameter",
      "start_date",
    ],
    [
      "cycles beyond the calendar",
      { plan: { ...seatPlan, interval: { unit: "month", count: 120 } } },
      { endAfterCycles: 1200 },
      "invalid_parameter",
      "end_after_cycles",
    ],
  ])("refuses %s", (_, facts, request, code, param) => {
    expect(refusalOf(facts, request)).toEqual([code, param]);
  });

  it.each([
    ["2031-06-10", null],
    ["2026-05-11", null],
    ["2026-06-30", 31],
    ["2026-06-10", 10],
  ])("accepts one on %s with billing day %s", (startDate, billingDay) => {
    expect(refusalOf({}, { startDate, billingDay })).toEqual(["accepted", null]);
  });

  it("a yearly first period may have begun nearly a year ago", () => {
    expect(refusalOf({ plan: yearly }, { startDate: "2025-06-11" })).toEqual(["accepted", null]);
    expect(refusalOf({ plan: yearly }, { startDate: "2025-06-10" })).toEqual([
      "invalid_parameter",
      "start_date",
    ]);
  });

  it("today is that of the subscription's zone", () => {
    const now = new Date("2026-06-10T23:00:00Z");
    const inSetupMode = { organisation: setupMode, now };
    expect(refusalOf(inSetupMode, { startDate: "2026-06-11" })).toEqual(["accepted", null]);
    expect(refusalOf(inSetupMode, { startDate: "2026-06-11", timezone: "UTC" })[0]).toBe(
      "start_date_in_future",
    );
  });
});

it("of many faults the first in order answers, and mending it shows the next", () => {
  const faulty: CreationFacts = factsOf({
    organisation: setupMode,
    customer: null,
    plan: null,
    charges: chargesOf({ status: "draft", currency: "USD", allowsPriceOverride: false }),
  });
  const faultyRequest: Asked = {
    timezone: "Nowhere",
    price: parseDecimal("1"),
    units: null,
    minimumUnits: 1,
    startDate: "2032-06-11",
    billingDay: 12,
    endAfterCycles: 1200,
    charges: [asked("setup", "1"), asked("other", "1"), asked("gone", "1")],
  };
  const fixed = {
    ...seatPlan,
    allowsPriceOverride: false,
    interval: { unit: "month", count: 120 },
  } as const;
  type Mend = [facts: Partial<CreationFacts>, request: Asked, answer: string];
  const mends: Mend[] = [
    [{}, {}, "invalid_parameter timezone"],
    [{}, { timezone: null }, "customer_not_found customer_code"],
    [{ customer: { ...customer, status: "inactive" } }, {}, "plan_not_found plan_code"],
    [{ plan: { ...fixed, status: "legacy" } }, {}, "charge_not_found charges.2.charge_code"],
    [
      {},
      { charges: [asked("setup", "1"), asked("other", "1")] },
      "customer_not_active customer_code",
    ],
    [{ customer }, {}, "plan_not_active plan_code"],
    [{ plan: fixed }, {}, "charge_not_active charges.1.charge_code"],
    [
      { charges: chargesOf({ currency: "USD", allowsPriceOverride: false }) },
      {},
      "currency_mismatch charges.1.charge_code",
    ],
    [
      { charges: chargesOf({ allowsPriceOverride: false }) },
      {},
      "price_override_not_allowed price",
    ],
    [{}, { price: null }, "price_override_not_allowed charges.1.price"],
    [{}, { charges: [asked("setup", "1"), asked("other")] }, "invalid_parameter units"],
    [{}, { units: 1 }, "invalid_parameter minimum_units"],
    [{}, { minimumUnits: null }, "units_below_minimum units"],
    [{}, { units: 2 }, "start_date_in_future start_date"],
    [{ organisation }, {}, "invalid_parameter start_date"],
    [{}, { startDate: "2032-06-12" }, "invalid_parameter start_date"],
    [{}, { startDate: "2027-06-12" }, "invalid_parameter end_after_cycles"],
    [{}, { endAfterCycles: 12 }, "accepted "],
  ];
  let [facts, request] = [faulty, faultyRequest];
  const answers = mends.map(([mendedFacts, mendedRequest]) => {
    facts = { ...facts, ...mendedFacts };
    request = { ...request, ...mendedRequest };
    const [code, param] = refusalOf(facts, request);
    return `${code} ${param ?? ""}`;
  });
  expect(answers).toEqual(mends.map(([, , answer]) => answer));
});
