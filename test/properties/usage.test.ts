/**
 * Whatever is reported, renewed, ended, restored and set up: every event is billed once, and what
 * it costs is neither lost nor doubled.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { equals } from "../../src/domain/money/decimal.ts";
import { beginLife, end, pass, scaled, setUp, type UsedLife, valueOfMeter } from "./used-life.ts";
import { type Step, someLife, someReport, someSteps } from "./used-life-steps.ts";

/**
 * The steps, then the end: Setup Mode is over, the subscription too, and what was reported late has
 * been billed.
 */
function lived(order: Parameters<typeof beginLife>[0], steps: readonly Step[]): UsedLife {
  const after = steps.reduce((life, step) => step(life), beginLife(order));
  return pass(end(pass(setUp(after, false), 0), "now"), 0);
}

/** Half a cent in hundred-millionths: the most by which one rounding can be off. */
const halfCent = 500_000n;

it("every event is on exactly one bill, with its count and quantity", () => {
  fc.assert(
    fc.property(someLife, someSteps, (order, steps) => {
      const { billed, events } = lived(order, steps);
      const bills = Map.groupBy(
        billed,
        ({ usage: { bill, period, meter } }) => `${bill} ${period.index} ${meter.id}`,
      );
      const stored = Map.groupBy(
        events,
        ({ bill, period, meter }) => `${bill} ${period} ${meter.id}`,
      );
      expect([...bills.keys()].toSorted()).toEqual([...stored.keys()].toSorted());
      for (const [key, group] of stored) {
        const [one, ...others] = bills.get(key) ?? [];
        expect(others).toEqual([]);
        expect(one?.usage.events).toBe(BigInt(group.length));
        const quantity = group.reduce((whole, event) => whole + event.quantity, 0n);
        expect(one && scaled(one.usage.quantity, 4)).toBe(quantity);
      }
    }),
    { numRuns: 1_000 },
  );
});

it("the bills of a period and meter sum to the price of their whole sum, rounded", () => {
  fc.assert(
    fc.property(someLife, someSteps, (order, steps) => {
      const { billed, setupPeriods } = lived(order, steps);
      const groups = Map.groupBy(
        billed,
        ({ usage: { period, meter } }) => `${period.index} ${meter.id}`,
      );
      for (const group of groups.values()) {
        const [first] = group;
        if (first === undefined) continue;
        const { period, meter } = first.usage;
        const amount = group.reduce((whole, one) => whole + scaled(one.amount, 8), 0n);
        if (setupPeriods.has(period.index)) {
          expect(amount).toBe(0n);
          continue;
        }
        const quantity = group.reduce((whole, { usage }) => whole + scaled(usage.quantity, 4), 0n);
        const off = amount - valueOfMeter(meter.id, quantity);
        const roundings = BigInt(group.filter((one) => one.amount.unscaled !== 0n).length + 1);
        expect(off < 0n ? -off : off).toBeLessThanOrEqual(halfCent * roundings);
      }
    }),
    { numRuns: 1_000 },
  );
});

it("each bill continues the one before it in quantity and price", () => {
  fc.assert(
    fc.property(someLife, someSteps, (order, steps) => {
      const reached = new Map<string, { before: bigint; priced: bigint }>();
      for (const { usage, amount, priced } of lived(order, steps).billed) {
        const key = `${usage.period.index} ${usage.meter.id}`;
        const known = reached.get(key) ?? { before: 0n, priced: 0n };
        expect([scaled(usage.before, 4), scaled(usage.priced, 4)]).toEqual([
          known.before,
          known.priced,
        ]);
        const before = known.before + scaled(usage.quantity, 4);
        expect(scaled(priced, 4)).toBe(amount.unscaled === 0n ? known.priced : before);
        expect(amount.unscaled === 0n && !equals(priced, usage.priced)).toBe(false);
        reached.set(key, { before, priced: scaled(priced, 4) });
      }
    }),
    { numRuns: 1_000 },
  );
});

it("processing every day in between never changes what periods come to", () => {
  const amounts = ({ billed }: UsedLife) => {
    const groups = Map.groupBy(
      billed,
      ({ usage: { period, meter } }) => `${period.index} ${meter.id}`,
    );
    const totals = [...groups].map(([key, group]) => [
      key,
      group.reduce((whole, one) => whole + scaled(one.amount, 8), 0n),
    ]);
    return new Map(totals as [string, bigint][]);
  };
  const inOnePeriod = fc.array(someReport, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(someLife, fc.array(inOnePeriod, { maxLength: 4 }), (order, months) => {
      const daily: Step[] = months.flatMap((reports) => [
        ...reports,
        ...Array<Step>(31).fill((life) => pass(life, 1)),
      ]);
      const seldom: Step[] = months.flatMap((reports) => [
        ...reports,
        (life: UsedLife) => pass(life, 31),
      ]);
      expect(amounts(lived(order, daily))).toEqual(amounts(lived(order, seldom)));
    }),
    { numRuns: 60 },
  );
});
