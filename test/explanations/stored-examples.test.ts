/**
 * What was stored once is explained for ever as it was then, and verified. Also what a person reads
 * of it. MONEY-9.
 */
import { describe, expect, it } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import { storedFacts } from "../../src/domain/explanation/facts.ts";
import {
  describeExplanation,
  describeFact,
  describeSource,
} from "../../src/domain/explanation/for-person.ts";
import { sheetName, sheetText, showSheet } from "../../src/domain/explanation/price-sheet.ts";
import { rules } from "../../src/domain/explanation/rules.ts";
import { hash } from "./explained.ts";
import { examples, explainedToday, factsIn } from "./stored.ts";

/** The most bytes of a line's stored facts, without the lines that a reversal names. */
const maxFactBytes = 250;

describe.each(examples)("the stored example $name", ({ stored, explanation }) => {
  it("is explained as it was", () => {
    expect(explainedToday(stored)).toEqual(explanation);
  });

  it("is verified", async () => {
    const verdict = await verify(JSON.stringify(explanation));
    expect(verdict).toEqual({ verified: true, lines: stored.lines.length });
  });

  it("is stored again in the same bytes, which are few", () => {
    for (const { facts: text } of stored.lines) {
      const again = storedFacts(factsIn(stored, text), (sheet) =>
        sheetName(sheet, stored.subscriptionId, hash),
      );
      expect(again.text).toBe(text);
      expect(text.length).toBeLessThanOrEqual(maxFactBytes);
      if (again.sheet === null) continue;
      const { name, sheet } = again.sheet;
      expect(stored.sheets[name]).toBe(sheetText(showSheet(sheet, stored.subscriptionId)));
    }
  });

  it("is not available if its amount is another one", () => {
    const lines = stored.lines.map((line) => ({ ...line, amount: "0.0100" }));
    expect(explainedToday({ ...stored, lines })).toMatchObject({
      available: false,
      reason: "does_not_follow",
    });
  });
});

it("every fact and its source are said in words", () => {
  const facts = examples.flatMap(({ explanation }) =>
    explanation.lines.flatMap((line) => line.facts),
  );
  for (const fact of facts) {
    expect(describeFact(fact)).toMatch(/^[A-Z][a-z ]+(?: \d+)?$/);
    expect(describeSource(fact.source)).toMatch(/^[a-z ]+(?: \d+)?$/);
  }
});

it("every version of a rule has a stored example", () => {
  const known = examples.flatMap(({ explanation }) => explanation.lines.map(({ rule }) => rule));
  expect([...new Set(known)].toSorted()).toEqual(Object.keys(rules).toSorted());
});

it.each([
  [
    "proration-1-credit",
    { name: "Team", effective_date: "2026-03-17T00:00:00.000Z" },
    [
      "Credit note CN-0007: 5.81 NZD",
      "1. 5.81 NZD: Team, 10 to 11 units from 2026-03-17",
      "   of the period 2026-03-01 to 2026-04-01, 15 of 31 days are left",
      "   10 units: 10 × 10 = 100",
      "   11 units: 11 × 8 = 88",
      "   (88 − 100) × 15 ÷ 31 = -180/31, rounded to -5.81: a credit of 5.81",
    ],
  ],
  [
    "usage-1-late",
    { name: "API calls", period: { start: "2026-02-01", end: "2026-03-01" } },
    [
      "Invoice INV-0042: 8.01 EUR",
      "1. 8.01 EUR: API calls, usage of 200 in 7 events, 2026-02-01 to 2026-03-01",
      "   on bill 3, after 900 on earlier bills",
      "   1100 in all: 1000 × 0.02 + 100 × 0.01 + 5 = 26",
      "   899.5 billed before: 899.5 × 0.02 = 17.99",
      "   26 − 17.99 = 8.01, rounded to 8.01",
    ],
  ],
  [
    "plan-1-amended",
    { name: "Team", period: { start: "2026-04-01", end: "2026-05-01" } },
    [
      "Invoice INV-0042: 89.04 EUR",
      "1. 89.04 EUR: Team, a whole period of 12 units, 2026-04-01 to 2026-05-01",
      "   12 × 8 = 96, less 7.25 % = 89.04, rounded to 89.04",
      "   until 2026-03-20 09:30:00 UTC it was 10 units: 92.75",
    ],
  ],
  [
    "usage-1-credit",
    { name: "API calls", effective_date: "2026-02-01T00:00:00.000Z" },
    [
      "Credit note CN-0007: 9.00 EUR",
      "1. 9.00 EUR: API calls, usage of 1 in 1 event, from 2026-02-01",
      "   on bill 3, after 10 on earlier bills",
      "   11 in all: 11 × 1 = 11",
      "   10 billed before: 10 × 2 = 20",
      "   11 − 20 = -9, rounded to -9.00: a credit of 9.00",
    ],
  ],
])("a person reads how %s came about", (name, heading, lines) => {
  const example = examples.find((one) => one.name === name);
  expect(example && describeExplanation(example.explanation, [heading])).toEqual(lines);
});
