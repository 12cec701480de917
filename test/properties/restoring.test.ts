/** Whatever changes, ends and restorations follow each other, each period is billed once: what a small model says, no more, no less. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addDays, type CivilDate, civilDate, compareDates } from "../../src/domain/civil-date.ts";
import { decideCreation } from "../../src/domain/creating.ts";
import { type Decimal, formatDecimal, negate, sum } from "../../src/domain/decimal.ts";
import type { EndRequest } from "../../src/domain/ending.ts";
import { daysInPeriod } from "../../src/domain/period.ts";
import type { Plan } from "../../src/domain/plan.ts";
import { lineAmount } from "../../src/domain/pricing/index.ts";
import { prorate } from "../../src/domain/proration.ts";
import type { UnitsChangeRequest } from "../../src/domain/units-change.ts";
import { changeTo } from "../domain/billing-states.ts";
import { factsOf, organisation, requestOf, setupCharge } from "../domain/creation.ts";
import { cheaperPlan, planTypes, somePlan, someTerms } from "./arbitraries.ts";
import { begun, change, end, type Life, pass, restore, stateIn } from "./life.ts";

/** A step as it is drawn; what of a change counts depends on the state that it meets. */
type Step =
  | { readonly kind: "pass"; readonly days: number }
  /** To so many days before the renewal date, where that is still to come: mostly into the invoice window. */
  | { readonly kind: "near"; readonly days: number }
  | { readonly kind: "restore" }
  | { readonly kind: "end"; readonly request: EndRequest; readonly removable: number }
  | {
      readonly kind: "change";
      readonly units: number;
      /** Whether the units rise by a few, which bills more often than any number does. */
      readonly isRise: boolean;
      readonly prorate: boolean;
      readonly onRenewal: boolean;
      readonly day: number;
      readonly document: "amend" | "separate";
    };

const endStep = (when: EndRequest["when"], deletes: boolean, removable: number): Step => ({
  kind: "end",
  request: { when, deleteUnsentInvoices: deletes && when === "now", voidApprovedInvoices: false },
  removable,
});
const someEnd: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom("now", "period_end"), fc.boolean(), fc.constantFrom(0, 1, 2, 99, 99, 99, 99))
  .map((drawn) => endStep(...drawn));
const someChange: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("change" as const),
  units: fc.nat(1000),
  isRise: fc.boolean(),
  prorate: fc.boolean(),
  onRenewal: fc.boolean(),
  day: fc.nat(400),
  document: fc.constantFrom("amend" as const, "separate" as const),
});
const somePass: fc.Arbitrary<Step> = fc.record({ kind: fc.constant("pass" as const), days: fc.nat(20) });
const someNear: fc.Arbitrary<Step> = fc.integer({ min: 1, max: 7 }).map((days) => ({ kind: "near", days }));
const restoreStep: Step = { kind: "restore" };
const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: somePass },
  { weight: 1, arbitrary: someNear },
  { weight: 3, arbitrary: someEnd },
  { weight: 4, arbitrary: fc.constant(restoreStep) },
  { weight: 5, arbitrary: someChange },
);

const rise = (change: Step, differs: object): Step => ({ ...change, isRise: true, ...differs }) as Step;

/** What rarely comes about by itself: a charge that is deferred, billed ahead, and then taken back in one way or another. */
const someDeferral: fc.Arbitrary<readonly Step[]> = fc
  .tuple(someChange, fc.oneof(somePass, someNear), someChange, someEnd, somePass, someChange, someEnd)
  .map(([change, ...steps]) => [rise(change, { prorate: true, onRenewal: true }), ...steps, restoreStep]);

/** So too a change that is billed separately, before units rise further between an end and a restoration. */
const someSeparate: fc.Arbitrary<readonly Step[]> = fc
  .tuple(someNear, someChange, someEnd, someChange, someEnd, someChange)
  .map(([first, change, end, second, last, third]) => [
    first,
    rise(change, { document: "separate", onRenewal: false }),
    end,
    rise(second, { onRenewal: false }),
    restoreStep,
    last,
    third,
    restoreStep,
  ]);

/** And an end that is refused after the renewal invoice was removed: the subscription goes on. */
const someRefusal: fc.Arbitrary<readonly Step[]> = fc
  .tuple(someChange, someNear, someChange, fc.integer({ min: 1, max: 3 }), someChange, somePass, someEnd)
  .map(([first, near, second, removable, third, ...steps]) => [
    rise(first, {}),
    near,
    rise(second, { onRenewal: false }),
    endStep("now", true, removable),
    rise(third, {}),
    ...steps,
    restoreStep,
  ]);
const someSteps: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.array(someStep, { maxLength: 6 }) },
      { weight: 1, arbitrary: someDeferral },
      { weight: 1, arbitrary: someSeparate },
      { weight: 1, arbitrary: someRefusal },
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.flat());

const mostUnits = (plan: Plan) => (plan.tiers.at(-1)?.upTo ?? 60) + plan.freeUnits;
const today = civilDate("2026-06-10");

/** A subscription just created, of any plan, that begins then, has begun, or is still to begin. */
const someLife: fc.Arbitrary<Life> = fc
  .record({
    plan: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...planTypes).chain(somePlan) },
      { weight: 1, arbitrary: cheaperPlan },
    ),
    offset: fc.integer({ min: -25, max: 40 }),
    invoiceCreateDays: fc.constantFrom(0, 7, 14, 25),
    endAfterCycles: fc.option(fc.integer({ min: 1, max: 4 })),
  })
  .chain(({ plan, offset, invoiceCreateDays, endAfterCycles }) =>
    someTerms(plan).map(({ units, priceOverride: price, discountPercent }) => {
      const settings = { ...organisation, invoiceCreateDays };
      const charge = { ...setupCharge, currency: plan.currency };
      const facts = factsOf({ organisation: settings, plan, charges: new Map([[charge.code, charge]]) });
      const request = requestOf({
        units: plan.type === "flat_fee" ? null : units,
        price,
        discountPercent,
        endAfterCycles,
        startDate: addDays(today, offset),
        charges: [{ chargeCode: charge.code, quantity: 1, price: null }],
      });
      return begun(settings, decideCreation(facts, request), today);
    }),
  );

function requestIn(
  life: Life,
  { units, isRise, prorate: isProrated, onRenewal, day, document }: Step & { kind: "change" },
): UnitsChangeRequest {
  const { plan, period, nextPeriod, subscription, invoices } = stateIn(life);
  const isAhead = nextPeriod !== null && invoices.some(({ periodIndex }) => periodIndex === nextPeriod.index);
  const [most, risen] = [mostUnits(plan), subscription.units + 1 + (units % 6)];
  return changeTo(isRise && risen <= most ? risen : units % (most + 1), {
    ...(isProrated && subscription.status === "active" && { from: addDays(period.start, day % daysInPeriod(period)) }),
    behaviour: isProrated && onRenewal && subscription.status === "active" ? "charge_on_renewal" : null,
    document: isAhead ? document : null,
  });
}

/** What a period is to be billed for: whole at so many units, then for each rise from a day on. */
interface Owed {
  readonly units: number | null;
  readonly moves: readonly { readonly from: number; readonly to: number; readonly day: CivilDate }[];
}

/** The model: what each period is to be billed for, by its index. */
type Model = readonly Owed[];

const whole = (units: number | null): Owed => ({ units, moves: [] });

/** What a change adds: to the current period from its day on, to the next one from its first. */
function changed(before: Life, after: Life, model: Model, request: UnitsChangeRequest): Model {
  return model.map((owed, index) => {
    const [was, is] = [before.periods[index], after.periods[index]];
    if (is === undefined || was === undefined || index < before.current) return owed;
    const isWhole =
      before.subscription.status === "pending" || (index > before.current && request.document === "amend");
    if (isWhole) return whole(is.billedUnits);
    const [from, to] = [was.billedUnits ?? 0, is.billedUnits ?? 0];
    if (from === to) return owed;
    const day = index === before.current ? (request.effectiveDate ?? is.start) : is.start;
    return { ...owed, moves: [...owed.moves, { from, to, day }] };
  });
}

/** The next period, where its renewal invoice is raised again: by that alone, at the units of then. */
function restored(before: Life, after: Life, model: Model): Model {
  const index = before.current + 1;
  const period = before.periods[index];
  const isNew = after.papers.slice(before.papers.length).some((one) => isRenewalOf(one, index));
  if (period === undefined || model[index] === undefined || !isNew) return model;
  return model.with(index, whole(period.billedUnits === null ? null : before.subscription.units));
}

function isRenewalOf({ type, periodIndex }: Life["papers"][number], index: number): boolean {
  return type === "renewal" && periodIndex === index;
}

function amountOf(life: Life, index: number, { from, to, day }: Owed["moves"][number]): Decimal {
  const period = life.periods[index];
  if (period === undefined) throw new Error(`no period ${index}`);
  return prorate(life.plan, life.subscription, { fromUnits: from, toUnits: to, period, effectiveDate: day }).amount;
}

/** What the model says is billed for a period, as a list of texts in order. */
function owedIn(life: Life, model: Model, index: number): readonly string[] {
  const { units, moves } = model[index] ?? whole(null);
  const plan = `plan ${formatDecimal(lineAmount(life.plan, { ...life.subscription, units: units ?? 0 }))}`;
  const rises = moves.map((move) => `from ${move.day} ${formatDecimal(amountOf(life, index, move))}`);
  return [plan, ...rises, ...(index === 0 ? ["charge"] : [])].sort();
}

/** What stands in the books for a period, or waits to be billed, in the same form. */
function billedIn(life: Life, index: number): readonly string[] {
  const period = life.periods[index];
  if (period === undefined) return [];
  const isOf = (day: CivilDate) => compareDates(period.start, day) <= 0 && compareDates(day, period.end) < 0;
  const reversed = life.reversed.find((one) => one.index === index);
  // What a refused end removed stays removed, and counts as billed.
  const untilOf = ({ id, isRemoved }: Life["papers"][number]) =>
    isRemoved ? life.lost.find((one) => one.id === id)?.until : "9999-12-31";
  const lines = life.papers.flatMap((paper) =>
    paper.lines.flatMap(({ kind, amount, period: of }) => {
      const until = untilOf(paper);
      if (until === undefined) return [];
      if (kind === "charge") return paper.type === "first" && index === 0 ? ["charge"] : [];
      if (of === null || !isOf(of.start) || of.start >= until) return [];
      if (!paper.isRemoved && reversed?.papers.includes(paper.id)) return [];
      return [kind === "plan" ? `plan ${formatDecimal(amount)}` : `from ${of.start} ${formatDecimal(amount)}`];
    }),
  );
  const waiting = life.deferred.filter(({ line, paperId }) => paperId === null && isOf(line.period.start));
  const credits = life.credits.filter(
    ({ effectiveDate }, place) => isOf(effectiveDate) && !reversed?.credits.includes(place),
  );
  return [
    ...lines,
    ...waiting.map(({ line }) => `from ${line.period.start} ${formatDecimal(line.amount)}`),
    ...credits.map(({ amount, effectiveDate }) => `from ${effectiveDate} ${formatDecimal(negate(amount))}`),
  ].sort();
}

/** The amounts of lines from a day on, on documents that stand; credits are below zero. */
function amountsFrom(
  { papers, credits }: Life,
  day: CivilDate,
  isMeant: (paper: Life["papers"][number]) => boolean = () => true,
): readonly Decimal[] {
  const standing = papers.filter((paper) => !paper.isRemoved && isMeant(paper));
  const lines = standing.flatMap((paper) => paper.lines);
  return [
    ...lines.flatMap(({ period, amount }) => (period !== null && compareDates(day, period.start) <= 0 ? [amount] : [])),
    ...credits.flatMap((one) => (compareDates(day, one.effectiveDate) <= 0 ? [negate(one.amount)] : [])),
  ];
}

/** What was deferred and does not wait stands on the invoice that is said to bill it, where that is not of an earlier period. */
function expectDeferredBilled({ deferred, papers, current, lost }: Life): void {
  for (const { line, paperId } of deferred) {
    const paper = papers.find(({ id }) => id === paperId);
    if (paper === undefined || paper.periodIndex < current || lost.some(({ id }) => id === paperId)) continue;
    const isThere = paper.lines.some(
      ({ description, period }) => description === line.description && period?.start === line.period.start,
    );
    expect([paper.isRemoved, isThere]).toEqual([false, true]);
  }
}

/** Whether every text of `some` is in `all`, as often at most. */
function isWithin(some: readonly string[], all: readonly string[]): boolean {
  const left = [...all];
  return some.every((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/** One step of both; the step's name where it was accepted. */
function take(life: Life, model: Model, step: Step): { life: Life; model: Model; done: string | null } {
  const opened = (after: Life, known: Model): Model =>
    after.periods.map((period, index) => known[index] ?? whole(period.billedUnits));
  switch (step.kind) {
    case "pass":
    case "near": {
      const { renewalDate: end } = life.subscription;
      const left = compareDates(life.today, end) < 0 ? daysInPeriod({ start: life.today, end }) : 0;
      const after = pass(life, step.kind === "pass" ? step.days : Math.max(0, left - step.days));
      return { life: after, model: opened(after, model), done: "pass" };
    }
    case "end": {
      const after = end(life, step.request, step.removable);
      if (after === null) return { life, model, done: null };
      // Refused half-way: the renewal invoice comes back as by a restoration.
      const isRaisedAgain = after.subscription === life.subscription && after.papers.length > life.papers.length;
      const known = isRaisedAgain ? opened(after, restored(life, after, model)) : model;
      return { life: after, model: known, done: isRaisedAgain ? "go on" : `end ${step.request.when}` };
    }
    case "restore": {
      const after = restore(life);
      return after === null
        ? { life, model, done: null }
        : { life: after, model: opened(after, restored(life, after, model)), done: "restore" };
    }
    case "change": {
      const request = requestIn(life, step);
      const after = change(life, request);
      return after === null
        ? { life, model, done: null }
        : { life: after.life, model: changed(life, after.life, model, request), done: "change" };
    }
  }
}

/** Walks from a new subscription on; `look` sees what each accepted step left. */
function walk(
  start: Life,
  steps: readonly Step[],
  look: (life: Life, model: Model, done: string, before: Life) => void,
): void {
  let life = pass(start, 0);
  let model: Model = life.periods.map(({ billedUnits }) => whole(billedUnits));
  for (const step of steps) {
    const before = life;
    const taken = take(life, model, step);
    life = taken.life;
    model = taken.model;
    if (taken.done !== null) look(life, model, taken.done, before);
  }
}

describe("whatever changes, ends, refused removals, restorations and days follow each other", () => {
  it("bills no part of any period twice, and nothing that the model does not know", () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        walk(start, steps, (life, model, done) => {
          seen.set(done, (seen.get(done) ?? 0) + 1);
          for (const { index } of life.periods) {
            const [billed, owed] = [billedIn(life, index), owedIn(life, model, index)];
            if (!isWithin(billed, owed)) expect({ index, billed }).toEqual({ index, billed: owed });
          }
        });
      }),
      { numRuns: 1500 },
    );
    for (const done of ["pass", "end now", "end period_end", "restore", "change"]) {
      expect([done, (seen.get(done) ?? 0) > 500]).toEqual([done, true]);
    }
    expect(seen.get("go on")).toBeGreaterThan(30);
  });

  it("has billed exactly what the model says of the current and the next period once it is restored, and as long as it runs", () => {
    let restorations = 0;
    let raisedAgain = 0;
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        walk(start, steps, (life, model, done, before) => {
          const { status, cancelAtPeriodEnd } = life.subscription;
          if (done === "restore") {
            restorations += 1;
            if (life.papers.length > before.papers.length) raisedAgain += 1;
            expect([status === "active" || status === "pending", cancelAtPeriodEnd]).toEqual([true, false]);
            expectDeferredBilled(life);
          }
          const runs = (status === "active" || status === "pending") && !cancelAtPeriodEnd;
          if (!runs || life.removed.length > 0) return;
          for (const index of [life.current, life.current + 1]) {
            if (life.periods[index] === undefined) continue;
            expect({ index, billed: billedIn(life, index) }).toEqual({ index, billed: owedIn(life, model, index) });
          }
        });
      }),
      { numRuns: 1500 },
    );
    expect(restorations).toBeGreaterThan(500);
    expect(raisedAgain).toBeGreaterThan(300);
  });

  it("leaves nothing billed of a next period that does not begin", () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        walk(start, steps, (life, _, done, before) => {
          const { status, cancelAtPeriodEnd } = life.subscription;
          if (!done.startsWith("end ") || !(status === "ended" || cancelAtPeriodEnd)) return;
          const index = life.current + 1;
          const period = life.periods[index];
          if (period === undefined) return;
          const left = sum(amountsFrom(life, period.start));
          expect({ done, index, left: formatDecimal(left) }).toEqual({ done, index, left: "0.0000" });
          const raised = life.papers.length - before.papers.length + life.credits.length - before.credits.length;
          const others = amountsFrom(before, period.start, (one) => !isRenewalOf(one, index));
          const kind = others.length === 0 ? "nothing" : raised === 0 ? "reversed before" : "reversed";
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        });
      }),
      { numRuns: 1500 },
    );
    for (const kind of ["nothing", "reversed before", "reversed"]) {
      expect([kind, (seen.get(kind) ?? 0) > 50]).toEqual([kind, true]);
    }
  });

  it("gives back the subscription of before where nothing happened between", () => {
    let restorations = 0;
    fc.assert(
      fc.property(someLife, someSteps, someEnd, (start, steps, last) => {
        walk(start, steps, (life) => {
          if (last.kind !== "end") return;
          const { status, cancelAtPeriodEnd } = life.subscription;
          if (status === "ended" || status === "complete" || cancelAtPeriodEnd || life.removed.length > 0) return;
          const over = end(life, last.request, 99);
          const again = over && restore(over);
          if (!again) return;
          restorations += 1;
          expect(again.subscription).toEqual(life.subscription);
          expect(again.periods.map((period) => ({ ...period, billedSeparately: false }))).toEqual(
            life.periods.map((period, index) => ({
              ...period,
              billedSeparately: false,
              // A renewal invoice is made anew, at the units of now.
              ...(index > life.current && period.billedUnits !== null ? { billedUnits: life.subscription.units } : {}),
            })),
          );
          for (const index of [life.current]) expect(billedIn(again, index)).toEqual(billedIn(life, index));
        });
      }),
      { numRuns: 300 },
    );
    expect(restorations).toBeGreaterThan(500);
  });

  it("refuses a second restoration, and one from the renewal date on", () => {
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        walk(start, steps, (life, _, done) => {
          if (done === "restore") expect(restore(life)).toBeNull();
          const later = { ...life, today: life.subscription.renewalDate };
          if (done.startsWith("end") && life.subscription.status === "ended") expect(restore(later)).toBeNull();
        });
      }),
    );
  });
});
