/**
 * Whatever changes, ends and restorations follow each other, each period is billed once: what a
 * small model says, no more, no less.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { billedFor, unitsSetBy } from "../../src/domain/billing/billed-by.ts";
import { prorate } from "../../src/domain/billing/proration.ts";
import { type CivilDate, compareDates } from "../../src/domain/calendar/civil-date.ts";
import { daysInPeriod } from "../../src/domain/calendar/period.ts";
import { lineAmount } from "../../src/domain/catalogue/pricing/index.ts";
import { type Decimal, formatDecimal, negate, sum } from "../../src/domain/money/decimal.ts";
import type { UnitsChangeRequest } from "../../src/domain/subscriptions/change-units.ts";
import { change, end, type Life, pass, restore } from "./life.ts";
import { requestIn, type Step, someEnd, someLife, someSteps } from "./life-steps.ts";

/** What a period is to be billed for: whole at so many units, then for each rise from a day on. */
interface DueCharges {
  readonly units: number | null;
  readonly moves: readonly {
    readonly from: number;
    readonly to: number;
    readonly day: CivilDate;
  }[];
}

/** The model: what each period is to be billed for, by its index. */
type Model = readonly DueCharges[];

const whole = (units: number | null): DueCharges => ({ units, moves: [] });

/** What a change adds: to the current period from its day on, to the next one from its first. */
function changed(before: Life, after: Life, model: Model, request: UnitsChangeRequest): Model {
  return model.map((charges, index) => {
    const [was, is] = [before.periods[index], after.periods[index]];
    if (is === undefined || was === undefined || index < before.current) return charges;
    const isWhole =
      before.subscription.status === "pending" ||
      (index > before.current && request.document === "amend");
    if (isWhole) return whole(is.billedUnits);
    const [from, to] = [was.billedUnits ?? 0, is.billedUnits ?? 0];
    if (from === to) return charges;
    const day = index === before.current ? (request.effectiveDate ?? is.start) : is.start;
    return { ...charges, moves: [...charges.moves, { from, to, day }] };
  });
}

/**
 * The next period, if its renewal invoice is issued again: by that alone, at the units at that
 * time.
 */
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

function amountOf(
  life: Life,
  index: number,
  { from, to, day }: DueCharges["moves"][number],
): Decimal {
  const period = life.periods[index];
  if (period === undefined) throw new Error(`no period ${index}`);
  return prorate(life.plan, life.subscription, {
    fromUnits: from,
    toUnits: to,
    period,
    effectiveDate: day,
  }).amount;
}

/** What the model says is billed for a period, as a list of texts in order. */
function chargesIn(life: Life, model: Model, index: number): readonly string[] {
  const { units, moves } = model[index] ?? whole(null);
  const amount = lineAmount(life.plan, { ...life.subscription, units: units ?? 0 });
  const plan = `plan ${formatDecimal(amount)}`;
  const rises = moves.map(
    (move) => `from ${move.day} ${formatDecimal(amountOf(life, index, move))}`,
  );
  return [plan, ...rises, ...(index === 0 ? ["charge"] : [])].sort();
}

/** The documents of a period, or its pending amounts, in the same form. */
function billedIn(life: Life, index: number): readonly string[] {
  const period = life.periods[index];
  if (period === undefined) return [];
  const isOf = (day: CivilDate) =>
    compareDates(period.start, day) <= 0 && compareDates(day, period.end) < 0;
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
      return [
        kind === "plan"
          ? `plan ${formatDecimal(amount)}`
          : `from ${of.start} ${formatDecimal(amount)}`,
      ];
    }),
  );
  const waiting = life.deferred.filter(
    ({ line, paperId }) => paperId === null && isOf(line.period.start),
  );
  const credits = life.credits.filter(
    ({ effectiveDate }, place) => isOf(effectiveDate) && !reversed?.credits.includes(place),
  );
  return [
    ...lines,
    ...waiting.map(({ line }) => `from ${line.period.start} ${formatDecimal(line.amount)}`),
    ...credits.map(
      ({ amount, effectiveDate }) => `from ${effectiveDate} ${formatDecimal(negate(amount))}`,
    ),
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
    ...lines.flatMap(({ period, amount }) =>
      period !== null && compareDates(day, period.start) <= 0 ? [amount] : [],
    ),
    ...credits.flatMap((one) =>
      compareDates(day, one.effectiveDate) <= 0 ? [negate(one.amount)] : [],
    ),
  ];
}

/**
 * A deferred amount that is not pending stands on the invoice that should bill it, unless that is
 * of an earlier period.
 */
function expectDeferredBilled({ deferred, papers, current, lost }: Life): void {
  for (const { line, paperId } of deferred) {
    const paper = papers.find(({ id }) => id === paperId);
    if (paper === undefined || paper.periodIndex < current || lost.some(({ id }) => id === paperId))
      continue;
    const isThere = paper.lines.some(
      ({ description, period }) =>
        description === line.description && period?.start === line.period.start,
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

/** One step of both; the step's name if it was accepted. */
function take(
  life: Life,
  model: Model,
  step: Step,
): { life: Life; model: Model; done: string | null } {
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
      const isIssuedAgain =
        after.subscription === life.subscription && after.papers.length > life.papers.length;
      const known = isIssuedAgain ? opened(after, restored(life, after, model)) : model;
      return {
        life: after,
        model: known,
        done: isIssuedAgain ? "go on" : `end ${step.request.when}`,
      };
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

/** Walks from a new subscription on; `visit` gets the state after each accepted step. */
function walk(
  start: Life,
  steps: readonly Step[],
  visit: (life: Life, model: Model, done: string, before: Life) => void,
): void {
  let life = pass(start, 0);
  let model: Model = life.periods.map(({ billedUnits }) => whole(billedUnits));
  for (const step of steps) {
    const before = life;
    const taken = take(life, model, step);
    life = taken.life;
    model = taken.model;
    if (taken.done !== null) visit(life, model, taken.done, before);
  }
}

describe("a restored subscription after any changes, ends and restorations", () => {
  it("bills no part of any period twice, and nothing that the model does not know", () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        walk(start, steps, (life, model, done) => {
          seen.set(done, (seen.get(done) ?? 0) + 1);
          for (const { index } of life.periods) {
            const [billed, expected] = [billedIn(life, index), chargesIn(life, model, index)];
            if (!isWithin(billed, expected))
              expect({ index, billed }).toEqual({ index, billed: expected });
          }
        });
      }),
      { numRuns: 750 },
    );
    for (const done of ["pass", "end now", "end period_end", "restore", "change"]) {
      expect([done, (seen.get(done) ?? 0) > 250]).toEqual([done, true]);
    }
    expect(seen.get("go on")).toBeGreaterThan(15);
  });

  it("has billed exactly what the model says of its current and next period", () => {
    let restorations = 0;
    let reissued = 0;
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        walk(start, steps, (life, model, done, before) => {
          const { status, cancelAtPeriodEnd } = life.subscription;
          if (done === "restore") {
            restorations += 1;
            if (life.papers.length > before.papers.length) reissued += 1;
            expect([status === "active" || status === "pending", cancelAtPeriodEnd]).toEqual([
              true,
              false,
            ]);
            expectDeferredBilled(life);
          }
          const runs = (status === "active" || status === "pending") && !cancelAtPeriodEnd;
          if (!runs || life.removed.length > 0) return;
          for (const index of [life.current, life.current + 1]) {
            if (life.periods[index] === undefined) continue;
            expect({ index, billed: billedIn(life, index) }).toEqual({
              index,
              billed: chargesIn(life, model, index),
            });
          }
        });
      }),
      { numRuns: 750 },
    );
    expect(restorations).toBeGreaterThan(250);
    expect(reissued).toBeGreaterThan(150);
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
          expect({ done, index, left: formatDecimal(left) }).toEqual({
            done,
            index,
            left: "0.0000",
          });
          const issued =
            life.papers.length - before.papers.length + life.credits.length - before.credits.length;
          const others = amountsFrom(before, period.start, (one) => !isRenewalOf(one, index));
          const kind =
            others.length === 0 ? "nothing" : issued === 0 ? "reversed before" : "reversed";
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        });
      }),
      { numRuns: 750 },
    );
    for (const kind of ["nothing", "reversed before", "reversed"]) {
      expect([kind, (seen.get(kind) ?? 0) > 25]).toEqual([kind, true]);
    }
  });

  it("gives back the previous subscription if nothing happened in between", () => {
    let restorations = 0;
    fc.assert(
      fc.property(someLife, someSteps, someEnd, (start, steps, last) => {
        walk(start, steps, (life) => {
          if (last.kind !== "end") return;
          const { status, cancelAtPeriodEnd } = life.subscription;
          if (
            status === "ended" ||
            status === "complete" ||
            cancelAtPeriodEnd ||
            life.removed.length > 0
          )
            return;
          const over = end(life, last.request, 99);
          const again = over && restore(over);
          if (!again) return;
          restorations += 1;
          expect(again.subscription).toEqual(life.subscription);
          expect(again.periods.map((period) => ({ ...period, billedSeparately: false }))).toEqual(
            life.periods.map((period, index) => ({
              ...period,
              billedSeparately: false,
              // A renewal invoice is issued again, at the current units.
              ...(index > life.current && period.billedUnits !== null
                ? billedFor(life.subscription.units, unitsSetBy(life.subscription))
                : {}),
            })),
          );
          for (const index of [life.current])
            expect(billedIn(again, index)).toEqual(billedIn(life, index));
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
          if (done.startsWith("end") && life.subscription.status === "ended")
            expect(restore(later)).toBeNull();
        });
      }),
    );
  });
});
