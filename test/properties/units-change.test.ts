/**
 * Whatever changes of units follow each other, they bill what a small model of the rules says,
 * nothing twice and nothing lost.
 */
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDays,
  type CivilDate,
  compareDates,
  daysBetween,
} from "../../src/domain/calendar/civil-date.ts";
import { daysInPeriod } from "../../src/domain/calendar/period.ts";
import type { BillingState } from "../../src/domain/model/billing-state.ts";
import { minorUnitDigits } from "../../src/domain/money/currency.ts";
import { type Decimal, equals, isNegative, isZero, sum } from "../../src/domain/money/decimal.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
  type UnitsDecision,
} from "../../src/domain/subscriptions/change-units.ts";
import { afterChange, changeTo, refusalOf } from "../domain/subscriptions/billing-state-builder.ts";
import { costOf, maxUnits, minor, someState } from "./units-model.ts";

/** A change as it is drawn: what of it counts depends on the state that it meets. */
interface Step {
  readonly units: number;
  /** Whether the units rise by a few, which bills more often than any number does. */
  readonly isRise: boolean;
  readonly prorate: boolean;
  readonly onRenewal: boolean;
  readonly day: number;
  readonly document: "amend" | "separate";
}

const someStep: fc.Arbitrary<Step> = fc.record({
  units: fc.nat(1000),
  isRise: fc.boolean(),
  prorate: fc.boolean(),
  onRenewal: fc.boolean(),
  day: fc.nat(400),
  document: fc.constantFrom("amend", "separate"),
});
const someSteps = fc.array(someStep, { minLength: 1, maxLength: 12 });

function requestOf(
  { plan, subscription, period, nextPeriod }: BillingState,
  step: Step,
): UnitsChangeRequest {
  const { prorate, onRenewal, day, document } = step;
  const [most, risen] = [maxUnits(plan), subscription.units + 1 + (step.units % 6)];
  return changeTo(step.isRise && risen <= most ? risen : step.units % (most + 1), {
    ...(prorate && { from: addDays(period.start, day % daysInPeriod(period)) }),
    behaviour: prorate && onRenewal ? "charge_on_renewal" : null,
    document: nextPeriod === null ? null : document,
  });
}

/**
 * What the model keeps of both periods, and what a step bills of each in minor units, a credit
 * below zero.
 */
interface Model {
  readonly billed: number;
  readonly next: number | null;
  readonly closed: boolean;
  readonly separately: boolean;
  readonly charged: readonly [current: bigint, next: bigint, plan: bigint | null];
}

/** The rules of units in their shortest form; null if the step is refused. UNITS-1 to UNITS-4. */
function modelled(state: BillingState, request: UnitsChangeRequest, before: Model): Model | null {
  const { units: to, effectiveDate, document } = request;
  const { subscription, period } = state;
  const from = subscription.units;
  if (to === from || (effectiveDate !== null && to < from)) return null;
  const difference = (billed: number) => costOf(state, to) - costOf(state, billed);
  const isAbove = to > from && to > before.billed;
  const days = effectiveDate === null ? 0 : daysBetween(effectiveDate, period.end);
  const current = isAbove
    ? minor(state, difference(before.billed), days, daysInPeriod(period))
    : 0n;
  const isFixed = before.next !== null || current < 0n;
  if (request.behaviour === "charge_on_renewal" && isFixed) return null;
  if (effectiveDate === null && isAbove && minor(state, difference(before.billed)) < 0n)
    return null;
  if (current > 0n && before.closed) return null;
  if (document === "amend" && before.separately) return null;
  const isNextAbove =
    document === "separate" && before.next !== null && to > from && to > before.next;
  const next = isNextAbove ? minor(state, difference(before.next)) : 0n;
  const isChargeOnly = before.closed && isAbove && minor(state, difference(before.billed)) > 0n;
  if (effectiveDate === null && next < 0n && !isChargeOnly) return null;
  return {
    billed: current === 0n ? before.billed : to,
    next: document === "amend" || next !== 0n ? to : before.next,
    closed: before.closed || (isAbove && effectiveDate === null),
    separately: before.separately || (document === "separate" && (current !== 0n || next !== 0n)),
    charged: [current, next, document === "amend" ? minor(state, costOf(state, to)) : null],
  };
}

const nothing = [0n, 0n, null] as const;
const modelOf = ({ period, nextPeriod }: BillingState): Model => ({
  billed: period.billedUnits ?? 0,
  next: nextPeriod?.billedUnits ?? null,
  closed: period.prorationClosed,
  separately: nextPeriod?.billedSeparately ?? false,
  charged: nothing,
});

/**
 * What a decision bills of the current and the next period, by the days of its lines, and of a plan
 * line.
 */
function chargedBy({ period }: BillingState, decision: UnitsDecision): Model["charged"] {
  const { invoice, joined, amended, deferred, creditNote } = decision;
  const lines = [...(invoice?.lines ?? []), ...(joined?.added ?? []), ...(amended?.added ?? [])];
  const all = [
    ...(deferred ? [deferred] : []),
    ...lines.map(({ amount, period: of }) => ({ amount, period: of })),
  ].map(({ amount, period: of }) => ({ units: amount.unscaled, isNext: of?.start === period.end }));
  const credits = (creditNote?.lines ?? []).map(({ amount, effectiveDate }) => ({
    units: -amount.unscaled,
    isNext: compareDates(effectiveDate, period.end) >= 0,
  }));
  const total = (isNext: boolean) =>
    [...all, ...credits]
      .filter((one) => one.isNext === isNext)
      .reduce((billed, one) => billed + one.units, 0n);
  return [total(false), total(true), amended?.planLine?.amount.unscaled ?? null];
}

/** The state after each step; null if it is refused and the state stays. */
function walk(
  start: BillingState,
  steps: readonly Step[],
): { state: BillingState; decision: UnitsDecision | null }[] {
  let state = start;
  return steps.map((step) => {
    const request = requestOf(state, step);
    if (refusalOf(state, request)[0] !== "accepted") return { state, decision: null };
    const decision = decideUnitsChange(state, request);
    state = afterChange(state, decision);
    return { state, decision };
  });
}

describe("a sequence of changes", () => {
  it("bills exactly what the model bills, and refuses exactly what it refuses", () => {
    let accepted = 0;
    fc.assert(
      fc.property(someState, someSteps, (start, steps) => {
        let [state, model] = [start, modelOf(start)];
        for (const step of steps) {
          const request = requestOf(state, step);
          const expected = modelled(state, request, model);
          const [code] = refusalOf(state, request);
          expect([code === "accepted", code]).toEqual([expected !== null, code]);
          if (expected === null) continue;
          const decision = decideUnitsChange(state, request);
          const charged = chargedBy(state, decision);
          state = afterChange(state, decision);
          model = expected;
          accepted += 1;
          expect({ ...modelOf(state), charged }).toEqual(model);
          expect(state.subscription.units).toBe(request.units);
        }
      }),
      { numRuns: 750 },
    );
    expect(accepted).toBeGreaterThan(1000);
  });

  it("charges nothing at or below the billed units, which only rise", () => {
    fc.assert(
      fc.property(someState, someSteps, (start, steps) => {
        let before = start;
        for (const { state, decision } of walk(start, steps)) {
          const [was, is] = [before.period.billedUnits ?? 0, state.period.billedUnits ?? 0];
          const [current] = decision ? chargedBy(before, decision) : nothing;
          expect(is).toBeGreaterThanOrEqual(was);
          expect(is > was).toBe(current !== 0n);
          if (is > was) expect(is).toBe(state.subscription.units);
          before = state;
        }
      }),
    );
  });

  it("from the first day on bills the billed units, to half a minor unit a document", () => {
    fc.assert(
      fc.property(someState, someSteps, (start, steps) => {
        const walked = walk(
          start,
          steps.map((step) => ({ ...step, day: 0 })),
        );
        const charged = walked.flatMap(({ decision }) =>
          decision ? [chargedBy(start, decision)[0]] : [],
        );
        const end = walked.at(-1)?.state ?? start;
        const moved =
          costOf(start, end.period.billedUnits ?? 0) - costOf(start, start.period.billedUnits ?? 0);
        const unit = 10n ** BigInt(10 - minorUnitDigits(start.plan.currency));
        const error = charged.reduce((total, one) => total + one, 0n) * unit - moved;
        const documents = BigInt(charged.filter((one) => one !== 0n).length);
        expect(2n * (error < 0n ? -error : error) <= documents * unit).toBe(true);
      }),
    );
  });

  it("issues documents of positive whole minor units that sum to their subtotals", () => {
    fc.assert(
      fc.property(someState, someSteps, (start, steps) => {
        const digits = minorUnitDigits(start.plan.currency);
        for (const { decision } of walk(start, steps)) {
          if (decision === null) continue;
          const { invoice, joined, amended, deferred, creditNote } = decision;
          for (const document of [invoice, creditNote]) {
            if (document === null) continue;
            expect(document.lines.length).toBeGreaterThan(0);
            expect(equals(document.subtotal, sum(document.lines.map(({ amount }) => amount)))).toBe(
              true,
            );
          }
          const billed = [
            invoice,
            joined && { lines: joined.added },
            amended && { lines: amended.added },
            creditNote,
          ];
          const amounts = billed.flatMap((one): Decimal[] =>
            (one?.lines ?? []).map(({ amount }) => amount),
          );
          for (const amount of [...amounts, ...(deferred ? [deferred.amount] : [])]) {
            expect(amount.scale).toBe(digits);
            expect(isNegative(amount) || isZero(amount)).toBe(false);
          }
          expect(amended?.planLine?.amount.scale ?? digits).toBe(digits);
          const issued = [invoice, joined, amended, deferred].filter((one) => one !== null);
          expect(issued.length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it("accepts some request for each number of units", () => {
    const forms = (state: BillingState, units: number): UnitsChangeRequest[] =>
      [{}, { from: state.period.start }].flatMap((prorated) =>
        ([null, "amend", "separate"] as const).map((document) =>
          changeTo(units, { ...prorated, document }),
        ),
      );
    fc.assert(
      fc.property(someState, someSteps, fc.nat(1000), (start, steps, drawn) => {
        const state = walk(start, steps).at(-1)?.state ?? start;
        const units = drawn % (maxUnits(state.plan) + 1);
        const codes = forms(state, units).map((request) => refusalOf(state, request)[0]);
        if (units === state.subscription.units)
          expect(new Set(codes)).toEqual(new Set(["units_unchanged"]));
        else expect(codes).toContain("accepted");
      }),
    );
  });
});

describe("one change", () => {
  const outside = someState.map((state): BillingState => ({ ...state, nextPeriod: null }));
  const charge = (state: BillingState, units: number, from: CivilDate) => {
    const decision = decideUnitsChange(state, changeTo(units, { from }));
    return { after: afterChange(state, decision), charged: chargedBy(state, decision)[0] };
  };
  const three = (state: BillingState, drawn: readonly number[]) =>
    drawn.map((one) => one % (maxUnits(state.plan) + 1)).sort((left, right) => left - right);
  const withUnits = (state: BillingState, units: number): BillingState => ({
    ...state,
    subscription: { ...state.subscription, units },
    period: { ...state.period, billedUnits: units },
  });
  const someThree = fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 });

  it("split in two on the same day costs the same to within a minor unit", () => {
    fc.assert(
      fc.property(outside, someThree, fc.nat(400), (state, drawn, day) => {
        const [low = 0, middle = 0, high = 0] = three(state, drawn);
        if (low === middle || middle === high) return;
        const from = addDays(state.period.start, day % daysInPeriod(state.period));
        const start = withUnits(state, low);
        const [once, first] = [charge(start, high, from), charge(start, middle, from)];
        const second = charge(first.after, high, from);
        const error = first.charged + second.charged - once.charged;
        expect(error >= -1n && error <= 1n).toBe(true);
        if (second.charged !== 0n) expect(second.after.period.billedUnits).toBe(high);
      }),
    );
  });

  it("from the first day costs exactly the difference, and a later day no more", () => {
    fc.assert(
      fc.property(outside, someThree, (state, drawn) => {
        const [low = 0, , high = 0] = three(state, drawn);
        if (low === high) return;
        const start = withUnits(state, low);
        const { start: first, end } = state.period;
        const whole = charge(start, high, first).charged;
        expect(whole).toBe(minor(state, costOf(state, high) - costOf(state, low)));
        let rest = whole < 0n ? -whole : whole;
        for (
          let day = first;
          compareDates(day, end) < 0;
          day = addDays(day, daysInPeriod(state.period) > 31 ? 7 : 1)
        ) {
          const { charged } = charge(start, high, day);
          const size = charged < 0n ? -charged : charged;
          expect(size <= rest).toBe(true);
          rest = size;
        }
        expect(refusalOf(start, changeTo(high, { from: end }))[0]).toBe(
          "effective_date_out_of_period",
        );
        expect(refusalOf(start, changeTo(high, { from: addDays(first, -1) }))[0]).toBe(
          "effective_date_out_of_period",
        );
      }),
      { numRuns: 60 },
    );
  });

  it("down and back up to what was billed issues no document", () => {
    fc.assert(
      fc.property(outside, someThree, fc.boolean(), (state, drawn, prorate) => {
        const [low = 0, middle = 0, high = 0] = three(state, drawn);
        if (low === middle || low === high) return;
        let now = withUnits(state, high);
        const up = (units: number) => changeTo(units, prorate ? { from: state.period.start } : {});
        for (const request of [changeTo(low), up(middle), ...(middle === high ? [] : [up(high)])]) {
          const decision = decideUnitsChange(now, request);
          expect(chargedBy(now, decision)).toEqual(nothing);
          now = afterChange(now, decision);
          expect(now.period).toEqual(withUnits(state, high).period);
        }
      }),
    );
  });
});

describe("the process's own zone", () => {
  const folder = new URL("../../", import.meta.url);
  const builder = `${folder}test/domain/subscriptions/billing-state-builder.ts`;
  const program = `
    const { afterChange, changeTo, dueOver, issued, stateOf } = await import("${builder}");
    const { decideUnitsChange } = await import("${folder}src/domain/subscriptions/change-units.ts");
    let state = stateOf({ startDate: "2023-12-31", index: 0, today: "2024-01-20", invoices:
      [issued({ periodIndex: 0 })] });
    const print = (value) => console.log(JSON.stringify(value, (_, one) => (typeof one === "bigint"
      ? String(one) : one)));
    const days = ["2024-01-31", "2024-02-29", "2024-03-10", "2024-03-31", "2024-10-27",
      "2024-11-03"];
    for (const [index, day] of days.entries()) {
      const due = dueOver(state, day);
      state = due.state;
      const document = state.nextPeriod === null ? null : "separate";
      const decision = decideUnitsChange(state, changeTo(11 + index, { from: day, document }));
      state = afterChange(state, decision);
      print([due.summaries, decision, state.period]);
    }`;
  const printedIn = (zone: string) => {
    const run = spawnSync(
      process.execPath,
      ["--no-warnings", "--input-type=module", "-e", program],
      {
        env: { ...process.env, TZ: zone },
        encoding: "utf8",
      },
    );
    expect(run.stderr).toBe("");
    return run.stdout;
  };

  it("changes nothing", () => {
    const printed = printedIn("UTC");
    expect(printed.trim().split("\n")).toHaveLength(6);
    for (const zone of ["America/New_York", "Pacific/Kiritimati"])
      expect(printedIn(zone)).toBe(printed);
  });
});
