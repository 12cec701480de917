/**
 * What a creation decides: the subscription, its periods, and its invoices with their dates, lines
 * and amounts.
 */
import { describe, expect, it } from "vitest";
import { renewalValue } from "../../../src/domain/billing/due-date.ts";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import {
  type CreationDecision,
  type CreationFacts,
  decideCreation,
} from "../../../src/domain/subscriptions/create.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  customer,
  factsOf,
  organisation,
  requestOf,
  seatPlan,
  setupCharge,
} from "./creation-builder.ts";

const d = parseDecimal;
const decide = (
  request: Parameters<typeof requestOf>[0] = {},
  facts: Partial<CreationFacts> = {},
) => decideCreation(factsOf(facts), requestOf(request));
const nextValue = ({ subscription, plan }: CreationDecision) =>
  formatDecimal(renewalValue(subscription, plan));

describe("the subscription", () => {
  it("starts today in the organisation's zone, on today's day, with nothing taken off", () => {
    const { subscription, firstPeriod } = decide();
    expect(subscription).toEqual({
      customerId: customer.id,
      customerCode: "cust",
      planId: seatPlan.id,
      status: "active",
      currency: "EUR",
      interval: { unit: "month", count: 1 },
      timezone: "Europe/Paris",
      startDate: "2026-06-10",
      billingDay: 10,
      renewalDate: "2026-07-10",
      endDate: null,
      units: 5,
      minimumUnits: 2,
      discountPercent: { unscaled: 0n, scale: 0 },
      priceOverride: null,
      cancelAtPeriodEnd: false,
      endAfterCycles: null,
      label: "",
      invoiceReference: "",
      createdAt: new Date("2026-06-10T12:00:00Z"),
    });
    expect(firstPeriod).toEqual({
      index: 0,
      start: "2026-06-10",
      end: "2026-07-10",
      billedUnits: 5,
      billedBy: "5 creation",
      setupMode: false,
    });
  });

  it("keeps the requested fields", () => {
    const asked = {
      units: 9,
      minimumUnits: 7,
      discountPercent: d("12.5"),
      price: d("8"),
      label: "L",
      invoiceReference: "PO 1",
    };
    const { subscription } = decide({ ...asked, timezone: "America/New_York" });
    expect(subscription).toMatchObject({
      units: 9,
      minimumUnits: 7,
      discountPercent: d("12.5"),
      priceOverride: d("8"),
      label: "L",
      invoiceReference: "PO 1",
      timezone: "America/New_York",
    });
  });

  it("starts on the day that it is in its own zone", () => {
    const facts = { now: new Date("2026-06-10T22:30:00Z") };
    expect(decide({}, facts).subscription.startDate).toBe("2026-06-11");
    expect(decide({ timezone: "UTC" }, facts).subscription.startDate).toBe("2026-06-10");
    expect(decide({ timezone: "Pacific/Kiritimati" }, facts).subscription.startDate).toBe(
      "2026-06-11",
    );
  });

  it("is pending until its start date has come in its own zone", () => {
    const facts = { now: new Date("2026-06-10T22:30:00Z") };
    expect(decide({ startDate: "2026-06-11" }, facts).subscription.status).toBe("active");
    expect(decide({ startDate: "2026-06-11", timezone: "UTC" }, facts).subscription.status).toBe(
      "pending",
    );
  });

  it("renews on its billing day again after a short month", () => {
    const { subscription } = decide({ startDate: "2027-02-28", billingDay: 31 });
    expect(subscription).toMatchObject({
      startDate: "2027-02-28",
      billingDay: 31,
      renewalDate: "2027-03-31",
    });
  });

  it("to a flat fee has 0 units and none billed", () => {
    const { subscription, firstPeriod, invoice } = decide(
      { units: null },
      { plan: planOf("flat_fee", { price: d("49") }) },
    );
    expect([subscription.units, subscription.minimumUnits, firstPeriod.billedUnits]).toEqual([
      0,
      0,
      null,
    ]);
    expect(invoice?.lines[0]).toMatchObject({
      units: null,
      unitPrice: d("49"),
      amount: d("49.00"),
    });
  });
});

describe("a limited number of cycles", () => {
  it.each([
    [1, "2026-07-31"],
    [8, "2027-02-28"],
    [1200, "2126-06-30"],
  ])("of %i sets the end date, counted from the anchor", (endAfterCycles, endDate) => {
    const { subscription } = decide({ startDate: "2026-06-30", billingDay: 31, endAfterCycles });
    expect(subscription).toMatchObject({ endAfterCycles, endDate, cancelAtPeriodEnd: false });
  });

  it("of one is never renewed", () => {
    expect(nextValue(decide({ endAfterCycles: 1 }))).toBe("0.0000");
    expect(nextValue(decide({ endAfterCycles: 2 }))).toBe("50.0000");
  });
});

describe("the first invoice", () => {
  it("bills the first period and the charges, by default on the organisation's accounts", () => {
    const charges = [
      { chargeCode: "setup", quantity: 3, price: null },
      { chargeCode: "setup", quantity: 1, price: d("9.995") },
    ];
    const plan = { ...seatPlan, revenueAccount: "201", taxType: "ZERO" };
    const { invoice } = decide(
      { charges, discountPercent: d("10"), invoiceReference: "PO 1" },
      { plan },
    );
    const period = { start: "2026-06-10", end: "2026-07-10" };
    const line = { quantity: null, proration: null };
    const charge = {
      ...line,
      kind: "charge",
      name: "Setup",
      description: "Setting up",
      period: null,
      chargeId: setupCharge.id,
      meterId: null,
    };
    expect(invoice).toEqual({
      type: "first",
      reference: "PO 1",
      currency: "EUR",
      issueDate: "2026-06-10",
      dueDate: "2026-07-10",
      period,
      periodIndex: 0,
      subtotal: d("205.00"),
      lines: [
        {
          ...line,
          kind: "plan",
          name: "Seats",
          description: "5 × 10.0000, less 10 %",
          units: 5,
          unitPrice: d("10"),
          amount: d("45.00"),
          facts: expect.objectContaining({ r: "plan/1", u: 5, d: "10" }),
          period,
          chargeId: null,
          meterId: null,
          revenueAccount: "201",
          taxType: "ZERO",
        },
        {
          ...charge,
          units: 3,
          unitPrice: d("50"),
          amount: d("150.00"),
          facts: { r: "charge/1", q: 3, m: "50", g: setupCharge.id },
          revenueAccount: "200",
          taxType: "OUTPUT",
        },
        {
          ...charge,
          units: 1,
          unitPrice: d("9.995"),
          amount: d("10.00"),
          facts: { r: "charge/1", q: 1, m: "9.995", g: setupCharge.id, a: 1 },
          revenueAccount: "200",
          taxType: "OUTPUT",
        },
      ],
    });
  });

  it.each([
    ["2026-06-10", "2026-06-10", "2026-07-10"],
    ["2026-05-20", "2026-06-10", "2026-07-10"],
    ["2026-12-31", "2026-12-31", "2027-01-30"],
  ])("of a start on %s is dated %s, today or later, due %s", (startDate, issueDate, dueDate) => {
    expect(decide({ startDate }).invoice).toMatchObject({ issueDate, dueDate });
  });

  it("is issued over an amount of zero", () => {
    expect(decide({ discountPercent: d("100") }).invoice?.subtotal).toEqual(d("0.00"));
  });

  it("has no account if neither the plan nor the organisation has one", () => {
    const facts = { organisation: { ...organisation, revenueAccount: null, taxType: null } };
    expect(decide({}, facts).invoice?.lines[0]).toMatchObject({
      revenueAccount: null,
      taxType: null,
    });
  });

  it.each([
    ["tiered", "62.0000", "10 × 5.0000 + 3 × 4.0000"],
    ["volume", "52.0000", "13 × 4.0000"],
  ] as const)("prices a %s plan by its tiers: %s", (type, amount, description) => {
    const plan = planOf(type, { tiers: tiersOf([10, "5"], [null, "4"]) });
    const decision = decide({ units: 13 }, { plan });
    const [line] = decision.invoice?.lines ?? [];
    expect(line && formatDecimal(line.amount)).toBe(amount);
    expect(line?.description).toBe(description);
    expect(nextValue(decision)).toBe(amount);
  });

  it("takes list or override price, then the discount, then rounds once to the currency", () => {
    const plan = { ...seatPlan, currency: "JPY", price: d("100.5") };
    expect(
      nextValue(decide({ units: 3, discountPercent: d("10") }, { plan, charges: new Map() })),
    ).toBe("271.0000");
    expect(
      nextValue(decide({ units: 3, price: d("0.5"), discountPercent: d("0.0001") }, { plan })),
    ).toBe("1.0000");
  });
});

describe("the renewal invoice", () => {
  it("is issued at once inside the window, for the next period and without the charges", () => {
    const charges = [{ chargeCode: "setup", quantity: 1, price: null }];
    const { invoice, renewalInvoice, renewalPeriod, subscription } = decide({
      startDate: "2026-05-24",
      charges,
    });
    expect(subscription.renewalDate).toBe("2026-06-24");
    expect(invoice?.lines.map(({ kind }) => kind)).toEqual(["plan", "charge"]);
    expect(renewalInvoice?.lines.map(({ kind }) => kind)).toEqual(["plan"]);
    expect(renewalPeriod).toEqual({
      index: 1,
      start: "2026-06-24",
      end: "2026-07-24",
      billedUnits: 5,
      billedBy: "5 creation",
      setupMode: false,
    });
    expect(renewalInvoice).toMatchObject({
      type: "renewal",
      periodIndex: 1,
      period: { start: "2026-06-24", end: "2026-07-24" },
      issueDate: "2026-06-10",
      dueDate: "2026-07-10",
      subtotal: d("50.00"),
    });
  });

  it.each([
    ["outside the window", { startDate: "2026-05-25" }, {}],
    ["in the final period", { startDate: "2026-05-24", endAfterCycles: 1 }, {}],
    [
      "in Setup Mode",
      { startDate: "2026-05-24" },
      { organisation: { ...organisation, setupMode: true } },
    ],
    [
      "without create days",
      { startDate: "2026-05-11" },
      { organisation: { ...organisation, invoiceCreateDays: 0 } },
    ],
    [
      "while pending",
      { startDate: "2026-06-11" },
      { organisation: { ...organisation, invoiceCreateDays: 60 } },
    ],
  ])("is not issued %s", (_, request, facts) => {
    expect(decide(request, facts)).toMatchObject({ renewalInvoice: null, renewalPeriod: null });
  });

  it("is issued before the last of several cycles", () => {
    expect(decide({ startDate: "2026-05-24", endAfterCycles: 2 }).renewalInvoice).not.toBeNull();
  });
});

describe("Setup Mode", () => {
  it("issues no invoice and counts the units at the start as billed", () => {
    const facts = { organisation: { ...organisation, setupMode: true } };
    const charges = [{ chargeCode: "setup", quantity: 1, price: null }];
    const decision = decide({ startDate: "2026-05-31", charges }, facts);
    expect(decision).toMatchObject({ invoice: null, renewalInvoice: null, renewalPeriod: null });
    expect(decision.firstPeriod).toEqual({
      index: 0,
      start: "2026-05-31",
      end: "2026-06-30",
      billedUnits: 5,
      billedBy: "5 setup_mode",
      setupMode: true,
    });
    expect(decision.subscription).toMatchObject({ status: "active", billingDay: 31 });
    expect(nextValue(decision)).toBe("50.0000");
  });
});
