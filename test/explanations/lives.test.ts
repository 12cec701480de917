/**
 * Over the random life of a subscription all documents explain themselves, and what they come to is
 * what their derivations give, each rounded once. MONEY-9.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import type { DocumentObject } from "../../src/domain/explanation/named-facts.ts";
import type { Explanation, ShownLine } from "../../src/domain/explanation/shown.ts";
import { formatDecimal, negate, parseDecimal, sum } from "../../src/domain/money/decimal.ts";
import { type Life, pass } from "../properties/life.ts";
import { someLife, someSteps } from "../properties/life-steps.ts";
import { beginLife, type UsedLife } from "../properties/used-life.ts";
import * as used from "../properties/used-life-steps.ts";
import { type DraftedLine, explained, stepped } from "./explained.ts";
import { askTwin, isPythonHere } from "./twins.ts";

interface Issued {
  readonly object: DocumentObject;
  readonly lines: readonly DraftedLine[];
}

const signed = (object: DocumentObject) => (object === "invoice" ? sum : negated);
const negated: typeof sum = (amounts) => negate(sum(amounts));

/** What the documents charge, less what they credit. */
function balanceOf(documents: readonly Issued[]): string {
  const sums = documents.map(({ object, lines }) =>
    signed(object)(lines.map(({ amount }) => amount)),
  );
  return formatDecimal(sum(sums));
}

/** The same by the results of their derivations. */
function resultsOf(explanations: readonly Explanation[]): string {
  const sums = explanations.map(({ object, lines }) =>
    signed(object)(lines.map(({ result }) => parseDecimal(result))),
  );
  return formatDecimal(sum(sums));
}

/** How often a derivation rounds. A reversal adds up what was rounded. */
const roundings = ({ steps }: ShownLine) => steps.filter(({ op }) => op === "round").length;
const isReversal = ({ rule }: ShownLine) => rule.startsWith("reversal");

/** Holds it of a life's documents. Returns their explanations as they are sent. */
async function expectProved(
  currency: string,
  issued: readonly Issued[],
): Promise<readonly string[]> {
  const documents = issued.filter(({ lines }) => lines.length > 0);
  const explanations = documents.map(({ object, lines }) => explained(object, currency, lines));
  expect(resultsOf(explanations)).toBe(balanceOf(documents));
  for (const line of explanations.flatMap(({ lines }) => lines))
    expect([line.rule, roundings(line)]).toEqual([line.rule, isReversal(line) ? 0 : 1]);
  const texts = explanations.map((explanation) => JSON.stringify(explanation));
  for (const text of texts) expect(await verify(text)).toMatchObject({ verified: true });
  return texts;
}

async function expectTwinAgrees(texts: readonly string[]): Promise<void> {
  if (!isPythonHere("the twin over random lives")) return;
  const answers = await askTwin(texts);
  expect(answers.filter((answer) => !answer.startsWith("verified"))).toEqual([]);
}

it("the documents of a thousand lives of changes, ends and restorations are proved", async () => {
  const texts: string[] = [];
  await fc.assert(
    fc.asyncProperty(someLife, someSteps, async (start, steps) => {
      const { plan, papers, credits } = steps.reduce<Life>(stepped, pass(start, 0));
      const issued: readonly Issued[] = [
        ...papers.map(({ lines }) => ({ object: "invoice" as const, lines })),
        ...credits.map((credit) => ({ object: "credit_note" as const, lines: [credit] })),
      ];
      texts.push(...(await expectProved(plan.currency, issued)));
    }),
    { numRuns: 500 },
  );
  expect(texts.length).toBeGreaterThan(1_000);
  await expectTwinAgrees(texts);
});

it("the documents of lives with usage, also late, are proved", async () => {
  const texts: string[] = [];
  await fc.assert(
    fc.asyncProperty(used.someLife, used.someSteps, async (order, steps) => {
      const life = steps.reduce<UsedLife>((before, step) => step(before), beginLife(order));
      texts.push(...(await expectProved(life.state.plan.currency, life.issued)));
    }),
    { numRuns: 250 },
  );
  expect(texts.length).toBeGreaterThan(200);
  await expectTwinAgrees(texts);
});

it("a proration of a life names the change that set the units from which it starts", () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(someLife, someSteps, (start, steps) => {
      const { papers, credits, changes } = steps.reduce<Life>(stepped, pass(start, 0));
      const totals = new Map([...changes, ["creation", start.subscription.units]]);
      for (const { facts } of [...papers.flatMap(({ lines }) => lines), ...credits]) {
        if (facts?.r !== "proration/1") continue;
        const { b = "nothing", f, c = "" } = facts;
        expect([b, totals.get(b)]).toEqual([b, f]);
        if (b !== "creation") expect(Number(b.slice(7))).toBeLessThan(Number(c.slice(7)));
        const kind = b.replace(/-.*/, "");
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    }),
    { numRuns: 500 },
  );
  for (const kind of ["creation", "change"])
    expect([kind, (seen.get(kind) ?? 0) > 50]).toEqual([kind, true]);
});
