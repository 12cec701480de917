/**
 * Whatever invoices a subscription has, an end removes each at most once, in order, and none that
 * is paid or credited.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { willRenew } from "../../src/domain/billing/due-date.ts";
import { hasMoney } from "../../src/domain/billing/issued-invoices.ts";
import { decimalOf, ZERO } from "../../src/domain/money/decimal.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import {
  decideEnd,
  decideEnded,
  type EndRequest,
  type OpenInvoice,
} from "../../src/domain/subscriptions/end.ts";
import { issued, stateOf } from "../domain/subscriptions/billing-state-builder.ts";

const someInvoice = fc
  .record({
    type: fc.constantFrom("first", "renewal", "change", "usage" as const),
    periodIndex: fc.integer({ min: 0, max: 5 }),
    status: fc.constantFrom(
      "draft",
      "awaiting_approval",
      "approved",
      "paid",
      "scheduled",
      "not_in_external" as const,
    ),
    sent: fc.boolean(),
    total: fc.integer({ min: 0, max: 3 }),
    due: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ total, due, ...invoice }) => ({
    ...invoice,
    total: decimalOf(total),
    amountDue: decimalOf(Math.min(due, total)),
  }));

/**
 * An invoice of each kind, numbered from the newest to the oldest; the newest is the renewal
 * invoice if one was issued ahead.
 */
const someInvoices = fc
  .record({ others: fc.array(someInvoice, { maxLength: 12 }), ahead: fc.option(someInvoice) })
  .map(
    ({
      others,
      ahead,
    }): { readonly invoices: readonly OpenInvoice[]; readonly isAhead: boolean } => {
      const renewal =
        ahead === null ? [] : [{ ...ahead, type: "renewal" as const, periodIndex: 6 }];
      const all = [...renewal, ...others];
      const invoices = all.map((invoice, n) => ({
        ...issued(invoice),
        sent: invoice.sent,
        id: `${100 + n}`,
        number: `${n}`,
      }));
      return { invoices, isAhead: ahead !== null };
    },
  );

const someRequest: fc.Arbitrary<EndRequest> = fc.record({
  when: fc.constantFrom("now", "period_end" as const),
  deleteUnsentInvoices: fc.boolean(),
  voidApprovedInvoices: fc.boolean(),
});

it("removes the renewal invoice first, then the requested ones, newest first", () => {
  fc.assert(
    fc.property(someInvoices, someRequest, ({ invoices, isAhead }, request) => {
      const [newest] = invoices;
      const renewal = isAhead ? newest : undefined;
      const state = {
        ...stateOf({ today: "2026-06-20", ...(isAhead && { renewalInvoice: {} }) }),
        invoices: invoices.map((one) => ({ ...one, isAltered: false, isPlanLineKnown: true })),
      };
      let decision: ReturnType<typeof decideEnd>;
      try {
        decision = decideEnd({ state, invoices }, request);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const isOption = request.deleteUnsentInvoices || request.voidApprovedInvoices;
        const code =
          request.when === "period_end" && isOption
            ? "invoice_option_not_allowed"
            : "invalid_state";
        expect(error.code).toBe(code);
        if (code === "invalid_state") expect(renewal && hasMoney(renewal)).toBe(true);
        return;
      }
      if (decision.kind !== "ends") throw new Error(decision.kind);
      const { removals } = decision;
      expect(removals).toEqual([...new Set(removals)].toSorted());
      expect(removals.includes(renewal?.id ?? "")).toBe(renewal !== undefined);
      const removed = invoices.filter(({ id }) => removals.includes(id));
      expect(removed.filter(hasMoney)).toEqual([]);
      const targets = removed.filter((invoice) => invoice !== renewal);
      if (!request.deleteUnsentInvoices) {
        expect(
          targets.filter(({ status }) => status === "draft" || status === "awaiting_approval"),
        ).toEqual([]);
      }
      if (!request.voidApprovedInvoices)
        expect(targets.filter(({ status }) => status === "approved")).toEqual([]);
      expect(
        targets.filter(({ status }) => status === "paid" || status === "not_in_external"),
      ).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

it("leaves nothing to renew, and gives every end its date", () => {
  const someDay = fc
    .integer({ min: 1, max: 30 })
    .map((day) => `2026-06-${String(day).padStart(2, "0")}`);
  fc.assert(
    fc.property(
      someDay,
      fc.constantFrom("now", "period_end" as const),
      fc.boolean(),
      (today, when, isSet) => {
        const order = isSet ? { endAfterCycles: 12 } : {};
        const state = stateOf({ today, subscription: order });
        const { subscription, dueDate, invoices } = decideEnded(state, when);
        expect(willRenew(subscription)).toBe(false);
        expect(subscription.endDate).toBe(when === "now" ? today : "2026-07-01");
        expect(dueDate).toBe(when === "now" ? null : "2026-07-01");
        expect(invoices).toEqual([]);
      },
    ),
  );
});

it("counts as money on an invoice only what is paid or credited of a total", () => {
  expect(hasMoney({ status: "paid", total: ZERO, amountDue: ZERO })).toBe(false);
  expect(hasMoney({ status: "paid", total: decimalOf(1), amountDue: ZERO })).toBe(true);
});
