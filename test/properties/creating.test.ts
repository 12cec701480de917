/**
 * Every creation is either refused or decided whole, with periods, dates and amounts that agree.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { renewalValue } from "../../src/domain/billing/due-date.ts";
import { todayIn } from "../../src/domain/calendar/civil-date.ts";
import { minorUnitDigits } from "../../src/domain/money/currency.ts";
import { equals, formatDecimal, sum } from "../../src/domain/money/decimal.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import { type CreationDecision, decideCreation } from "../../src/domain/subscriptions/create.ts";
import {
  factsOf,
  organisation,
  requestOf,
  setupCharge,
} from "../domain/subscriptions/creation-builder.ts";
import { planTypes, someDate, someDiscount, somePlan, somePrice } from "./arbitraries.ts";

const seldom = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 1 });

const someFacts = fc
  .record({
    plan: fc.constantFrom(...planTypes).chain(somePlan),
    setupMode: fc.boolean(),
    invoiceCreateDays: fc.integer({ min: 0, max: 400 }),
    dueDays: fc.integer({ min: 0, max: 90 }),
    now: fc
      .integer({ min: 0, max: 86_400_000 * 3 })
      .map((ms) => new Date(Date.UTC(2027, 1, 27) + ms)),
  })
  .map(({ plan, now, ...settings }) =>
    factsOf({
      plan,
      now,
      organisation: { ...organisation, ...settings },
      charges: new Map([[setupCharge.code, { ...setupCharge, currency: plan.currency }]]),
    }),
  );

const someRequest = fc
  .record({
    units: fc.option(fc.integer({ min: 0, max: 30 }), { freq: 4 }),
    discountPercent: fc.option(someDiscount),
    startDate: fc.oneof(
      fc.constantFrom(
        null,
        "2027-02-01",
        "2027-02-14",
        "2027-02-28",
        "2027-03-31",
        "2026-04-30",
        "2028-02-29",
      ),
      someDate,
    ),
    timezone: fc.constantFrom(null, "UTC", "Pacific/Kiritimati", "America/New_York"),
    billingDay: seldom(fc.integer({ min: 1, max: 31 })),
    price: seldom(somePrice),
    minimumUnits: seldom(fc.integer({ min: 0, max: 20 })),
    endAfterCycles: fc.option(fc.integer({ min: 1, max: 1200 })),
    charges: fc.array(
      fc.record({
        chargeCode: fc.constant("setup"),
        quantity: fc.integer({ min: 1, max: 999 }),
        price: fc.option(somePrice),
      }),
      { maxLength: 3 },
    ),
  })
  .map(requestOf);

function decisionOf(
  ...[facts, request]: Parameters<typeof decideCreation>
): CreationDecision | null {
  try {
    return decideCreation(facts, request);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

it("periods, status, dates and amounts of a decision agree", () => {
  let decided = 0;
  fc.assert(
    fc.property(someFacts, someRequest, (facts, request) => {
      const decision = decisionOf(facts, request);
      if (!decision) return;
      decided += 1;
      const { plan, subscription, firstPeriod, renewalPeriod, invoice, renewalInvoice } = decision;
      const today = todayIn(subscription.timezone, facts.now);
      const { setupMode } = facts.organisation;

      expect([firstPeriod.start, firstPeriod.end]).toEqual([
        subscription.startDate,
        subscription.renewalDate,
      ]);
      expect(today < firstPeriod.end).toBe(true);
      expect(subscription.status).toBe(subscription.startDate > today ? "pending" : "active");
      expect(subscription.endDate === null).toBe(request.endAfterCycles === null);
      if (setupMode)
        expect([subscription.status, invoice, renewalInvoice]).toEqual(["active", null, null]);
      else expect(invoice?.lines).toHaveLength(1 + request.charges.length);
      expect(renewalPeriod === null).toBe(renewalInvoice === null);
      if (renewalPeriod) {
        expect(renewalPeriod.start).toBe(firstPeriod.end);
        expect(renewalInvoice?.subtotal).toEqual(renewalValue(subscription, plan));
      }

      for (const issued of [invoice, renewalInvoice]) {
        if (!issued) continue;
        expect(issued.issueDate).toBe(
          subscription.startDate > today ? subscription.startDate : today,
        );
        expect(equals(issued.subtotal, sum(issued.lines.map(({ amount }) => amount)))).toBe(true);
        for (const { amount } of issued.lines) {
          expect(amount.scale).toBe(minorUnitDigits(plan.currency));
          expect(formatDecimal(amount)).toMatch(/^\d+\.\d{4}$/);
        }
      }
    }),
    { numRuns: 1000 },
  );
  expect(decided).toBeGreaterThan(50);
});
