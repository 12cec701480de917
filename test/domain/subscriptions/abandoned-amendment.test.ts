/** Amendments whose invoice can no longer be edited: the requested change is billed once. */
import { describe, expect, it } from "vitest";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import {
  billClosedAmendment,
  type ClosedAmendment,
  type ClosedRepricing,
} from "../../../src/domain/subscriptions/abandoned-amendment.ts";
import {
  creditSummary,
  lineSummary,
  periodSummary,
  type StateOrder,
  seats,
  stateOf,
  volumeSeats,
} from "./billing-state-builder.ts";

const d = parseDecimal;

/** The amendment of July's renewal invoice, closed in June. `billed`: July's billed units then. */
function close(
  repricing: ClosedRepricing | null,
  {
    billed = repricing?.toUnits ?? 10,
    added = null,
    isUsage = false,
    stands = true,
    ...order
  }: StateOrder & {
    readonly added?: string | null;
    readonly isUsage?: boolean;
    readonly stands?: boolean;
  } = {},
): Record<string, unknown> {
  const state = stateOf({
    today: "2026-06-20",
    next: { billedUnits: billed },
    units: billed,
    ...order,
  });
  const period = order.index === 6 ? state.period : state.nextPeriod;
  if (period === null) throw new Error("there is no such period");
  const closed: ClosedAmendment = {
    period: { ...period, billedUnits: billed },
    added: added === null ? null : d(added),
    isUsage,
    repricing,
    stands,
  };
  const { invoice, creditNote, period: after } = billClosedAmendment(state, closed);
  return {
    period: periodSummary(after),
    ...(invoice && {
      invoice: [
        `${invoice.type} of ${invoice.periodIndex}: ${formatDecimal(invoice.subtotal)}`,
        ...invoice.lines.map(lineSummary),
      ],
    }),
    ...(creditNote && { creditNote: creditSummary(creditNote) }),
  };
}

const july = "2026-07-01 to 2026-08-01";
const threeMore = `30.0000 for ${july}: 10 to 13 seats, 31 of 31 days: (130 − 100) × 31 ÷ 31`;

describe("an increase", () => {
  it("is one invoice of the current period: lines to be added, then the next period's", () => {
    expect(close({ fromUnits: 10, toUnits: 13 }, { added: "15.00" })).toEqual({
      period: "6: 13 billed, billed separately",
      invoice: ["change of 5: 45.0000", threeMore],
    });
  });

  it("without a line to be added is the difference alone", () => {
    expect(close({ fromUnits: 10, toUnits: 13 })).toEqual({
      period: "6: 13 billed, billed separately",
      invoice: ["change of 5: 30.0000", threeMore],
    });
  });

  it("is dated and booked as a separate change is", () => {
    const state = stateOf({ today: "2026-06-20", next: { billedUnits: 13 } });
    if (state.nextPeriod === null) throw new Error("there is no next period");
    const repricing = { fromUnits: 10, toUnits: 13 };
    const { invoice } = billClosedAmendment(state, {
      period: state.nextPeriod,
      added: null,
      isUsage: false,
      repricing,
      stands: true,
    });
    expect(invoice).toMatchObject({
      type: "change",
      reference: "PO 7",
      issueDate: "2026-06-20",
      period: { start: "2026-06-01", end: "2026-07-01" },
      lines: [
        {
          kind: "proration",
          proration: { fromUnits: 10, toUnits: 13, daysRemaining: 31, daysInPeriod: 31 },
          revenueAccount: "200",
          taxType: "OUTPUT",
        },
      ],
    });
  });

  it("into a cheaper band is a credit note, besides the invoice of lines to be added", () => {
    const credit = ["12.0000 from 2026-07-01: 10 to 11 seats, 31 of 31 days: (100 − 88) × 31 ÷ 31"];
    expect(close({ fromUnits: 10, toUnits: 11 }, { plan: volumeSeats })).toEqual({
      period: "6: 11 billed, billed separately",
      creditNote: credit,
    });
    expect(close({ fromUnits: 10, toUnits: 11 }, { plan: volumeSeats, added: "1.00" })).toEqual({
      period: "6: 11 billed, billed separately",
      invoice: ["change of 5: 1.0000"],
      creditNote: credit,
    });
  });

  it("that costs nothing issues nothing; the period bills what the invoice bills", () => {
    expect(close({ fromUnits: 10, toUnits: 12 }, { plan: { ...seats, freeUnits: 12 } })).toEqual({
      period: "6: 10 billed",
    });
  });

  it("that costs nothing leaves what has been billed above it since", () => {
    const order = {
      plan: { ...seats, freeUnits: 12 },
      billed: 15,
      next: { billedSeparately: true },
    };
    const period = "6: 15 billed, billed separately";
    expect(close({ fromUnits: 10, toUnits: 12 }, order)).toEqual({ period });
  });

  it("of a period that has begun or ended since is an invoice of that period", () => {
    const began = { index: 6, today: "2026-07-05" };
    expect(close({ fromUnits: 10, toUnits: 13 }, began)).toHaveProperty(
      "invoice.0",
      "change of 6: 30.0000",
    );
    const state = stateOf({ index: 7, today: "2026-08-05" });
    const period = { ...stateOf({ index: 6 }).period, billedUnits: 13 };
    const repricing = { fromUnits: 10, toUnits: 13 };
    expect(
      billClosedAmendment(state, { period, added: null, isUsage: false, repricing, stands: true })
        .invoice,
    ).toMatchObject({
      periodIndex: 6,
    });
  });

  it("of which more has been billed since leaves that as it is", () => {
    expect(close({ fromUnits: 10, toUnits: 13 }, { billed: 15 })).toEqual({
      period: "6: 15 billed, billed separately",
      invoice: ["change of 5: 30.0000", threeMore],
    });
  });
});

describe("a decrease", () => {
  const fourLess = "40.0000 from 2026-07-01: 10 to 6 seats, 31 of 31 days: (100 − 60) × 31 ÷ 31";

  it("is a credit note over what the invoice bills too much", () => {
    expect(close({ fromUnits: 10, toUnits: 6 })).toEqual({
      period: "6: 6 billed, billed separately",
      creditNote: [fourLess],
    });
  });

  it("leaves lines of earlier amendments on a separate invoice", () => {
    expect(close({ fromUnits: 10, toUnits: 6 }, { added: "15.00" })).toEqual({
      period: "6: 6 billed, billed separately",
      invoice: ["change of 5: 15.0000"],
      creditNote: [fourLess],
    });
  });

  it("of which more has been billed since leaves that as it is", () => {
    expect(close({ fromUnits: 10, toUnits: 6 }, { billed: 12 })).toEqual({
      period: "6: 12 billed, billed separately",
      creditNote: [fourLess],
    });
  });

  it("into a dearer band is an invoice", () => {
    expect(close({ fromUnits: 11, toUnits: 10 }, { plan: volumeSeats })).toEqual({
      period: "6: 10 billed, billed separately",
      invoice: [
        "change of 5: 12.0000",
        `12.0000 for ${july}: 11 to 10 seats, 31 of 31 days: (100 − 88) × 31 ÷ 31`,
      ],
    });
  });

  it("of a removed or lost invoice credits nothing, and its units count as billed", () => {
    const stands = false;
    expect(close({ fromUnits: 10, toUnits: 6 }, { stands })).toEqual({ period: "6: 10 billed" });
    expect(close({ fromUnits: 10, toUnits: 6 }, { stands, billed: 8 })).toEqual({
      period: "6: 10 billed",
    });
    expect(close({ fromUnits: 10, toUnits: 6 }, { stands, billed: 12 })).toEqual({
      period: "6: 12 billed",
    });
    expect(close({ fromUnits: 10, toUnits: 11 }, { stands, plan: volumeSeats })).toEqual({
      period: "6: 10 billed",
    });
  });
});

describe("lines that were to be added", () => {
  it("alone leave the period as it is", () => {
    const closed = { billed: 10, index: 6, today: "2026-07-05", added: "15.00" };
    expect(close(null, closed)).toEqual({
      period: "6: 10 billed",
      invoice: ["change of 6: 15.0000"],
    });
  });
});

it("a first invoice that was re-priced before its day leaves an invoice dated that day", () => {
  const state = stateOf({
    index: 0,
    startDate: "2026-07-01",
    today: "2026-06-20",
    subscription: { status: "pending" },
  });
  const period = { ...state.period, billedUnits: 12 };
  const repricing = { fromUnits: 10, toUnits: 12 };
  const { invoice, period: after } = billClosedAmendment(state, {
    period,
    added: null,
    isUsage: false,
    repricing,
    stands: true,
  });
  expect(periodSummary(after)).toBe("0: 12 billed, billed separately");
  expect(invoice).toMatchObject({ periodIndex: 0, issueDate: "2026-07-01", subtotal: d("20.00") });
});

describe("usage that was to join the renewal invoice", () => {
  const inJuly: StateOrder & { readonly added: string; readonly isUsage: boolean } = {
    index: 6,
    today: "2026-07-02",
    added: "7.50",
    isUsage: true,
  };

  it("has a usage invoice of the period before, as without the draft", () => {
    expect(close(null, inJuly)).toEqual({
      period: "6: 10 billed",
      invoice: ["usage of 5: 7.5000"],
    });
    const state = stateOf({ index: 6, today: "2026-07-02" });
    const { period } = state;
    const { invoice } = billClosedAmendment(state, {
      period,
      added: d("7.50"),
      isUsage: true,
      repricing: null,
      stands: true,
    });
    expect(invoice).toMatchObject({
      issueDate: "2026-07-02",
      dueDate: "2026-08-01",
      period: { start: "2026-06-01", end: "2026-07-01" },
      lines: [],
    });
  });

  it("keeps that period if the subscription has renewed since", () => {
    const state = stateOf({ index: 8, today: "2026-09-02" });
    const { period } = stateOf({ index: 6 });
    const { invoice } = billClosedAmendment(state, {
      period,
      added: d("7.50"),
      isUsage: true,
      repricing: null,
      stands: true,
    });
    expect(invoice).toMatchObject({
      type: "usage",
      periodIndex: 5,
      period: { start: "2026-06-01" },
    });
  });

  it("joins the invoice of a change that comes with it", () => {
    expect(close({ fromUnits: 10, toUnits: 13 }, inJuly)).toEqual({
      period: "6: 13 billed, billed separately",
      invoice: ["change of 6: 37.5000", threeMore],
    });
    expect(close(null, { ...inJuly, isUsage: false })).toMatchObject({
      invoice: ["change of 6: 7.5000"],
    });
  });
});
