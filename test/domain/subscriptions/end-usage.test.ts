/**
 * Usage with ends and restorations: billed with End now, refused in Setup Mode, never billed twice.
 * USAGE-9, END-11.
 */
import { describe, expect, it } from "vitest";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { BillingState } from "../../../src/domain/model/billing-state.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { decideEnd, decideEnded, type EndRequest } from "../../../src/domain/subscriptions/end.ts";
import { decideRestoration } from "../../../src/domain/subscriptions/restore.ts";
import { closeSummary, meterOf, storage, usageOf } from "../billing/open-usage-builder.ts";
import { issued, stateOf } from "./billing-state-builder.ts";

const d = parseDecimal;
/** Four calls in June, the current period. */
const june = usageOf("4");
const free = usageOf("7", { meter: meterOf({ id: "free", price: d("0") }) });
/** Storage in June, some of it after a first bill: it is 9.00 cheaper. */
const cheaper = usageOf("1", { meter: storage, before: "10" });
const juneLine = "2.0000 for 2026-06-01 to 2026-07-01: 4 call: 4 × 0.5000";
const credit =
  "9.0000 from 2026-06-01: 1 GB more in the period from 2026-06-01: " +
  "11 × 1.0000 for 11, less 10 × 2.0000 for 10";

describe("End", () => {
  const now: EndRequest = { when: "now", deleteUnsentInvoices: false, voidApprovedInvoices: false };
  const refusal = (state: BillingState, request = now): string => {
    try {
      decideEnd({ state, invoices: [] }, request);
      return "accepted";
    } catch (error) {
      if (error instanceof Refusal && error.code === "invalid_state") return error.message;
      throw error;
    }
  };

  it("now bills all usage on an invoice of the current period, after deferred lines", () => {
    const usage = [june, usageOf("1", { index: 4, before: "2" })];
    const ended = decideEnded(stateOf({ usage }), "now");
    expect(closeSummary(ended)).toMatchObject({
      bills: "1 to 1",
      invoices: [["usage of 5", expect.anything(), juneLine, ...Array(2).fill(expect.anything())]],
    });
    expect(ended.invoices[0]?.draft).toMatchObject({
      subtotal: d("2.50"),
      issueDate: "2026-06-10",
    });
    expect(closeSummary(decideEnded(stateOf(), "now"))).toEqual({ bills: "0 to 0" });
    expect(closeSummary(decideEnded(stateOf({ usage: [cheaper] }), "now"))).toEqual({
      bills: "1 to 1",
      creditNotes: [[credit, "storage of 5 in bill 0"]],
    });
  });

  it("now that completes after the renewal date never bills usage of after that date", () => {
    const since = usageOf("2", { index: 6, bill: 1 });
    const state = stateOf({ today: "2026-07-02", usage: [june, since] });
    const ended = decideEnded(state, "now");
    expect(ended.subscription).toMatchObject({ status: "ended", endDate: "2026-07-01" });
    expect(closeSummary(ended)).toMatchObject({
      bills: "1 to 1",
      invoices: [["usage of 5", juneLine, "calls of 5 in bill 0"]],
    });
    const alone = {
      ...state,
      subscription: ended.subscription,
      usageBills: ended.usageBills,
      usage: [since],
    };
    expect(decideDue(alone)).toBeNull();
    const late = decideDue({ ...alone, usage: [usageOf("1", { bill: 1, before: "4" }), since] });
    expect(late && closeSummary(late)).toMatchObject({
      invoices: [
        ["usage of 5", expect.stringMatching(/^0\.5000 .* 1 call more/), "calls of 5 in bill 1"],
      ],
    });
  });

  it("now is not refused because of usage dated after it", () => {
    const usage = [
      usageOf("9999999999", { meter: meterOf({ price: d("999999") }), index: 6, bill: 1 }),
    ];
    expect(refusal(stateOf({ usage }))).toBe("accepted");
  });

  it("at period end leaves the usage to the period's end", () => {
    const ended = decideEnded(stateOf({ usage: [june] }), "period_end");
    expect(closeSummary(ended)).toEqual({ bills: "0 to 0" });
    expect(closeSummary(decideEnded(stateOf({ usage: null }), "period_end"))).toEqual({
      bills: "0 to 0",
    });
  });

  it("now is refused in Setup Mode only if usage would need a document", () => {
    const inSetupMode = (usage: BillingState["usage"]) =>
      stateOf({ organisation: { setupMode: true }, usage });
    const message = "The organisation is in Setup Mode: usage would have to be invoiced.";
    expect(refusal(inSetupMode([june]))).toBe(message);
    expect(refusal(inSetupMode([cheaper]))).toBe(message);
    for (const usage of [[], [free], [{ ...june, setupMode: true }]]) {
      expect(refusal(inSetupMode(usage))).toBe("accepted");
      // It waits, so that what comes late is priced with it.
      expect(closeSummary(decideEnded(inSetupMode(usage), "now"))).toEqual({ bills: "0 to 0" });
    }
    expect(refusal(inSetupMode([june]), { ...now, when: "period_end" })).toBe("accepted");
  });

  it("now is refused before any removal if usage comes to more than can be billed", () => {
    const usage = [usageOf("9999999999", { meter: meterOf({ price: d("999999") }) })];
    expect(refusal(stateOf({ usage, renewalInvoice: {} }))).toMatch(/have to be voided/);
    expect(refusal(stateOf({ usage }), { ...now, when: "period_end" })).toBe("accepted");
  });
});

describe("Restore", () => {
  it("bills no usage: the current bill goes on, and the renewal bills it", () => {
    const subscription = { status: "ended", endDate: civilDate("2026-06-10") } as const;
    const state = stateOf({
      today: "2026-06-12",
      subscription,
      usage: null,
      usageBills: { open: 1, billed: 1 },
    });
    const restoration = decideRestoration({ state, customerStatus: "active", removed: [] });
    expect(restoration.invoices).toEqual([]);
    const later = usageOf("2", { bill: 1, before: "4" });
    const renewed = decideDue({
      ...state,
      subscription: restoration.subscription,
      usage: [later],
      today: civilDate("2026-07-01"),
    });
    expect(renewed && closeSummary(renewed)).toMatchObject({
      bills: "2 to 2",
      invoices: [
        [
          "renewal of 6",
          expect.anything(),
          expect.stringMatching(/^1\.0000 .* 2 call more/),
          "calls of 5 in bill 1",
        ],
      ],
    });
  });

  it("reissues a usage invoice of the current period, not that of an earlier one", () => {
    const subscription = { status: "ended", endDate: civilDate("2026-06-10") } as const;
    const state = stateOf({ today: "2026-06-12", subscription, usage: null });
    const bill = (index: number) => {
      const { invoices } = decideEnded(stateOf({ index, usage: [usageOf("4", { index })] }), "now");
      const lines = (invoices[0]?.draft.lines ?? []).map((line, position) => ({
        ...line,
        id: `line ${position}`,
      }));
      return {
        ...issued({ type: "usage", periodIndex: index }),
        id: `usage ${index}`,
        billsDeferred: false,
        lines,
      };
    };
    const { invoices } = decideRestoration({
      state,
      customerStatus: "active",
      removed: [bill(4), bill(5)],
    });
    expect(invoices).toMatchObject([
      {
        replaces: "usage 5",
        usage: [],
        draft: {
          type: "usage",
          periodIndex: 5,
          subtotal: d("2.00"),
          lines: [{ meterId: "calls", quantity: d("4") }],
        },
      },
    ]);
    expect(invoices).toHaveLength(1);
  });
});
