/**
 * Due work has the same result whenever it is performed: each period once, without a gap, and every
 * deferred amount billed once.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DueDecision, decideDue } from "../../src/domain/billing/renewal.ts";
import { addDays, type CivilDate, compareDates } from "../../src/domain/calendar/civil-date.ts";
import { onBillingDay, periodAt } from "../../src/domain/calendar/period.ts";
import type { BillingState, PeriodState } from "../../src/domain/model/billing-state.ts";
import type { InvoiceLineDraft } from "../../src/domain/model/invoice.ts";
import { parseDecimal } from "../../src/domain/money/decimal.ts";
import { decideUnitsChange } from "../../src/domain/subscriptions/change-units.ts";
import { planOf, tiersOf } from "../domain/catalogue/catalogue.ts";
import {
  afterChange,
  afterDue,
  changeTo,
  issued,
  refusalOf,
  seats,
  stateOf,
  volumeSeats,
} from "../domain/subscriptions/billing-state-builder.ts";
import { someDate } from "./arbitraries.ts";

const flatFee = planOf("flat_fee", { price: parseDecimal("49") });
const steps = planOf("stairstep", { tiers: tiersOf([10, null, "50"], [null, null, "90"]) });

/** A subscription as its creation left it, on its start date or some days before it. */
const someStart: fc.Arbitrary<BillingState> = fc
  .record({
    plan: fc.constantFrom(seats, volumeSeats, steps, flatFee),
    count: fc.constantFrom(1, 1, 1, 2, 3, 12),
    date: someDate,
    billingDay: fc.integer({ min: 1, max: 31 }),
    before: fc.constantFrom(0, 0, 1, 20),
    cycles: fc.option(fc.integer({ min: 1, max: 12 })),
    createDays: fc.integer({ min: 0, max: 70 }),
  })
  .map(({ plan, count, date, billingDay, before, cycles, createDays }) => {
    const interval = { unit: "month", count } as const;
    const startDate = onBillingDay(date, billingDay);
    const endDate =
      cycles === null ? null : periodAt({ start: startDate, billingDay }, interval, cycles - 1).end;
    return stateOf({
      plan: { ...plan, interval },
      startDate,
      billingDay,
      index: 0,
      today: addDays(startDate, -before),
      subscription: { status: before > 0 ? "pending" : "active", endAfterCycles: cycles, endDate },
      organisation: { invoiceCreateDays: createDays },
      invoices: [issued({ type: "first", periodIndex: 0, status: "approved" })],
    });
  });

/** The parts of an invoice that do not depend on the day of its issue. */
interface Billed {
  readonly type: string;
  readonly index: number;
  readonly lines: readonly InvoiceLineDraft[];
}

/** A subscription's history: its state, all periods begun or prepared, all invoices issued. */
interface Way {
  readonly state: BillingState;
  readonly periods: readonly PeriodState[];
  readonly billed: readonly Billed[];
}

const beginning = (state: BillingState): Way => ({ state, periods: [state.period], billed: [] });

/** Performs what is due on the day until nothing is. */
function performed(way: Way, today: CivilDate): Way {
  let { state, periods, billed } = way;
  state = { ...state, today };
  for (let due: DueDecision | null = decideDue(state); due !== null; due = decideDue(state)) {
    state = afterDue(state, due);
    const written = new Set(due.periods.map(({ index }) => index));
    periods = [...periods.filter(({ index }) => !written.has(index)), ...due.periods];
    billed = [
      ...billed,
      ...due.invoices.map(({ draft: { type, periodIndex, lines } }) => ({
        type,
        index: periodIndex,
        lines,
      })),
    ];
  }
  return { state, periods, billed };
}

/** The change, in the first form that is accepted; none on a flat fee or after the end. */
function changed(way: Way, units: number, kind: number): Way {
  const { state } = way;
  const forms = [
    changeTo(units, { from: state.period.start, behaviour: "charge_on_renewal" }),
    changeTo(units, { from: state.period.start }),
    changeTo(units),
    changeTo(units, { document: "amend" }),
    changeTo(units, { document: "separate" }),
    changeTo(units, { document: "separate", from: state.period.start }),
  ];
  const turned = [...forms.slice(kind), ...forms.slice(0, kind)];
  const request = turned.find((form) => refusalOf(state, form)[0] === "accepted");
  return request === undefined
    ? way
    : { ...way, state: afterChange(state, decideUnitsChange(state, request)) };
}

const someChanges = fc.array(
  fc.record({ after: fc.integer({ min: 0, max: 150 }), units: fc.nat(20), kind: fc.nat(5) }),
  { maxLength: 6 },
);

describe("what is due", () => {
  it("day by day is what is due at once after all the days", () => {
    fc.assert(
      fc.property(someStart, fc.integer({ min: 0, max: 500 }), (start, days) => {
        const first = start.today;
        let daily = beginning(start);
        for (let day = 0; day <= days; day += 1) daily = performed(daily, addDays(first, day));
        expect(performed(beginning(start), addDays(first, days))).toEqual(daily);
      }),
      { numRuns: 60 },
    );
  });

  it("is the same with changes of units between, each decided after what is due that day", () => {
    fc.assert(
      fc.property(someStart, someChanges, (start, changes) => {
        let [seldom, daily, day] = [beginning(start), beginning(start), start.today];
        for (const { after, units, kind } of changes) {
          const next = addDays(day, after);
          for (; compareDates(day, next) < 0; day = addDays(day, 1)) daily = performed(daily, day);
          daily = changed(performed(daily, day), units, kind);
          seldom = changed(performed(seldom, day), units, kind);
          expect(seldom).toEqual(daily);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is each period once, without a gap, with one invoice each after the first", () => {
    fc.assert(
      fc.property(
        someStart,
        fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 12 }),
        (start, gaps) => {
          let [way, day] = [beginning(start), start.today];
          for (const gap of gaps) {
            day = addDays(day, gap);
            way = performed(way, day);
            const { subscription, period, nextPeriod } = way.state;
            const anchor = { start: subscription.startDate, billingDay: subscription.billingDay };
            expect(way.periods.map(({ index }) => index)).toEqual(
              way.periods.map((_, index) => index),
            );
            for (const { index, start: from, end } of way.periods) {
              expect({ index, start: from, end }).toEqual(
                periodAt(anchor, subscription.interval, index),
              );
            }
            expect(way.billed.map(({ type, index }) => [type, index])).toEqual(
              way.periods.slice(1).map(({ index }) => ["renewal", index]),
            );
            expect(period.end).toBe(subscription.renewalDate);
            expect(way.periods.at(-1)).toEqual(nextPeriod ?? period);
            if (subscription.status === "pending")
              expect(compareDates(day, subscription.startDate)).toBe(-1);
            else expect(compareDates(period.start, day)).toBeLessThanOrEqual(0);
            if (subscription.status === "active") expect(compareDates(day, period.end)).toBe(-1);
            if (subscription.status === "complete") {
              expect(subscription.endDate).toBe(period.end);
              expect(way.periods).toHaveLength(subscription.endAfterCycles ?? -1);
            }
          }
        },
      ),
    );
  });

  it("bills every deferred amount once, on the next invoice or when it completes", () => {
    let deferred = 0;
    fc.assert(
      fc.property(someStart, someChanges, (start, changes) => {
        let [way, day] = [beginning(start), start.today];
        const waiting: string[] = [];
        for (const { after, units } of changes) {
          day = addDays(day, after);
          const before = performed(way, day);
          way = changed(before, units, 0);
          for (const { description, amount } of way.state.deferred.slice(
            before.state.deferred.length,
          )) {
            waiting.push(`${amount.unscaled}: ${description}`);
          }
        }
        way = performed(way, addDays(day, 800));
        const lines = way.billed.flatMap((invoice) =>
          invoice.lines.filter(({ kind }) => kind === "proration"),
        );
        expect(
          lines.map(({ amount, description }) => `${amount.unscaled}: ${description}`),
        ).toEqual(waiting);
        expect(way.state.deferred).toEqual([]);
        deferred += waiting.length;
      }),
      { numRuns: 500 },
    );
    expect(deferred).toBeGreaterThan(20);
  });

  it("leaves unbilled only periods that began in Setup Mode", () => {
    let begunAfterBilled = 0;
    fc.assert(
      fc.property(
        someStart,
        fc.array(fc.tuple(fc.nat(90), fc.boolean()), { maxLength: 10 }),
        (start, switches) => {
          let [way, day] = [beginning(start), start.today];
          const issuedAhead = new Set<number>();
          for (const [gap, setupMode] of switches) {
            day = addDays(day, gap);
            way = performed(way, day);
            if (way.state.nextPeriod !== null) issuedAhead.add(way.state.nextPeriod.index);
            way = {
              ...way,
              state: { ...way.state, organisation: { ...way.state.organisation, setupMode } },
            };
          }
          const begun = way.periods.slice(1);
          expect(way.periods.map(({ index }) => index)).toEqual(
            way.periods.map((_, index) => index),
          );
          expect(way.billed.map(({ index }) => index)).toEqual(
            begun
              .filter(({ index, setupMode }) => !setupMode || issuedAhead.has(index))
              .map(({ index }) => index),
          );
          begunAfterBilled += begun.filter(
            ({ index, setupMode }) => setupMode && issuedAhead.has(index),
          ).length;
        },
      ),
      { numRuns: 300 },
    );
    expect(begunAfterBilled).toBeGreaterThan(0);
  });
});
