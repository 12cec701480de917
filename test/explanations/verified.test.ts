/**
 * Every line that the domain drafts explains itself: by its facts alone a verifier that shares
 * nothing with the service comes to the same amount. MONEY-9.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import { chargeLine, planLine } from "../../src/domain/billing/invoice-lines.ts";
import { prorate } from "../../src/domain/billing/proration.ts";
import { chargeUsage } from "../../src/domain/billing/usage-charges.ts";
import { addDays, civilDate } from "../../src/domain/calendar/civil-date.ts";
import { periodAt } from "../../src/domain/calendar/period.ts";
import { isNegative, negate } from "../../src/domain/money/decimal.ts";
import { usageOf } from "../domain/billing/open-usage-builder.ts";
import { stateOf } from "../domain/subscriptions/billing-state-builder.ts";
import { organisation, setupCharge } from "../domain/subscriptions/creation-builder.ts";
import { planTypes, someDate, somePlan, somePrice, someTerms } from "../properties/arbitraries.ts";
import { meters } from "../properties/used-life.ts";
import { type DraftedLine, explained } from "./explained.ts";

async function expectVerified(
  object: "invoice" | "credit_note",
  currency: string,
  lines: readonly DraftedLine[],
): Promise<void> {
  if (lines.length === 0) return;
  const text = JSON.stringify(explained(object, currency, lines));
  expect(await verify(text)).toEqual({ verified: true, lines: lines.length });
}

const planAndTerms = fc
  .constantFrom(...planTypes)
  .chain(somePlan)
  .chain((plan) => fc.tuple(fc.constant(plan), someTerms(plan)));

it("a plan line and a charge, of every type, currency, discount and override", async () => {
  const order = fc.tuple(planAndTerms, fc.integer({ min: 1, max: 999 }), fc.option(somePrice));
  await fc.assert(
    fc.asyncProperty(order, async ([[plan, terms], quantity, price]) => {
      const period = periodAt({ start: civilDate("2026-06-01"), billingDay: 1 }, plan.interval, 0);
      const charge = { ...setupCharge, currency: plan.currency };
      await expectVerified("invoice", plan.currency, [
        planLine(plan, terms, period, organisation),
        chargeLine(charge, quantity, price, organisation),
      ]);
    }),
    { numRuns: 1_000 },
  );
});

it("a proration of every type with units, charged or credited, from any day", async () => {
  const order = fc.tuple(planAndTerms, someDate, fc.nat(), fc.nat());
  await fc.assert(
    fc.asyncProperty(order, async ([[plan, terms], start, day, units]) => {
      if (plan.type === "flat_fee") return;
      const billingDay = Number(start.slice(8));
      const period = periodAt({ start, billingDay }, plan.interval, 1);
      const effectiveDate = addDays(period.start, day % 28);
      const most = (plan.tiers.at(-1)?.upTo ?? 60) + plan.freeUnits;
      const change = { fromUnits: terms.units, toUnits: units % (most + 1), period, effectiveDate };
      const { amount, facts } = prorate(plan, terms, change);
      if (isNegative(amount))
        await expectVerified("credit_note", plan.currency, [{ amount: negate(amount), facts }]);
      else await expectVerified("invoice", plan.currency, [{ amount, facts }]);
    }),
    { numRuns: 1_000 },
  );
});

it("usage, also late, after bills that rounded to zero, and below zero", async () => {
  const quantity = fc.integer({ min: 0, max: 900_000 }).map((of) => String(of / 10_000));
  const order = fc.tuple(fc.constantFrom(...meters), quantity, quantity, fc.nat(100));
  await fc.assert(
    fc.asyncProperty(order, async ([meter, reported, before, part]) => {
      const priced = String(Math.floor(Number(before) * part) / 100);
      const { lines, creditNote } = chargeUsage(stateOf(), [
        usageOf(reported, { meter, before, priced }),
        usageOf("3", { meter, bill: 1 }),
      ]);
      await expectVerified(
        "invoice",
        "EUR",
        lines.map(({ line }) => line),
      );
      await expectVerified("credit_note", "EUR", creditNote?.lines ?? []);
    }),
    { numRuns: 1_000 },
  );
});
