/**
 * Whatever a person removes in the ledger between changes, ends and restorations: nothing is
 * credited for it, nothing else bills it, and no change stays unbilled. DOCUMENT-7, UNITS-7.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { isNextInvoiced, issuedAhead } from "../../src/domain/billing/issued-invoices.ts";
import { compareDates } from "../../src/domain/calendar/civil-date.ts";
import { daysInPeriod } from "../../src/domain/calendar/period.ts";
import { formatDecimal, negate, sum } from "../../src/domain/money/decimal.ts";
import { isAbove, prorateFrom } from "../../src/domain/subscriptions/change-units-proration.ts";
import { change, end, type Life, pass, restore, stateIn } from "./life.ts";
import { removeByHand } from "./life-documents.ts";
import { requestIn, type Step, someLife, someSteps } from "./life-steps.ts";

/** A step, and the invoice that a person removes after it, by its place among those that stand. */
type Handled = readonly [step: Step, removed: number | null];

const someHandled: fc.Arbitrary<readonly Handled[]> = someSteps.chain((steps) =>
  fc.tuple(
    ...steps.map((step) =>
      fc.tuple(fc.constant(step), fc.option(fc.nat(2), { freq: 2, nil: null })),
    ),
  ),
);

function take(life: Life, step: Step): Life | null {
  switch (step.kind) {
    case "pass":
      return pass(life, step.days);
    case "near": {
      const { renewalDate: end } = life.subscription;
      const left = compareDates(life.today, end) < 0 ? daysInPeriod({ start: life.today, end }) : 0;
      return pass(life, Math.max(0, left - step.days));
    }
    case "end":
      return end(life, step.request, 99);
    case "restore":
      return restore(life);
    case "change":
      return change(life, requestIn(life, step))?.life ?? null;
  }
}

/** The newest invoice but so many that stands. Null if there is none. */
function standing(life: Life, place: number): string | null {
  return life.papers.filter(({ isRemoved }) => !isRemoved).at(-1 - place)?.id ?? null;
}

function walk(
  start: Life,
  steps: readonly Handled[],
  visit: (before: Life, after: Life, step: Step) => void,
): void {
  let life = pass(start, 0);
  for (const [step, place] of steps) {
    const after = take(life, step);
    if (after !== null) {
      visit(life, after, step);
      life = after;
    }
    const removed = place === null ? null : standing(life, place);
    if (removed !== null) life = removeByHand(life, removed);
  }
}

/** What stands of the next period: lines of invoices less lines of credit notes. */
function leftOfNext({ papers, credits, periods, current }: Life): string {
  const from = periods[current + 1]?.start;
  if (from === undefined) return "0.0000";
  const lines = papers
    .filter(({ isRemoved }) => !isRemoved)
    .flatMap((paper) => paper.lines)
    .filter(({ period }) => period !== null && compareDates(from, period.start) <= 0);
  const credited = credits.filter(({ effectiveDate }) => compareDates(from, effectiveDate) <= 0);
  return formatDecimal(
    sum([...lines.map(({ amount }) => amount), ...credited.map(({ amount }) => negate(amount))]),
  );
}

it("an end takes back what stands of the next period, and nothing that a person removed", () => {
  let ends = 0;
  fc.assert(
    fc.property(someLife, someHandled, (start, steps) => {
      walk(start, steps, (before, after, step) => {
        const { status, cancelAtPeriodEnd } = after.subscription;
        const isOver = status === "ended" || cancelAtPeriodEnd;
        if (step.kind !== "end" || after === before || !isOver) return;
        expect(leftOfNext(after)).toBe("0.0000");
        if (before.papers.some(({ byHand }) => byHand)) ends += 1;
        const standing = before.papers.filter(({ isRemoved }) => !isRemoved).map(({ id }) => id);
        for (const { reversedInvoiceId } of after.credits.slice(before.credits.length))
          if (reversedInvoiceId !== undefined) expect(standing).toContain(reversedInvoiceId);
      });
    }),
    { numRuns: 500 },
  );
  expect(ends).toBeGreaterThan(150);
});

it("a restoration issues no renewal invoice for a period whose own a person removed", () => {
  let restorations = 0;
  fc.assert(
    fc.property(someLife, someHandled, (start, steps) => {
      walk(start, steps, (before, after, step) => {
        if (step.kind !== "restore") return;
        const index = before.current + 1;
        const isRenewal = ({ type, periodIndex }: Life["papers"][number]) =>
          type === "renewal" && periodIndex === index;
        if (!before.papers.some((paper) => isRenewal(paper) && paper.byHand)) return;
        restorations += 1;
        expect(after.papers.slice(before.papers.length).filter(isRenewal)).toEqual([]);
      });
    }),
    { numRuns: 750 },
  );
  expect(restorations).toBeGreaterThan(10);
});

it("a change bills the next period if its renewal invoice stands or a person removed it", () => {
  let changes = 0;
  fc.assert(
    fc.property(someLife, someHandled, (start, steps) => {
      walk(start, steps, (before, after, step) => {
        const state = stateIn(before);
        if (step.kind !== "change" || !isNextInvoiced(state)) return;
        const { units } = after.subscription;
        const next = after.periods[after.current + 1];
        if (next === undefined || next.billedUnits === null) return;
        if (issuedAhead(state) === null) changes += 1;
        const isUnbilled = isAbove(
          next,
          { ...state, subscription: before.subscription },
          { units },
        );
        if (!isUnbilled) return;
        const { amount } = prorateFrom(next.start, next, state, { units });
        expect(formatDecimal(amount)).toBe("0.0000");
      });
    }),
    { numRuns: 750 },
  );
  expect(changes).toBeGreaterThan(10);
});
