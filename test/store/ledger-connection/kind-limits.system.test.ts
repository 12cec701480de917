/** The call budget obeys the limits that a kind of ledger declares (LEDGER-8). */
import { expect } from "vitest";
import type { CallLimits, LedgerBudget } from "../../../src/store/ledger-connection/call-budget.ts";
import { type BudgetFixture, budgetTest as test } from "./budget-fixture.ts";

async function budgetOf(
  budgets: BudgetFixture,
  limits: CallLimits,
): Promise<{ readonly budget: LedgerBudget; readonly organisationId: string }> {
  const organisationId = await budgets.organisation();
  return { budget: budgets.budget(organisationId, 60_000, limits), organisationId };
}

/** The outcomes of calls that are started without waiting for each other, in order. */
async function startCalls(budget: LedgerBudget, count: number): Promise<readonly string[]> {
  const outcomes: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const permit = await budget.take(false);
    outcomes.push(permit.kind === "granted" ? "granted" : permit.scope);
  }
  return outcomes;
}

async function callOnce(budget: LedgerBudget): Promise<string> {
  const permit = await budget.take(false);
  if (permit.kind !== "granted") return permit.scope;
  await permit.end(null);
  return "granted";
}

test("a kind's concurrent calls are granted at once, and no more", async ({ budgets }) => {
  const { budget } = await budgetOf(budgets, { minute: 120, day: null, concurrent: 7 });
  const granted = Array.from({ length: 7 }, () => "granted");
  expect(await startCalls(budget, 8)).toEqual([...granted, "concurrent"]);
});

test("a kind's calls a minute are spread from their half on", async ({ budgets }) => {
  const few = await budgetOf(budgets, { minute: 4, day: null, concurrent: 20 });
  expect(await startCalls(few.budget, 4)).toContain("minute");
  const many = await budgetOf(budgets, { minute: 400, day: null, concurrent: 200 });
  expect(new Set(await startCalls(many.budget, 100))).toEqual(new Set(["granted"]));
});

test("a kind's calls a day are counted from the first call for 24 hours", async ({ budgets }) => {
  const { budget, organisationId } = await budgetOf(budgets, {
    minute: 400,
    day: 3,
    concurrent: 20,
  });
  for (let index = 0; index < 3; index += 1) expect(await callOnce(budget)).toBe("granted");
  expect(await callOnce(budget)).toBe("day");
  await budgets.pass(organisationId, 23 * 3_600);
  expect(await callOnce(budget)).toBe("day");
  await budgets.pass(organisationId, 3_601);
  expect(await callOnce(budget)).toBe("granted");
});
