/**
 * What usage comes to so far is what bills have charged and what the next one then charges,
 * whenever the bills are closed. USAGE-16, MONEY-7.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { chargeUsage } from "../../src/domain/billing/usage-charges.ts";
import {
  type TakenUsage,
  usageSoFar,
  type WaitingUsage,
} from "../../src/domain/billing/usage-so-far.ts";
import type { PricedMeter } from "../../src/domain/catalogue/meter.ts";
import {
  add,
  type Decimal,
  decimalOf,
  formatDecimal,
  parseDecimal,
  sum,
  ZERO,
} from "../../src/domain/money/decimal.ts";
import { meterOf, storage, usageOf } from "../domain/billing/open-usage-builder.ts";
import { tiersOf } from "../domain/catalogue/catalogue.ts";
import { stateOf } from "../domain/subscriptions/billing-state-builder.ts";

const meters: readonly PricedMeter[] = [
  meterOf(),
  meterOf({ price: parseDecimal("0.0003") }),
  storage,
  meterOf({ type: "tiered", price: ZERO, tiers: tiersOf([10, "0.02"], [null, "0.01", "5"]) }),
  meterOf({ type: "stairstep", price: ZERO, tiers: tiersOf([10, null, "50"], [null, null, "9"]) }),
];

/** Events as ten-thousandths, and how many bills pass before the next one. */
const someSteps = fc.array(
  fc.record({
    quantity: fc.oneof(fc.integer({ min: 1, max: 150_000 }), fc.integer({ min: 1, max: 9 })),
    next: fc.constantFrom("same bill", "same bill", "later bill", "close"),
  }),
  { minLength: 1, maxLength: 25 },
);

const nothing: TakenUsage = { events: 0n, quantity: ZERO, late: ZERO, amount: ZERO, priced: ZERO };

it("is what the bills charge, and moves no amount when they are closed", () => {
  fc.assert(
    fc.property(fc.constantFrom(...meters), someSteps, (meter, steps) => {
      const { period } = usageOf("1");
      const facts = stateOf({});
      let taken: TakenUsage | null = null;
      let waiting: WaitingUsage[] = [];
      let [bill, whole] = [0, ZERO as Decimal];
      const shown = () => usageSoFar({ period, meter, taken, waiting }, "EUR");
      const close = () => {
        const known = taken ?? nothing;
        const { quantity: before, priced } = known;
        const open = waiting.map((one) => ({
          ...usageOf("1", { bill: one.bill, meter, events: one.events }),
          quantity: one.quantity,
          before,
          priced,
        }));
        const { lines, credited } = chargeUsage(facts, open);
        const billed = [...lines.map((line) => line.billed), ...credited];
        const last = billed.toSorted((left, right) => left.usage.bill - right.usage.bill).at(-1);
        taken = {
          events: known.events + BigInt(waiting.length),
          quantity: add(before, sum(waiting.map(({ quantity }) => quantity))),
          late: ZERO,
          amount: add(known.amount, sum(billed.map(({ amount }) => amount))),
          priced: last?.priced ?? priced,
        };
        waiting = [];
      };
      for (const { quantity, next } of steps) {
        const amount = { ...decimalOf(quantity), scale: 4 };
        whole = add(whole, amount);
        const isLate = bill > 0;
        waiting.push({ bill, events: 1n, quantity: amount, isLate, isBillable: true });
        if (next === "same bill") continue;
        bill += 1;
        if (next === "later bill") continue;
        const before = shown();
        close();
        const after = shown();
        expect(formatDecimal(after.amount)).toBe(formatDecimal(before.amount));
        expect(formatDecimal(after.billedAmount)).toBe(formatDecimal(after.amount));
        expect(formatDecimal(after.billedQuantity)).toBe(formatDecimal(whole));
      }
      expect(formatDecimal(shown().quantity)).toBe(formatDecimal(whole));
      expect(shown().events).toBe(BigInt(steps.length));
    }),
    { numRuns: 300 },
  );
});

it("costs nothing if no bill will price it", () => {
  const { period } = usageOf("1");
  const one = { bill: 0, events: 1n, quantity: parseDecimal("7"), isLate: false };
  const usage = { period, meter: meterOf(), taken: null };
  const billable = usageSoFar({ ...usage, waiting: [{ ...one, isBillable: true }] }, "EUR");
  expect(formatDecimal(billable.amount)).toBe("3.5000");
  const never = usageSoFar({ ...usage, waiting: [{ ...one, isBillable: false }] }, "EUR");
  expect(formatDecimal(never.amount)).toBe("0.0000");
  expect(formatDecimal(never.quantity)).toBe("7.0000");
});
