/**
 * A preview bills overdue usage in memory as the store bills it: the same documents, and the same
 * usage left for the next bill. The upcoming invoice has the lines that billing day by day issues
 * (PREVIEW-3, PREVIEW-5).
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type DueDecision, decideDue, decideDueBefore } from "../../src/domain/billing/renewal.ts";
import { addDays, daysBetween } from "../../src/domain/calendar/civil-date.ts";
import type { OpenUsage } from "../../src/domain/model/usage.ts";
import { formatDecimal } from "../../src/domain/money/decimal.ts";
import { billDue } from "../../src/domain/previews/preview.ts";
import { decideUpcoming } from "../../src/domain/previews/upcoming.ts";
import { beginLife, openOf, pass, type UsedLife } from "./used-life.ts";
import { someLife, someReport, someSteps } from "./used-life-steps.ts";

const usageText = ({ bill, period, setupMode, meter, quantity, before, priced }: OpenUsage) =>
  [
    `${bill} ${period.index} ${meter.id}${setupMode ? " in Setup Mode" : ""}:`,
    ...[quantity, before, priced].map(formatDecimal),
  ].join(" ");

it("billing in memory leaves the usage that billing in the store leaves", () => {
  let overdue = 0;
  fc.assert(
    fc.property(
      someLife,
      someSteps,
      fc.constantFrom(20, 45, 130),
      fc.array(someReport, { maxLength: 5 }),
      (order, steps, days, reports) => {
        const life = steps.reduce((now, step) => step(now), beginLife(order));
        const late: UsedLife = {
          ...life,
          state: { ...life.state, today: addDays(life.state.today, days) },
        };
        const used = reports.reduce((now, report) => report(now), late);
        const after = pass(used, 0, decideDueBefore);
        const { state, issued, creditNotes } = billDue({ ...used.state, usage: openOf(used) });
        expect(state.usage?.map(usageText).toSorted()).toEqual(
          openOf(after).map(usageText).toSorted(),
        );
        const { subscription, period, nextPeriod, usageBills } = after.state;
        expect(state).toMatchObject({ subscription, period, nextPeriod, usageBills });
        const billed = after.billed.slice(used.billed.length).map(({ amount }) => amount);
        const amounts = [...issued, ...creditNotes].flatMap(({ draft }) =>
          draft.lines.map(({ amount }) => formatDecimal(amount)),
        );
        for (const amount of billed) {
          const text = formatDecimal(amount).replace("-", "");
          if (/[1-9]/.test(text)) expect(amounts).toContain(text);
        }
        if (issued.length > 1) overdue += 1;
      },
    ),
    { numRuns: 500 },
  );
  expect(overdue).toBeGreaterThan(50);
});

const linesOf = (due: DueDecision) => [
  ...due.invoices.flatMap(({ draft }) => draft.lines),
  ...(due.joined?.amendment.added ?? []),
];
const lineText = ({ kind, description, amount }: ReturnType<typeof linesOf>[number]) =>
  `${kind} ${formatDecimal(amount)}: ${description}`;

it("the upcoming invoice has the lines that billing on each day until the renewal issues", () => {
  let withUsage = 0;
  fc.assert(
    fc.property(someLife, someSteps, (order, steps) => {
      const life = pass(
        steps.reduce((now, step) => step(now), beginLife(order)),
        0,
      );
      const { today, subscription } = life.state;
      const upcoming = decideUpcoming({ ...life.state, usage: openOf(life) });
      if (upcoming === null) return;
      const billed: ReturnType<typeof linesOf>[number][] = [];
      let now = life;
      for (let day = daysBetween(today, subscription.renewalDate); day > 0; day -= 1) {
        now = pass(now, 1, (state) => {
          const due = decideDue(state);
          billed.push(...(due === null ? [] : linesOf(due)));
          return due;
        });
      }
      // What is due on the same day of the next window is billed with the period after.
      const lines = upcoming.invoices.flatMap((invoice) => invoice.lines);
      expect(lines.map(lineText).toSorted()).toEqual(billed.map(lineText).toSorted());
      if (billed.some(({ kind }) => kind === "usage")) withUsage += 1;
    }),
    { numRuns: 500 },
  );
  expect(withUsage).toBeGreaterThan(50);
});
