/**
 * The reversal of what other documents than the renewal invoice bill of a next period that does not
 * begin.
 */
import { describe, expect, it } from "vitest";
import { formatDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { decideEnd, decideEnded } from "../../../src/domain/subscriptions/end.ts";
import { decideReversal, type NextPeriodLine } from "../../../src/domain/subscriptions/reversal.ts";
import {
  creditSummary,
  invoiceSummary,
  nextLine,
  reversedDays,
  stateOf,
} from "./billing-state-builder.ts";

const order = {
  today: "2026-06-20",
  units: 14,
  renewalInvoice: null,
  next: { billedUnits: 14 },
} as const;
const state = stateOf(order);
const july = "2026-07-01 to 2026-08-01";

function reversalOf(...lines: readonly NextPeriodLine[]): unknown {
  const { invoice, creditNote } = decideReversal(state, { lines, renewalUnits: 10 });
  return {
    ...(invoice && {
      invoice: [
        `${invoice.draft.type} of ${invoice.draft.periodIndex}`,
        ...invoiceSummary(invoice.draft),
      ],
    }),
    ...(creditNote && { creditNote: creditSummary(creditNote) }),
  };
}

describe("the reversal of the next period", () => {
  it("is none without lines, and none if they come to nothing", () => {
    expect(reversalOf()).toEqual({});
    expect(reversalOf(nextLine("40"), nextLine("-40"))).toEqual({});
  });

  it("credits each line as billed, by account and tax type, and names the first invoice", () => {
    const other = nextLine("7.5", { revenueAccount: "260", taxType: null });
    expect(reversalOf(nextLine("40"), other)).toEqual({
      creditNote: [
        `40.0000 from 2026-07-01: Reverses INV-0040 for ${reversedDays}: text of INV-0040`,
        `7.5000 from 2026-07-01: Reverses INV-07.5 for ${reversedDays}: text of INV-07.5`,
        "47.5 in all",
      ],
    });
    const { creditNote } = decideReversal(state, {
      lines: [nextLine("40"), other],
      renewalUnits: 10,
    });
    expect(creditNote).toMatchObject({
      issueDate: "2026-06-20",
      reference: "PO 7",
      lines: [
        {
          name: "Seats",
          revenueAccount: "200",
          taxType: "OUTPUT2",
          reversedInvoiceId: "id of INV-0040",
        },
        {
          name: "Seats",
          revenueAccount: "260",
          taxType: null,
          reversedInvoiceId: "id of INV-07.5",
        },
      ],
    });
  });

  it("leaves out what credit notes have given back, of the oldest line first", () => {
    expect(reversalOf(nextLine("10"), nextLine("-12"), nextLine("16"))).toEqual({
      creditNote: [
        `14.0000 from 2026-07-01: Reverses 14.0000 of INV-0016 for ${reversedDays}: ` +
          "text of INV-0016",
      ],
    });
  });

  it("charges credits back on one line of a change invoice over the whole period", () => {
    expect(reversalOf(nextLine("-12"), nextLine("3"), nextLine("-6"))).toEqual({
      invoice: [
        "change of 5",
        `15.0000 for ${july}: Reverses 9.0000 of CN-0012, CN-0006 for ${reversedDays}`,
      ],
    });
    const { invoice } = decideReversal(state, { lines: [nextLine("-12")], renewalUnits: 10 });
    expect(invoice).toMatchObject({ deferredIds: [], usage: [] });
    expect(invoice?.draft.lines).toMatchObject([
      {
        kind: "proration",
        proration: { fromUnits: 14, toUnits: 10, daysRemaining: 31, daysInPeriod: 31 },
      },
    ]);
  });
});

describe("an end whose renewal invoice is gone, with lines of the next period still open", () => {
  const next = { lines: [nextLine("40")], renewalUnits: 10 };

  it.each(["now", "period_end"] as const)("reverses them with %s", (when) => {
    const { invoices, creditNotes } = decideEnded(state, when, next);
    expect([
      invoices,
      creditNotes.map(({ draft, usage }) => [formatDecimal(draft.subtotal), usage]),
    ]).toEqual([[], [["40.0000", []]]]);
    const below = decideEnded(state, when, { ...next, lines: [nextLine("-12")] });
    expect(below.invoices.map(({ draft }) => formatDecimal(draft.subtotal))).toEqual(["12.0000"]);
    expect(below.creditNotes).toEqual([]);
  });

  it.each([
    "now",
    "period_end",
  ] as const)("is refused in Setup Mode with %s only if there is something to reverse", (when) => {
    const request = { when, deleteUnsentInvoices: false, voidApprovedInvoices: false };
    const facts = { state: stateOf({ ...order, organisation: { setupMode: true } }), invoices: [] };
    expect(() => decideEnd({ ...facts, next }, request)).toThrow(
      new Refusal(
        "invalid_state",
        "The organisation is in Setup Mode: what was billed of the next period would have to " +
          "be reversed.",
      ),
    );
    const nothing = { ...next, lines: [nextLine("12"), nextLine("-12")] };
    expect(decideEnd({ ...facts, next: nothing }, request)).toMatchObject({ kind: "ends" });
  });
});
