/** Changes of units of volume plans, of the final period and before the start. UNITS-5, UNITS-6. */
import { describe, expect, it } from "vitest";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../../src/domain/subscriptions/change-units.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import { changeSummary, changeTo, issued, stateOf, volumeSeats } from "./billing-state-builder.ts";

const d = parseDecimal;
const tenMore =
  "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30";

describe("a volume plan's increase into a cheaper band", () => {
  it("is a credit note, dated today, whose line counts from the effective date", () => {
    const order = { plan: volumeSeats, invoices: [issued()] };
    const { creditNote, ...rest } = decideUnitsChange(
      stateOf(order),
      changeTo(11, { from: "2026-06-16" }),
    );
    expect(creditNote).toEqual({
      reference: "PO 7",
      currency: "EUR",
      issueDate: "2026-06-10",
      subtotal: d("6.00"),
      lines: [
        {
          name: "Seats",
          description: "10 to 11 seats, 15 of 30 days: (100 − 88) × 15 ÷ 30",
          amount: d("6.00"),
          facts: expect.objectContaining({ r: "proration/1", f: 10, t: 11, e: "2026-06-16" }),
          effectiveDate: "2026-06-16",
          meterId: null,
          revenueAccount: "200",
          taxType: "OUTPUT",
        },
      ],
    });
    expect(rest).toMatchObject({
      units: 11,
      invoice: null,
      joined: null,
      amended: null,
      deferred: null,
    });
    expect(rest.periods).toMatchObject([{ billedUnits: 11, prorationClosed: false }]);
  });

  it("is credited after unprorated increases too", () => {
    const order = { plan: volumeSeats, units: 9, billed: 10, period: { prorationClosed: true } };
    expect(changeSummary(order, changeTo(12, { from: "2026-06-01" }))).toEqual({
      units: 12,
      periods: ["5: 12 billed, proration closed"],
      creditNote: ["4.0000 from 2026-06-01: 10 to 12 seats, 30 of 30 days: (100 − 96) × 30 ÷ 30"],
    });
  });

  it("that costs as much as before issues nothing, prorated or not", () => {
    const plan = planOf("volume", { tiers: tiersOf([10, "12"], [null, "10"]) });
    expect(changeSummary({ plan }, changeTo(12, { from: "2026-06-01" }))).toEqual({
      units: 12,
      periods: ["5: 10 billed"],
    });
    expect(changeSummary({ plan }, changeTo(12))).toEqual({
      units: 12,
      periods: ["5: 10 billed, proration closed"],
    });
  });

  it("that still costs more is a charge", () => {
    expect(changeSummary({ plan: volumeSeats }, changeTo(13, { from: "2026-06-16" }))).toEqual({
      units: 13,
      periods: ["5: 13 billed"],
      invoice: [
        "2.0000 for 2026-06-16 to 2026-07-01: 10 to 13 seats, 15 of 30 days: (104 − 100) × 15 ÷ 30",
      ],
    });
  });
});

describe("the final period", () => {
  it.each([
    ["set to end", { cancelAtPeriodEnd: true }],
    ["in its last cycle", { endAfterCycles: 6 }],
  ])("of one %s is charged at once", (_, differs) => {
    const subscription = { ...differs, endDate: stateOf().period.end };
    expect(changeSummary({ subscription }, changeTo(12, { from: "2026-06-16" }))).toHaveProperty(
      "invoice",
      [tenMore],
    );
    expect(changeSummary({ subscription }, changeTo(12))).toEqual({
      units: 12,
      periods: ["5: 10 billed, proration closed"],
    });
  });
});

describe("a pending subscription", () => {
  const order = { index: 0, startDate: "2026-06-20", subscription: { status: "pending" as const } };
  const first = issued({ id: "first", type: "first", periodIndex: 0 });

  it.each([
    [12, "120.0000", "first is a draft", first],
    [8, "80.0000", "first is a draft", first],
    [12, "120.0000", "first is approved", { ...first, status: "approved" as const }],
  ])("of %i units has its first invoice re-priced to %s: the %s", (units, amount, _, invoice) => {
    expect(changeSummary({ ...order, invoices: [invoice] }, changeTo(units))).toEqual({
      units,
      periods: [`0: ${units} billed`],
      joined: [
        "first",
        `plan ${units}: ${amount} for 2026-06-20 to 2026-07-20: ${units} × 10.0000`,
      ],
    });
  });

  it("has its first invoice re-priced, whatever else was issued since", () => {
    const invoices = [issued({ type: "usage", periodIndex: 0 }), first];
    expect(changeSummary({ ...order, invoices }, changeTo(12))).toHaveProperty("joined.0", "first");
  });

  it("on a volume plan is re-priced downwards without a credit", () => {
    const decision = changeSummary(
      { ...order, plan: volumeSeats, invoices: [first] },
      changeTo(11),
    );
    expect(decision).toHaveProperty(
      "joined.1",
      "plan 11: 88.0000 for 2026-06-20 to 2026-07-20: 11 × 8.0000",
    );
    expect(decision).not.toHaveProperty("creditNote");
  });
});
