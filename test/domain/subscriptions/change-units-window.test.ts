/**
 * What a change of units inside the invoice window bills, amended or separately, and what both
 * periods count as billed afterwards.
 */
import { describe, expect, it } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
} from "../../../src/domain/subscriptions/change-units.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  changeSummaries,
  changeSummary,
  changeTo,
  issued,
  refusalOf,
  type StateOrder,
  seats,
  stateOf,
  volumeSeats,
} from "./billing-state-builder.ts";

const d = parseDecimal;
const ahead: StateOrder = { today: "2026-06-20", renewalInvoice: { id: "renewal" } };
const change = (order: StateOrder, request: UnitsChangeRequest) =>
  changeSummary({ ...ahead, ...order }, request);
const amend = (units: number, from?: string) =>
  changeTo(units, { document: "amend", ...(from && { from }) });
const separate = (units: number, from?: string) =>
  changeTo(units, { document: "separate", ...(from && { from }) });
const changes = (order: StateOrder, requests: readonly UnitsChangeRequest[]) =>
  changeSummaries({ ...ahead, ...order }, requests);

const july = "2026-07-01 to 2026-08-01";
const halfOfJune =
  "10.0000 for 2026-06-16 to 2026-07-01: 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30";
const allOfJuly = `20.0000 for ${july}: 10 to 12 seats, 31 of 31 days: (120 − 100) × 31 ÷ 31`;

describe("amend", () => {
  it("re-prices only the plan line of the renewal invoice without proration", () => {
    expect(change({}, amend(12))).toEqual({
      units: 12,
      periods: ["5: 10 billed, proration closed", "6: 12 billed"],
      amended: ["renewal", `plan 12: 120.0000 for ${july}: 12 × 10.0000`],
    });
  });

  it("adds the current period's charge to the renewal invoice with proration", () => {
    expect(change({}, amend(12, "2026-06-16"))).toEqual({
      units: 12,
      periods: ["5: 12 billed", "6: 12 billed"],
      amended: ["renewal", `plan 12: 120.0000 for ${july}: 12 × 10.0000`, halfOfJune],
    });
  });

  it("asks for lines as they are booked, whether the invoice is still a draft or not", () => {
    const order = { ...ahead, renewalInvoice: { id: "renewal", status: "approved" as const } };
    const { amended } = decideUnitsChange(stateOf(order), amend(12, "2026-06-16"));
    expect(amended).toMatchObject({ invoiceId: "renewal", onlyDraft: false });
    expect(amended?.planLine).toMatchObject({
      kind: "plan",
      units: 12,
      unitPrice: d("10"),
      revenueAccount: "200",
    });
    expect(amended?.added).toMatchObject([
      {
        kind: "proration",
        proration: { fromUnits: 10, toUnits: 12, daysRemaining: 15, daysInPeriod: 30 },
        taxType: "OUTPUT",
      },
    ]);
  });

  it("re-prices downwards for a decrease, and the current period keeps its billed units", () => {
    expect(change({}, amend(8))).toEqual({
      units: 8,
      periods: ["5: 10 billed", "6: 8 billed"],
      amended: ["renewal", `plan 8: 80.0000 for ${july}: 8 × 10.0000`],
    });
  });

  it("down and up again re-prices each time and charges the current period nothing", () => {
    expect(changes({}, [amend(8), amend(10, "2026-06-16")])).toHaveProperty("1", {
      units: 10,
      periods: ["5: 10 billed", "6: 10 billed"],
      amended: ["renewal", `plan 10: 100.0000 for ${july}: 10 × 10.0000`],
    });
  });

  it("turns the current period's credit into a credit note", () => {
    expect(change({ plan: volumeSeats }, amend(11, "2026-06-16"))).toEqual({
      units: 11,
      periods: ["5: 11 billed", "6: 11 billed"],
      amended: ["renewal", `plan 11: 88.0000 for ${july}: 11 × 8.0000`],
      creditNote: ["6.0000 from 2026-06-16: 10 to 11 seats, 15 of 30 days: (100 − 88) × 15 ÷ 30"],
    });
  });

  it("re-prices a volume plan's decrease into a dearer band upwards", () => {
    expect(change({ plan: volumeSeats, units: 12 }, amend(10))).toEqual({
      units: 10,
      periods: ["5: 12 billed", "6: 10 billed"],
      amended: ["renewal", `plan 10: 100.0000 for ${july}: 10 × 10.0000`],
    });
  });

  it("re-prices under the subscription's own price and discount", () => {
    const subscription = { priceOverride: d("4.5"), discountPercent: d("10") };
    expect(change({ subscription }, amend(12))).toHaveProperty("amended", [
      "renewal",
      `plan 12: 48.6000 for ${july}: 12 × 4.5000, less 10 %`,
    ]);
  });

  it("re-prices at no amount too", () => {
    const plan = { ...seats, freeUnits: 12 };
    expect(change({ plan }, amend(12, "2026-06-16"))).toEqual({
      units: 12,
      periods: ["5: 10 billed", "6: 12 billed"],
      amended: ["renewal", `plan 12: 0.0000 for ${july}: 0 × 10.0000 (12 of 12 free)`],
    });
  });

  it("stays possible after unprorated changes and after a separate decrease", () => {
    expect(changes({}, [amend(12), separate(9), amend(11)])).toMatchObject([
      { periods: ["5: 10 billed, proration closed", "6: 12 billed"] },
      { periods: ["5: 10 billed, proration closed", "6: 12 billed"] },
      {
        periods: ["5: 10 billed, proration closed", "6: 11 billed"],
        amended: ["renewal", expect.any(String)],
      },
    ]);
  });
});

describe("separate", () => {
  it("is one invoice: the rest of this period, and the whole difference of the next", () => {
    expect(change({}, separate(12, "2026-06-16"))).toEqual({
      units: 12,
      periods: ["5: 12 billed", "6: 12 billed, billed separately"],
      invoice: [halfOfJune, allOfJuly],
    });
  });

  it("is a separate invoice of the current period, also if that has a draft", () => {
    const decision = decideUnitsChange(
      stateOf({ ...ahead, invoices: [issued()] }),
      separate(12, "2026-06-16"),
    );
    expect(decision.joined).toBeNull();
    expect(decision.invoice).toMatchObject({
      type: "change",
      periodIndex: 5,
      period: { start: "2026-06-01", end: "2026-07-01" },
      issueDate: "2026-06-20",
      subtotal: d("30.00"),
    });
    expect(decision.invoice?.lines.map(({ proration }) => proration)).toEqual([
      { fromUnits: 10, toUnits: 12, daysRemaining: 15, daysInPeriod: 30 },
      { fromUnits: 10, toUnits: 12, daysRemaining: 31, daysInPeriod: 31 },
    ]);
  });

  it("bills the next period alone without proration", () => {
    expect(change({}, separate(12))).toEqual({
      units: 12,
      periods: ["5: 10 billed, proration closed", "6: 12 billed, billed separately"],
      invoice: [allOfJuly],
    });
  });

  it("issues nothing for a decrease and leaves what the next period is billed for", () => {
    expect(change({}, separate(8))).toEqual({
      units: 8,
      periods: ["5: 10 billed", "6: 10 billed"],
    });
  });

  it("issues nothing for a decrease if the next period is billed for less", () => {
    const order = { units: 12, next: { billedUnits: 8 } };
    expect(change(order, separate(10))).toEqual({
      units: 10,
      periods: ["5: 12 billed", "6: 8 billed"],
    });
  });

  it("never charges again what either period is billed for", () => {
    const again = [
      separate(8),
      separate(10, "2026-06-16"),
      separate(8),
      separate(12, "2026-06-16"),
    ];
    expect(changes({}, again)).toEqual([
      { units: 8, periods: ["5: 10 billed", "6: 10 billed"] },
      { units: 10, periods: ["5: 10 billed", "6: 10 billed"] },
      { units: 8, periods: ["5: 10 billed", "6: 10 billed"] },
      {
        units: 12,
        periods: ["5: 12 billed", "6: 12 billed, billed separately"],
        invoice: [halfOfJune, allOfJuly],
      },
    ]);
  });

  it("measures each period from its own billed units", () => {
    const order = { units: 8, billed: 12 };
    expect(change({ ...order, next: { billedUnits: 8 } }, separate(11, "2026-06-16"))).toEqual({
      units: 11,
      periods: ["5: 12 billed", "6: 11 billed, billed separately"],
      invoice: [`30.0000 for ${july}: 8 to 11 seats, 31 of 31 days: (110 − 80) × 31 ÷ 31`],
    });
  });

  it("of this period alone closes amend as well", () => {
    const order = { units: 8, billed: 8, next: { billedUnits: 10 } };
    expect(changes(order, [separate(9, "2026-06-01"), amend(10)])).toEqual([
      {
        units: 9,
        periods: ["5: 9 billed", "6: 10 billed, billed separately"],
        invoice: [
          "10.0000 for 2026-06-01 to 2026-07-01: 8 to 9 seats, 30 of 30 days: (90 − 80) × 30 ÷ 30",
        ],
      },
      "renewal_invoice_not_amendable",
    ]);
  });

  it("closes amend for the rest of the window, and goes on being possible", () => {
    expect(
      changes({}, [separate(12), amend(13), separate(11), amend(10), separate(13)]),
    ).toMatchObject([
      { units: 12 },
      "renewal_invoice_not_amendable",
      { units: 11 },
      "renewal_invoice_not_amendable",
      {
        units: 13,
        invoice: [`10.0000 for ${july}: 12 to 13 seats, 31 of 31 days: (130 − 120) × 31 ÷ 31`],
      },
    ]);
  });

  it("that costs nothing issues nothing and closes nothing", () => {
    const order = { plan: { ...seats, freeUnits: 12 } };
    expect(changes(order, [separate(12, "2026-06-16"), amend(13)])).toMatchObject([
      { units: 12, periods: ["5: 10 billed", "6: 10 billed"] },
      {
        units: 13,
        amended: ["renewal", `plan 13: 10.0000 for ${july}: 1 × 10.0000 (12 of 13 free)`],
      },
    ]);
  });
});

describe("separate on a volume plan", () => {
  it("credits both periods on one note", () => {
    expect(change({ plan: volumeSeats }, separate(11, "2026-06-16"))).toEqual({
      units: 11,
      periods: ["5: 11 billed", "6: 11 billed, billed separately"],
      creditNote: [
        "6.0000 from 2026-06-16: 10 to 11 seats, 15 of 30 days: (100 − 88) × 15 ÷ 30",
        "12.0000 from 2026-07-01: 10 to 11 seats, 31 of 31 days: (100 − 88) × 31 ÷ 31",
        "18 in all",
      ],
    });
  });

  it("credits one period and charges the other at once, on a document each", () => {
    const plan = planOf("volume", {
      name: "Seats",
      tiers: tiersOf([10, "10"], [20, "8"], [null, "5"]),
    });
    const order = { plan, units: 10, billed: 20, next: { billedUnits: 10 } };
    expect(change(order, separate(21, "2026-06-01"))).toEqual({
      units: 21,
      periods: ["5: 21 billed", "6: 21 billed, billed separately"],
      creditNote: ["55.0000 from 2026-06-01: 20 to 21 seats, 30 of 30 days: (160 − 105) × 30 ÷ 30"],
      invoice: [`5.0000 for ${july}: 10 to 21 seats, 31 of 31 days: (105 − 100) × 31 ÷ 31`],
    });
    const turned = { plan, units: 20, billed: 10, next: { billedUnits: 20 } };
    expect(change(turned, separate(21, "2026-06-01"))).toEqual({
      units: 21,
      periods: ["5: 21 billed", "6: 21 billed, billed separately"],
      invoice: [
        "5.0000 for 2026-06-01 to 2026-07-01: 10 to 21 seats, 30 of 30 days: (105 − 100) × 30 ÷ 30",
      ],
      creditNote: [`55.0000 from 2026-07-01: 20 to 21 seats, 31 of 31 days: (160 − 105) × 31 ÷ 31`],
    });
  });

  it("requires proration if only the next period's difference is a credit", () => {
    const order = { plan: volumeSeats, units: 10, billed: 11, next: { billedUnits: 10 } };
    expect(refusalOf(stateOf({ ...ahead, ...order }), separate(11))[0]).toBe("proration_required");
    expect(change(order, separate(11, "2026-06-16"))).toMatchObject({
      creditNote: ["12.0000 from 2026-07-01: 10 to 11 seats, 31 of 31 days: (100 − 88) × 31 ÷ 31"],
    });
    expect(change(order, { ...separate(11), document: "amend" })).toMatchObject({ units: 11 });
  });

  it("credits the next period without proration if the current one would be charged", () => {
    const order = { plan: volumeSeats, units: 10, billed: 5, period: { prorationClosed: true } };
    expect(refusalOf(stateOf({ ...ahead, ...order }), separate(11, "2026-06-16"))[0]).toBe(
      "proration_unavailable",
    );
    expect(change(order, separate(11))).toEqual({
      units: 11,
      periods: ["5: 5 billed, proration closed", "6: 11 billed, billed separately"],
      creditNote: ["12.0000 from 2026-07-01: 10 to 11 seats, 31 of 31 days: (100 − 88) × 31 ÷ 31"],
    });
  });
});

describe("the window", () => {
  it("is open if the renewal invoice exists, whatever the day", () => {
    const early = { ...ahead, today: "2026-06-02" };
    expect(refusalOf(stateOf(early), changeTo(12))[0]).toBe("document_required");
    expect(refusalOf(stateOf({ today: "2026-06-20" }), changeTo(12))[0]).toBe("accepted");
    expect(refusalOf(stateOf({ today: "2026-06-20" }), amend(12))[0]).toBe("document_not_allowed");
  });

  it("stays open if a person has removed the renewal invoice: a change is billed apart", () => {
    const order = { today: "2026-06-20", renewalInvoice: null };
    const state = stateOf(order);
    expect(refusalOf(state, changeTo(12))).toEqual([
      "document_required",
      "document",
      "document is required: the next period was invoiced already. Send separate.",
    ]);
    expect(refusalOf(state, amend(12))).toEqual([
      "renewal_invoice_not_amendable",
      "document",
      "The renewal invoice cannot be amended: it is removed. Send document separate.",
    ]);
    expect(change(order, separate(12, "2026-06-16"))).toEqual({
      units: 12,
      periods: ["5: 12 billed", "6: 12 billed, billed separately"],
      invoice: [halfOfJune, allOfJuly],
    });
  });

  it("is left once an end of ours has removed the renewal invoice", () => {
    const order = { today: "2026-06-20", renewalInvoice: null, endRemovedRenewal: true };
    expect(change(order, changeTo(12, { from: "2026-06-16" }))).toEqual({
      units: 12,
      periods: ["5: 12 billed"],
      invoice: [halfOfJune],
    });
  });

  it("is left once the subscription is set to end, also if a person removed the renewal", () => {
    const subscription = { cancelAtPeriodEnd: true, endDate: civilDate("2026-07-01") };
    const order = { today: "2026-06-20", renewalInvoice: null, subscription };
    expect(change(order, changeTo(12, { from: "2026-06-16" }))).toMatchObject({
      periods: ["5: 12 billed"],
    });
    expect(refusalOf(stateOf(order), separate(12))[0]).toBe("document_not_allowed");
  });

  it("takes only the renewal invoice of the next period for it", () => {
    const invoices = [
      issued({ id: "usage of July", type: "usage", periodIndex: 6 }),
      issued({ status: "approved" }),
    ];
    const order = { renewalInvoice: null, endRemovedRenewal: true, invoices };
    expect(change(order, changeTo(12))).toHaveProperty("units", 12);
  });
});
