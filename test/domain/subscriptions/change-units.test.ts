/**
 * What a change of units outside the invoice window bills, to the cent and the word, and what the
 * period counts as billed afterwards. UNITS-2, UNITS-3, UNITS-4.
 */
import { describe, expect, it } from "vitest";
import { renewalValue } from "../../../src/domain/billing/due-date.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  afterChange,
  changeSummaries,
  changeSummary,
  changeTo,
  issued,
  seats,
  stateOf,
  unitsSummary,
  volumeSeats,
} from "./billing-state-builder.ts";

const d = parseDecimal;
const tenMore =
  "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30";

describe("an increase prorated at once", () => {
  it("is one new invoice of the period, dated today, with the organisation's accounts", () => {
    const { invoice, ...rest } = decideUnitsChange(stateOf(), changeTo(12, { from: "2026-06-16" }));
    expect(invoice).toEqual({
      type: "change",
      reference: "PO 7",
      currency: "EUR",
      issueDate: "2026-06-10",
      dueDate: "2026-07-10",
      period: { start: "2026-06-01", end: "2026-07-01" },
      periodIndex: 5,
      subtotal: d("10.00"),
      lines: [
        {
          kind: "proration",
          name: "Seats",
          description: "10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30",
          units: null,
          quantity: null,
          unitPrice: null,
          amount: d("10.00"),
          facts: expect.objectContaining({ r: "proration/1", f: 10, t: 12, e: "2026-06-16" }),
          period: { start: "2026-06-16", end: "2026-07-01" },
          proration: { fromUnits: 10, toUnits: 12, daysRemaining: 15, daysInPeriod: 30 },
          chargeId: null,
          meterId: null,
          revenueAccount: "200",
          taxType: "OUTPUT",
        },
      ],
    });
    expect(rest).toEqual({
      units: 12,
      periods: [{ ...stateOf().period, billedUnits: 12 }],
      joined: null,
      amended: null,
      deferred: null,
      creditNote: null,
    });
  });

  it("is booked to the plan's own account first", () => {
    const plan = { ...seats, revenueAccount: "201", taxType: "ZERO" };
    const { invoice } = decideUnitsChange(stateOf({ plan }), changeTo(12, { from: "2026-06-16" }));
    expect(invoice?.lines[0]).toMatchObject({ revenueAccount: "201", taxType: "ZERO" });
  });

  it("is charged at once also without proration_behaviour", () => {
    const request = changeTo(12, { from: "2026-06-16" });
    expect(changeSummary({}, { ...request, behaviour: "charge_immediately" })).toEqual(
      changeSummary({}, request),
    );
  });

  it.each([
    ["2026-06-01", "20.0000", 30],
    ["2026-06-09", "14.6700", 22],
    ["2026-06-10", "14.0000", 21],
    ["2026-06-20", "7.3300", 11],
    ["2026-06-30", "0.6700", 1],
  ])("counts the days from %s, past, today or to come: %s for %i days", (from, amount, days) => {
    expect(changeSummary({}, changeTo(12, { from }))).toEqual({
      units: 12,
      periods: ["5: 12 billed"],
      invoice: [
        `${amount} for ${from} to 2026-07-01: 10 to 12 seats, ${days} of 30 days: ` +
          `(120 − 100) × ${days} ÷ 30`,
      ],
    });
  });

  it.each([
    "first",
    "renewal",
    "change",
  ] as const)("joins the newest invoice of the period, a draft: %s", (type) => {
    const invoices = [issued({ id: "newest", type }), issued({ status: "approved" })];
    expect(changeSummary({ invoices }, changeTo(12, { from: "2026-06-16" }))).toEqual({
      units: 12,
      periods: ["5: 12 billed"],
      joined: ["newest, while a draft", tenMore],
    });
  });

  it("joins a draft whose plan line in the ledger is unknown and leaves that line", () => {
    const invoices = [issued({ id: "newest", isPlanLineKnown: false })];
    expect(changeSummary({ invoices }, changeTo(12, { from: "2026-06-16" }))).toHaveProperty(
      "joined.0",
      "newest, while a draft",
    );
  });

  it("passes over usage invoices to find the newest", () => {
    const invoices = [issued({ type: "usage", status: "approved" }), issued({ id: "newest" })];
    expect(changeSummary({ invoices }, changeTo(12, { from: "2026-06-16" }))).toHaveProperty(
      "joined",
      ["newest, while a draft", tenMore],
    );
  });

  it.each([
    [
      "the newest is approved, though an older one is a draft",
      [issued({ status: "approved" }), issued()],
    ],
    ["the newest awaits approval", [issued({ status: "awaiting_approval" })]],
    ["the newest is paid", [issued({ status: "paid" })]],
    [
      "the newest is still to be sent",
      [issued({ status: "scheduled", inLedger: false }), issued()],
    ],
    [
      "the ledger refused the newest",
      [issued({ status: "not_in_external", inLedger: false }), issued()],
    ],
    ["the newest is gone from the ledger", [issued({ inLedger: false }), issued()]],
    ["the draft is of another period", [issued({ periodIndex: 4 })]],
    ["the draft is of usage", [issued({ type: "usage" })]],
    ["there is none", []],
  ])("is a separate invoice if %s", (_, invoices) => {
    expect(changeSummary({ invoices }, changeTo(12, { from: "2026-06-16" }))).toEqual({
      units: 12,
      periods: ["5: 12 billed"],
      invoice: [tenMore],
    });
  });

  it("joins the invoice of the change before it", () => {
    const summaries = changeSummaries({}, [
      changeTo(11, { from: "2026-06-16" }),
      changeTo(12, { from: "2026-06-16" }),
    ]);
    expect(summaries).toMatchObject([
      { invoice: [expect.stringMatching(/^5\.0000 /)] },
      { joined: ["change 1, while a draft", expect.stringMatching(/^5\.0000 .*: 11 to 12 seats/)] },
    ]);
  });
});

describe("an increase deferred to the renewal", () => {
  it("is a deferred line, and counts as billed", () => {
    const request = changeTo(12, { from: "2026-06-16", behaviour: "charge_on_renewal" });
    const draftIsThere = { invoices: [issued()] };
    expect(changeSummary(draftIsThere, request)).toEqual({
      units: 12,
      periods: ["5: 12 billed"],
      deferred: tenMore,
    });
    expect(decideUnitsChange(stateOf(), request).deferred).toEqual({
      name: "Seats",
      description: "10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30",
      amount: d("10.00"),
      facts: expect.objectContaining({ r: "proration/1", f: 10, t: 12, e: "2026-06-16" }),
      period: { start: "2026-06-16", end: "2026-07-01" },
      fromUnits: 10,
      toUnits: 12,
      daysRemaining: 15,
      daysInPeriod: 30,
    });
  });

  it("that costs nothing is not deferred", () => {
    const request = changeTo(10, { from: "2026-06-16", behaviour: "charge_on_renewal" });
    expect(changeSummary({ units: 8, billed: 10 }, request)).toEqual({
      units: 10,
      periods: ["5: 10 billed"],
    });
  });
});

describe("an increase without proration", () => {
  it("issues nothing, leaves the billed units, and is billed by the next renewal", () => {
    const decision = decideUnitsChange(stateOf(), changeTo(12));
    expect(unitsSummary(decision)).toEqual({
      units: 12,
      periods: ["5: 10 billed, proration closed"],
    });
    const { subscription, plan } = afterChange(stateOf(), decision);
    expect(renewalValue(subscription, plan)).toEqual(d("120.00"));
  });

  it("closes prorated charges until the renewal; unprorated changes stay possible", () => {
    const prorated = changeTo(14, { from: "2026-06-16" });
    expect(
      changeSummaries({}, [changeTo(12), prorated, changeTo(14), changeTo(9), changeTo(15)]),
    ).toEqual([
      { units: 12, periods: ["5: 10 billed, proration closed"] },
      "proration_unavailable",
      { units: 14, periods: ["5: 10 billed, proration closed"] },
      { units: 9, periods: ["5: 10 billed, proration closed"] },
      { units: 15, periods: ["5: 10 billed, proration closed"] },
    ]);
  });

  it("within the billed units closes nothing", () => {
    const prorated = changeTo(12, { from: "2026-06-16" });
    expect(changeSummaries({}, [changeTo(8), changeTo(9), changeTo(10), prorated])).toEqual([
      { units: 8, periods: ["5: 10 billed"] },
      { units: 9, periods: ["5: 10 billed"] },
      { units: 10, periods: ["5: 10 billed"] },
      { units: 12, periods: ["5: 12 billed"], invoice: [tenMore] },
    ]);
  });

  it("above them closes proration, also without a step of the price", () => {
    const plan = planOf("stairstep", { tiers: tiersOf([10, null, "50"], [20, null, "100"]) });
    const request = changeTo(11, { from: "2026-06-16" });
    expect(
      changeSummaries({ plan, units: 8 }, [
        changeTo(9),
        request,
        changeTo(10, { from: "2026-06-16" }),
      ]),
    ).toEqual([
      { units: 9, periods: ["5: 8 billed, proration closed"] },
      "proration_unavailable",
      // Prorated, but at no charge: the same step.
      { units: 10, periods: ["5: 8 billed, proration closed"] },
    ]);
  });

  it("refuses only charges: a prorated increase within the billed units stays possible", () => {
    const prorated = changeTo(9, { from: "2026-06-16" });
    expect(changeSummaries({}, [changeTo(12), changeTo(5), prorated])).toHaveProperty("2", {
      units: 9,
      periods: ["5: 10 billed, proration closed"],
    });
  });
});

describe("a decrease", () => {
  it("issues nothing and leaves the billed units: the next renewal bills less", () => {
    const draftIsThere = { invoices: [issued()] };
    const decision = decideUnitsChange(stateOf(draftIsThere), changeTo(8));
    expect(unitsSummary(decision)).toEqual({ units: 8, periods: ["5: 10 billed"] });
    const { subscription, plan } = afterChange(stateOf(draftIsThere), decision);
    expect(renewalValue(subscription, plan)).toEqual(d("80.00"));
  });

  it("to a total above the billed units is a decrease all the same", () => {
    expect(changeSummary({ units: 20, billed: 5 }, changeTo(15))).toEqual({
      units: 15,
      periods: ["5: 5 billed"],
    });
  });

  it("of a volume plan into a dearer band issues nothing, though a period then costs more", () => {
    expect(changeSummary({ plan: volumeSeats, units: 12 }, changeTo(10))).toEqual({
      units: 10,
      periods: ["5: 12 billed"],
    });
  });

  it("may go to 0, and to the minimum", () => {
    expect(changeSummary({}, changeTo(0))).toEqual({ units: 0, periods: ["5: 10 billed"] });
    expect(changeSummary({ subscription: { minimumUnits: 4 } }, changeTo(4))).toHaveProperty(
      "units",
      4,
    );
  });
});

describe("units at or below those billed", () => {
  it.each([
    [
      "10 to 8 and back, prorated",
      [changeTo(8), changeTo(10, { from: "2026-06-01" })],
      "5: 10 billed",
    ],
    ["10 to 8 and back, unprorated", [changeTo(8), changeTo(10)], "5: 10 billed"],
    ["10 to 8 to 9, prorated", [changeTo(8), changeTo(9, { from: "2026-06-01" })], "5: 10 billed"],
  ])("are never charged twice: %s", (_, requests, period) => {
    for (const one of changeSummaries({}, requests))
      expect(one).toEqual({ units: expect.any(Number), periods: [period] });
  });

  it("are not charged again by an increase beyond them either", () => {
    expect(changeSummaries({}, [changeTo(8), changeTo(12, { from: "2026-06-16" })])).toHaveProperty(
      "1",
      {
        units: 12,
        periods: ["5: 12 billed"],
        invoice: [tenMore],
      },
    );
  });

  it("are those of every document before, also of a deferred one", () => {
    const deferred = changeTo(12, { from: "2026-06-30", behaviour: "charge_on_renewal" });
    const back = changeTo(12, { from: "2026-06-01" });
    expect(changeSummaries({}, [deferred, changeTo(10), back])).toMatchObject([
      {
        deferred:
          "0.6700 for 2026-06-30 to 2026-07-01: 10 to 12 seats, 1 of 30 days: (120 − 100) × 1 ÷ 30",
      },
      { periods: ["5: 12 billed"] },
      { periods: ["5: 12 billed"] },
    ]);
  });

  it("of a period that began in Setup Mode are those at its start", () => {
    const order = { units: 10, period: { setupMode: true }, invoices: [] };
    expect(changeSummaries(order, [changeTo(7), changeTo(12, { from: "2026-06-16" })])).toEqual([
      { units: 7, periods: ["5: 10 billed, in Setup Mode"] },
      { units: 12, periods: ["5: 12 billed, in Setup Mode"], invoice: [tenMore] },
    ]);
  });
});
