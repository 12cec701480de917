/**
 * A preview is what then happens: over any life, each operation previewed and performed gives the
 * same state, the same documents and the same refusals (PREVIEW-1, PREVIEW-3).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addDays, compareDates, daysBetween } from "../../src/domain/calendar/civil-date.ts";
import type { LineFacts } from "../../src/domain/explanation/facts.ts";
import { type NamedFact, namedFacts } from "../../src/domain/explanation/named-facts.ts";
import { sheetText, showSheet } from "../../src/domain/explanation/price-sheet.ts";
import type { BillingState } from "../../src/domain/model/billing-state.ts";
import type { InvoiceDraft, InvoiceLineDraft } from "../../src/domain/model/invoice.ts";
import { formatDecimal, formatShort } from "../../src/domain/money/decimal.ts";
import { previewEnd } from "../../src/domain/previews/end.ts";
import { previewRestoration, previewUnitsChange } from "../../src/domain/previews/operations.ts";
import { afterPosting, billDue, type Preview } from "../../src/domain/previews/preview.ts";
import { decideUpcoming } from "../../src/domain/previews/upcoming.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import { decideUnitsChange } from "../../src/domain/subscriptions/change-units.ts";
import { decideEnd } from "../../src/domain/subscriptions/end.ts";
import { decideRestoration } from "../../src/domain/subscriptions/restore.ts";
import {
  change,
  end,
  type Life,
  nextChangeId,
  nextIn,
  openIn,
  type Paper,
  pass,
  removedIn,
  restore,
  stateIn,
} from "./life.ts";
import { requestIn, type Step, someLife, someSteps } from "./life-steps.ts";

/** What names another document has another number in a preview. */
const unnumbered = (text: string) => text.replaceAll(/paper \d+|\(new\)/g, "document");

/** The facts by which an amount is reckoned and explained, without where they come from. */
const factsText = (facts: LineFacts | undefined) =>
  facts && [facts.r, ...namedFacts(facts).map(({ value }) => valueText(value))].join(" ");
function valueText(value: NamedFact["value"]): string {
  if (typeof value === "string") return value;
  return "tiers" in value ? sheetText(showSheet(value, "")) : formatShort(value);
}

/** A line in short. */
const lineText = ({ kind, amount, facts, description, period, proration }: InvoiceLineDraft) =>
  [
    ...[kind, formatDecimal(amount), unnumbered(description), period?.start, proration?.fromUnits],
    factsText(facts),
  ].join(" ");
const paperText = ({
  type,
  periodIndex,
  lines,
}: Pick<InvoiceDraft, "type" | "periodIndex" | "lines">) =>
  `${type} of ${periodIndex}: ${lines.map(lineText).join("; ")}`;

/** A state in short: everything that the store would write of it. */
function stateText({ subscription, period, nextPeriod, invoices, deferred }: BillingState) {
  const { unitChangeId: _, ...rest } = subscription;
  return {
    subscription: rest,
    period,
    nextPeriod,
    invoices: invoices.map(({ type, periodIndex }) => `${type} of ${periodIndex}`),
    deferred: deferred.map(({ id: _, ...line }) => line),
  };
}

/** What happened between two lives, or would by a preview. */
interface Happened {
  readonly state: ReturnType<typeof stateText>;
  readonly issued: readonly string[];
  readonly amended: readonly string[];
  readonly removed: readonly string[];
  readonly credited: readonly string[];
}

function happenedIn(before: Life, after: Life): Happened {
  const known = new Map(before.papers.map((paper) => [paper.id, paper]));
  const fresh = ({ id }: Paper) => !known.has(id);
  const changed = after.papers.filter(({ id, lines }) => (known.get(id)?.lines ?? lines) !== lines);
  return {
    state: stateText(stateIn(after)),
    issued: after.papers.filter(fresh).map(paperText),
    amended: changed.map((paper) => paperText(paper)).sort(),
    removed: after.papers
      .filter(({ id, isRemoved }) => isRemoved && known.get(id)?.isRemoved !== true)
      .map(paperText)
      .sort(),
    credited: after.credits.slice(before.credits.length).map(creditText),
  };
}

const creditText = ({ amount, facts, description, effectiveDate }: Life["credits"][number]) =>
  `${formatDecimal(amount)} ${unnumbered(description)} ${effectiveDate} ${factsText(facts)}`;

function happenedBy(before: Life, preview: Preview): Happened {
  const papers = new Map<string, Pick<Paper, "type" | "periodIndex" | "lines">>([
    ...before.papers.map((paper) => [paper.id, paper] as const),
    ...preview.issued.map(({ id, draft }) => [id, draft] as const),
  ]);
  for (const { invoiceId, planLine, added } of preview.amended) {
    const paper = papers.get(invoiceId);
    if (paper === undefined) throw new Error(`no paper ${invoiceId}`);
    const lines = paper.lines.map((line) => (line.kind === "plan" ? (planLine ?? line) : line));
    papers.set(invoiceId, { ...paper, lines: [...lines, ...added] });
  }
  const shown = (id: string) => paperText(papers.get(id) ?? expect.fail(`no paper ${id}`));
  const isStored = (id: string) => before.papers.some((paper) => paper.id === id);
  return {
    state: stateText(preview.state),
    issued: preview.issued.map(({ id }) => shown(id)),
    amended: preview.amended
      .flatMap(({ invoiceId: id }) => (isStored(id) ? [shown(id)] : []))
      .sort(),
    removed: preview.removed.map(({ invoiceId }) => shown(invoiceId)).sort(),
    credited: preview.creditNotes.flatMap(({ draft }) => draft.lines.map(creditText)),
  };
}

/** A result, or the refusal without the numbers of documents. */
function outcomeOf<T>(run: () => T): T | { readonly refused: readonly unknown[] } {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = unnumbered(error.message);
    return { refused: [error.code, message, error.param] };
  }
}

/** What is due is billed and in the ledger, as a draft. */
function dueOf(life: Life): Preview {
  const due = billDue(stateIn(life));
  return { ...due, state: afterPosting(due.state) };
}

/** A step as it happens after some days without any, and its preview before them. */
function both(late: Life, step: Step): readonly [happened: unknown, previewed: unknown, Life] {
  const life = pass(late, 0);
  const before = dueOf(late);
  const factsOf = (state: BillingState) => ({
    state,
    customerStatus: "active" as const,
    removed: removedIn(life, life.removed),
    next: nextIn(life, []),
  });
  switch (step.kind) {
    case "pass":
    case "near":
      return [happenedIn(late, life), happenedBy(late, before), life];
    case "change": {
      // With an id, which a preview lacks, it bills periods by the change as the change does.
      const request = { ...requestIn(life, step), changeId: nextChangeId(life) };
      const after = change(life, request)?.life;
      return [
        after
          ? happenedIn(late, after)
          : outcomeOf(() => decideUnitsChange(stateIn(life), request)),
        outcomeOf(() => happenedBy(late, previewUnitsChange(before, request))),
        after ?? life,
      ];
    }
    case "restore": {
      const after = restore(life);
      return [
        after
          ? happenedIn(late, after)
          : outcomeOf(() => decideRestoration(factsOf(stateIn(life)))),
        outcomeOf(() => happenedBy(late, previewRestoration(before, factsOf(before.state)))),
        after ?? life,
      ];
    }
    case "end": {
      const { request } = step;
      const after = end(life, request, Number.POSITIVE_INFINITY);
      const stored = { invoices: openIn(life), next: nextIn(life, []) };
      return [
        after
          ? happenedIn(late, after)
          : outcomeOf(() => decideEnd({ state: stateIn(life), ...stored }, request)),
        outcomeOf(() => happenedBy(late, previewEnd(before, endFactsOf(late), request))),
        end(life, request, step.removable) ?? life,
      ];
    }
  }
}

/** The facts of an end as they are stored before what is due is billed. */
function endFactsOf(late: Life): Parameters<typeof previewEnd>[1] {
  const renewal = late.papers.find(
    ({ type, periodIndex, isRemoved }) =>
      type === "renewal" && periodIndex === late.current + 1 && !isRemoved,
  );
  const deferred = late.deferred.filter(
    ({ paperId }) => paperId === null || paperId === renewal?.id,
  );
  const { current, periods } = pass(late, 0);
  return {
    invoices: openIn(late),
    next: nextIn({ ...late, current, periods }, []),
    deferred: deferred.map(({ line }) => line),
  };
}

describe("a preview", () => {
  it("has the state, documents and refusals of the operation, also if renewals are overdue", () => {
    const seen = new Map<string, number>();
    const count = (name: string) => seen.set(name, (seen.get(name) ?? 0) + 1);
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        let life = pass(start, 0);
        for (const step of steps) {
          if (step.kind === "pass" || step.kind === "near") {
            const { renewalDate } = life.subscription;
            const left = Math.max(0, daysBetween(life.today, renewalDate));
            const days = step.kind === "pass" ? step.days : Math.max(0, left - step.days);
            life = { ...life, today: addDays(life.today, days) };
          }
          const [happened, previewed, after] = both(life, step);
          expect(previewed).toEqual(happened);
          const isRefused = typeof happened === "object" && happened && "refused" in happened;
          count(`${step.kind} ${isRefused ? "refused" : "done"}`);
          if (!isRefused && (happened as Happened).removed.length > 1) count("removals");
          // Half of the days pass without any billing, so that the next operation finds it overdue.
          const isLate = step.kind === "pass" && step.days % 2 === 0;
          if (isLate && compareDates(life.subscription.renewalDate, life.today) <= 0)
            count("overdue");
          life = isLate ? life : after;
        }
      }),
      { numRuns: 500 },
    );
    for (const name of [
      "pass done",
      "change done",
      "change refused",
      "end done",
      "end refused",
      "restore done",
      "restore refused",
      "removals",
      "overdue",
    ])
      expect([name, (seen.get(name) ?? 0) > 50]).toEqual([name, true]);
  });

  it("has an upcoming invoice of the lines that the renewal then bills", () => {
    let upcomings = 0;
    fc.assert(
      fc.property(someLife, someSteps, (start, steps) => {
        let life = pass(start, 0);
        for (const step of steps) {
          const days = step.kind === "pass" ? step.days : 0;
          life = pass({ ...life, today: addDays(life.today, days) }, 0);
          const upcoming = decideUpcoming(stateIn(life));
          if (upcoming !== null) {
            upcomings += 1;
            const left = daysBetween(life.today, life.subscription.renewalDate);
            const after = pass(life, left);
            const known = new Set(life.papers.map(({ id }) => id));
            const billed = after.papers.filter(({ id }) => !known.has(id));
            const begins = after.current > life.current;
            expect(upcoming.date).toBe(life.subscription.renewalDate);
            expect(upcoming.period).toEqual(
              begins
                ? {
                    start: after.periods[after.current]?.start,
                    end: after.periods[after.current]?.end,
                  }
                : null,
            );
            const texts = (papers: readonly Pick<Paper, "lines">[]) =>
              papers.map(({ lines }) => lines.map(lineText));
            expect(texts(upcoming.invoices)).toEqual(texts(billed));
            const ahead = openIn(life).find(
              ({ type, periodIndex }) => type === "renewal" && periodIndex === life.current + 1,
            );
            expect(upcoming.ahead?.id ?? null).toBe(begins ? (ahead?.id ?? null) : null);
          }
          life = both(life, step)[2];
        }
      }),
      { numRuns: 250 },
    );
    expect(upcomings).toBeGreaterThan(250);
  });
});
