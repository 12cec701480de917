/**
 * Whatever the ledger answers to amendments, nothing is lost and nothing is charged twice: every
 * amount here is of whole days and units.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Billed, billedByOf, billedFor } from "../../src/domain/billing/billed-by.ts";
import type { Plan } from "../../src/domain/catalogue/plan.ts";
import { lineAmount } from "../../src/domain/catalogue/pricing/index.ts";
import type { BillingState } from "../../src/domain/model/billing-state.ts";
import type { InvoiceLineDraft } from "../../src/domain/model/invoice.ts";
import {
  add,
  type Decimal,
  decimalOf,
  formatDecimal,
  subtract,
  sum,
  ZERO,
} from "../../src/domain/money/decimal.ts";
import { billClosedAmendment } from "../../src/domain/subscriptions/abandoned-amendment.ts";
import {
  decideUnitsChange,
  type UnitsDecision,
} from "../../src/domain/subscriptions/change-units.ts";
import { planOf, tiersOf } from "../domain/catalogue/catalogue.ts";
import {
  afterChange,
  changeTo,
  issued,
  refusalOf,
  stateOf,
} from "../domain/subscriptions/billing-state-builder.ts";

const price = fc.integer({ min: 0, max: 20 }).map(String);

/**
 * Plans whose prices rise and fall from band to band, in whole units of the currency, so that
 * nothing is ever rounded.
 */
const somePlan: fc.Arbitrary<Plan> = fc
  .record({
    type: fc.constantFrom("per_unit", "volume", "tiered"),
    prices: fc.tuple(price, price, price),
  })
  .map(({ type, prices: [one, two, three] }) =>
    type === "per_unit"
      ? planOf("per_unit", { price: decimalOf(Number(one)) })
      : planOf(type, { tiers: tiersOf([8, one], [14, two], [null, three]) }),
  );

const outcome = fc.constantFrom("done", "refused", "closed");
const someStep = fc.record({
  units: fc.nat(25),
  document: fc.constantFrom("amend", "separate"),
  prorate: fc.boolean(),
  outcome,
});
const someState = fc
  .record({ plan: somePlan, units: fc.integer({ min: 1, max: 20 }) })
  .map(({ plan, units }) => stateOf({ plan, units, today: "2026-06-20", renewalInvoice: {} }));

type Step = typeof someStep extends fc.Arbitrary<infer T> ? T : never;
type Outcome = Step["outcome"];

const requestOf = ({ period }: BillingState, { units, document, prorate }: Omit<Step, "outcome">) =>
  changeTo(units, { document, ...(prorate && { from: period.start }) });

const amounts = (lines: readonly { readonly amount: Decimal }[]) =>
  sum(lines.map(({ amount }) => amount));

/**
 * A subscription inside its invoice window, its renewal invoice in the ledger, and all that its
 * other documents bill.
 */
interface Run {
  state: BillingState;
  billed: Decimal;
  inLedger: { readonly units: number; readonly amount: Decimal };
  ours: { readonly units: number; readonly amount: Decimal };
  /** What the renewal invoice bills in the ledger, while it is re-priced here alone. */
  from: Billed | null;
  /** The new total of each change of units, by its id. */
  readonly changes: Map<string, number>;
  added: readonly InvoiceLineDraft[];
  isWaiting: boolean;
  /** Whether the ledger still has the invoice once it closes an amendment. */
  readonly stands: boolean;
}

function begin(state: BillingState, stands = true): Run {
  const { units } = state.subscription;
  const plan = { units, amount: lineAmount(state.plan, state.subscription) };
  const nothing = { billed: ZERO, from: null, added: [], isWaiting: false };
  return { ...nothing, state, inLedger: plan, ours: plan, changes: new Map(), stands };
}

function take(run: Run, step: Step): void {
  const { state } = run;
  const request = requestOf(state, step);
  if (refusalOf(state, request)[0] !== "accepted") return;
  const changeId = `change-${run.changes.size}`;
  const decision = decideUnitsChange(state, { ...request, changeId });
  run.changes.set(changeId, decision.units);
  const { invoice, creditNote, amended } = decision;
  const lines = invoice?.lines ?? [];
  run.billed = subtract(add(run.billed, amounts(lines)), amounts(creditNote?.lines ?? []));
  if (amended !== null) amend(run, amended);
  run.state = afterChange(state, decision);
  if (amended !== null) answer(run, step.outcome);
}

function amend(run: Run, { planLine, added }: NonNullable<UnitsDecision["amended"]>): void {
  if (planLine?.units == null) throw new Error("a renewal invoice's plan line has units");
  if (planLine.units !== run.ours.units) run.from ??= run.state.nextPeriod;
  run.ours = { units: planLine.units, amount: planLine.amount };
  run.added = [...run.added, ...added];
  run.isWaiting = true;
}

/**
 * The ledger's answer: `refused` for now, to be repeated, or `closed` for good, because the invoice
 * is paid.
 */
function answer(run: Run, outcome: Outcome): void {
  if (!run.isWaiting || outcome === "refused") return;
  if (outcome === "done") {
    run.inLedger = run.ours;
    run.billed = add(run.billed, amounts(run.added));
  } else close(run);
  Object.assign(run, { from: null, added: [], isWaiting: false });
}

function close(run: Run): void {
  const { state, from, ours, added, stands } = run;
  const { nextPeriod } = state;
  if (nextPeriod === null) throw new Error("there is no next period");
  const repricing = from && {
    fromUnits: from.billedUnits ?? 0,
    billedBy: from.billedBy,
    toUnits: ours.units,
  };
  const closed = {
    period: nextPeriod,
    added: added.length === 0 ? null : amounts(added),
    isUsage: false,
    repricing,
    stands,
  };
  const { period, invoice, creditNote } = billClosedAmendment(state, closed);
  run.billed = subtract(add(run.billed, invoice?.subtotal ?? ZERO), creditNote?.subtotal ?? ZERO);
  run.ours = run.inLedger;
  const invoices = state.invoices.map((one) =>
    one.type === "renewal" ? { ...one, status: "paid" as const } : one,
  );
  run.state = { ...state, nextPeriod: period, invoices };
}

/**
 * The amount that both periods should be billed by their billed units, in addition to what the
 * current one had before.
 */
function expectedAmount(
  { plan, subscription, period, nextPeriod }: BillingState,
  before: number,
): string {
  const value = (units: number | null | undefined) =>
    lineAmount(plan, { ...subscription, units: units ?? 0 });
  const current = subtract(value(period.billedUnits), value(before));
  return formatDecimal(add(current, value(nextPeriod?.billedUnits)));
}

describe("changes of units while the ledger accepts, defers or closes amendments", () => {
  it("bill each unit of both periods once, whatever comes of them in the end", () => {
    let closings = 0;
    fc.assert(
      fc.property(
        someState,
        fc.array(someStep, { maxLength: 8 }),
        outcome,
        (start, steps, last) => {
          const run = begin(start);
          for (const step of steps) take(run, step);
          if (last === "closed" && run.isWaiting) closings += 1;
          answer(run, last === "refused" ? "done" : last);
          expect(formatDecimal(add(run.billed, run.inLedger.amount))).toBe(
            expectedAmount(run.state, start.subscription.units),
          );
          const { units } = run.state.subscription;
          expect(run.state.nextPeriod?.billedUnits).toBeGreaterThanOrEqual(
            Math.min(units, run.ours.units),
          );
        },
      ),
      { numRuns: 1500 },
    );
    expect(closings).toBeGreaterThan(25);
  });

  it("leave each period with the change whose units it is billed for, or with the creation", () => {
    const seen = new Map<string, number>();
    const order = fc.tuple(someState, fc.array(someStep, { maxLength: 8 }), fc.boolean());
    fc.assert(
      fc.property(order, ([start, steps, stands]) => {
        const { units } = start.subscription;
        const created = billedFor(units, "creation");
        const [period, next] = [start.period, start.nextPeriod];
        if (next === null) throw new Error("there is no next period");
        const begun = {
          ...start,
          period: { ...period, ...created },
          nextPeriod: { ...next, ...created },
        };
        const run = begin(begun, stands);
        for (const step of steps) take(run, step);
        for (const state of [run.state.period, run.state.nextPeriod]) {
          const by = (state && billedByOf(state)) ?? "nothing";
          expect([by, state?.billedUnits]).toEqual([
            by,
            run.changes.get(by) ?? (by === "creation" ? units : null),
          ]);
          const kind = by.replace(/-.*/, "");
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
      }),
      { numRuns: 1000 },
    );
    expect([...seen.keys()].toSorted()).toEqual(["change", "creation"]);
  });

  it("increased in vain bill the lines of a separate change, and leave the same periods", () => {
    let compared = 0;
    fc.assert(
      fc.property(someState, someStep, (state, step) => {
        const [amend, separate] = (["amend", "separate"] as const).map((document) =>
          requestOf(state, { ...step, document }),
        );
        if (amend === undefined || separate === undefined) throw new Error("two requests");
        if (step.units < state.subscription.units) return;
        if (
          refusalOf(state, amend)[0] !== "accepted" ||
          refusalOf(state, separate)[0] !== "accepted"
        )
          return;
        compared += 1;
        const tried = decideUnitsChange(state, amend);
        const after = afterChange(state, tried);
        const { nextPeriod } = after;
        if (nextPeriod === null || tried.amended === null)
          throw new Error("an amendment of the next period's invoice");
        const added = tried.amended.added;
        const closed = billClosedAmendment(after, {
          period: nextPeriod,
          added: added.length === 0 ? null : amounts(added),
          isUsage: false,
          repricing: { fromUnits: state.subscription.units, toUnits: step.units },
          stands: true,
        });
        const expected = decideUnitsChange(state, separate);
        expect([after.period, closed.period]).toEqual(expected.periods);
        expect([...added, ...(closed.invoice?.lines ?? [])]).toEqual(expected.invoice?.lines ?? []);
        const { lines: _, ...head } = closed.invoice ?? { lines: [] };
        expect(expected.invoice ?? {}).toMatchObject(head);
        const credits = [tried.creditNote, closed.creditNote].flatMap((note) => note?.lines ?? []);
        expect(credits).toEqual(expected.creditNote?.lines ?? []);
      }),
      { numRuns: 1000 },
    );
    expect(compared).toBeGreaterThan(250);
  });

  it("credit what the invoice bills too much once a decrease is closed", () => {
    const run = begin(stateOf({ today: "2026-06-20", invoices: [issued()], renewalInvoice: {} }));
    take(run, { units: 6, document: "amend", prorate: false, outcome: "closed" });
    expect(formatDecimal(run.billed)).toBe("-40.0000");
    expect(run.state.nextPeriod?.billedUnits).toBe(6);
    take(run, { units: 10, document: "separate", prorate: true, outcome: "done" });
    expect(formatDecimal(run.billed)).toBe("0.0000");
    expect(run.state.nextPeriod?.billedUnits).toBe(10);
  });
});
