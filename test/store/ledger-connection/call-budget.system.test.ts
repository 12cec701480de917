/** The call budget in the database, shared by processes that may die and clocks that may move. */
import { describe, expect } from "vitest";
import type { CallPermit, LedgerBudget } from "../../../src/store/ledger-connection/call-budget.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import {
  type BudgetFixture,
  budgetFixture,
  kill,
  maxWithin,
  budgetTest as test,
} from "./budget-fixture.ts";

/** Returns the numbers from 0 to below `count`. */
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

type Granted = CallPermit & { readonly kind: "granted" };

async function granted(budget: LedgerBudget, isBackground = false): Promise<Granted> {
  const permit = await budget.take(isBackground);
  if (permit.kind !== "granted") throw new Error(`not granted: ${JSON.stringify(permit)}`);
  return permit;
}

async function spent(
  budget: LedgerBudget,
  isBackground = false,
): Promise<CallPermit & { readonly kind: "spent" }> {
  const permit = await budget.take(isBackground);
  if (permit.kind !== "spent") throw new Error("granted");
  return permit;
}

/**
 * Returns the answer to a call right after another one. If the machine stalled in between, the call
 * is granted and the next one is requested.
 */
async function spentAtOnce(budget: LedgerBudget): Promise<CallPermit & { readonly kind: "spent" }> {
  for (const _ of upTo(5)) {
    const permit = await budget.take(false);
    if (permit.kind === "spent") return permit;
    await permit.end(null);
  }
  throw new Error("granted again and again");
}

/** Takes and returns one permit. */
async function call(
  budget: LedgerBudget,
  left: { minute: number | null; day: number | null } | null = null,
) {
  await (await granted(budget)).end(left);
}

/**
 * Makes calls one after the other for so many seconds of passed time. Returns the longest wait, the
 * calls of the last minute, and their least number without the time that this machine took.
 */
async function callFor(
  budgets: BudgetFixture,
  organisationId: string,
  seconds: number,
  isBackground: boolean,
) {
  const budget = budgets.budget(organisationId);
  let lastMinuteAt = performance.now();
  let passed = 0;
  let longest = 0;
  while (passed < seconds) {
    if (passed < seconds - 62) lastMinuteAt = performance.now();
    const permit = await budget.take(isBackground);
    if (permit.kind === "granted") {
      await permit.end(null);
    } else {
      await budgets.pass(organisationId, permit.waitMs / 1_000);
      passed += permit.waitMs / 1_000;
      longest = Math.max(longest, permit.waitMs);
    }
  }
  const calls = await budgets.calls(organisationId);
  const last = calls.at(-1)?.granted ?? 0;
  const lateSeconds = (performance.now() - lastMinuteAt) / 1_000;
  // About one a second.
  const leastOf = (count: number) => Math.ceil(count - 1.1 * lateSeconds);
  return { longest, lastMinute: calls.filter((one) => one.granted > last - 60).length, leastOf };
}

test("no sixty seconds have more than 60 calls and no moment more than 5", async ({ budgets }) => {
  const organisationId = await budgets.organisation();
  const settings = { CALLERS: "6", LONGEST_CALL_MS: "60" };
  const callers = await Promise.all(
    upTo(3).map(() => budgets.startCaller(organisationId, settings)),
  );
  const budget = budgets.budget(organisationId);
  // About three minutes, each step after all free permits were taken: most to the next free one,
  // some shorter and some longer.
  for (let index = 0; index < 240; index += 1) {
    const waitMs = await until("no more is free", async () => {
      const permit = await budget.take(false);
      if (permit.kind === "spent") return permit.scope === "minute" && permit.waitMs;
      await permit.end(null);
      return false;
    });
    const seconds = index % 30 === 0 ? 4 : Math.min(waitMs / 1_000, (1 + (index % 7)) / 3);
    await budgets.pass(organisationId, seconds);
  }
  // Killed with running calls, which are never returned.
  await Promise.all(callers.map((caller) => kill(caller, budgets.pool)));
  const calls = await budgets.calls(organisationId);
  expect(calls.length).toBeGreaterThan(100);
  expect(maxWithin(calls, 60)).toBeGreaterThan(55);
  expect(maxWithin(calls, 60)).toBeLessThanOrEqual(60);
  expect(Math.max(...calls.map(({ atOnce }) => atOnce))).toBeLessThanOrEqual(5);
});

describe("concurrent calls", () => {
  test("are 5 at most, of which background work takes 4", async ({ budgets }) => {
    const budget = budgets.budget(await budgets.organisation());
    const permits = [];
    for (const _ of upTo(4)) permits.push(await granted(budget, true));
    expect(await spent(budget, true)).toEqual({ kind: "spent", scope: "concurrent", waitMs: 50 });
    permits.push(await granted(budget));
    expect(await spent(budget)).toMatchObject({ scope: "concurrent" });
    await permits[0]?.end(null);
    await granted(budget);
  });

  test("that are returned twice free one permit", async ({ budgets }) => {
    const budget = budgets.budget(await budgets.organisation());
    const first = await granted(budget);
    for (const _ of upTo(4)) await granted(budget);
    await first.end(null);
    await first.end(null);
    await granted(budget);
    expect(await spent(budget)).toMatchObject({ scope: "concurrent" });
  });

  test("of a killed process count until their lease expires, and then for a minute", async ({
    budgets,
  }) => {
    const organisationId = await budgets.organisation();
    const caller = await budgets.startCaller(organisationId, {
      CALLERS: "10",
      // None of them ends while this test reads.
      LONGEST_CALL_MS: "2000000000",
      LEASE_MS: "600000",
    });
    const budget = budgets.budget(organisationId);
    await until(
      "five are on their way",
      async () => (await budgets.calls(organisationId)).length === 5,
    );
    await kill(caller, budgets.pool);
    expect(await spent(budget)).toMatchObject({ scope: "concurrent" });
    await budgets.pass(organisationId, 500);
    expect(await spent(budget)).toMatchObject({ scope: "concurrent" });
    await budgets.pass(organisationId, 101);
    await budgets.fill(organisationId, []);
    for (const _ of upTo(5)) await granted(budget);
  });

  test("of one organisation do not count for another", async ({ budgets }) => {
    const [one, other] = [
      budgets.budget(await budgets.organisation()),
      budgets.budget(await budgets.organisation()),
    ];
    for (const _ of upTo(5)) await granted(one);
    await granted(other);
  });
});

describe("the calls of a minute", () => {
  test("are half granted at once, and the rest spread over the minute", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    const began = performance.now();
    for (const _ of upTo(31)) await call(budget);
    // 29 are left for the 60 seconds until the first of these is free again.
    const { scope, waitMs } = await spentAtOnce(budget);
    const tookMs = performance.now() - began;
    expect(scope).toBe("minute");
    expect(waitMs).toBeGreaterThan((60_000 - tookMs) / 29 - tookMs - 10);
    expect(waitMs).toBeLessThan(60_100 / 29 + 10 + tookMs / 20);
  });

  test("are spread evenly, and no caller waits longer than a few seconds", async ({ budgets }) => {
    const { longest, lastMinute, leastOf } = await callFor(
      budgets,
      await budgets.organisation(),
      200,
      false,
    );
    expect(longest).toBeLessThan(2_100);
    expect(lastMinute).toBeGreaterThanOrEqual(leastOf(59));
  });

  test("for background work leave a reserve of two, and are spread as evenly", async ({
    budgets,
  }) => {
    const organisationId = await budgets.organisation();
    const { longest, lastMinute, leastOf } = await callFor(budgets, organisationId, 200, true);
    expect(longest).toBeLessThan(2_300);
    expect(lastMinute).toBeLessThanOrEqual(58);
    expect(lastMinute).toBeGreaterThanOrEqual(leastOf(57));
    await budgets.fill(
      organisationId,
      // The last is long enough ago for one more, and it takes seconds until the first is free.
      upTo(58).map((index) => 16 + index / 2),
    );
    const budget = budgets.budget(organisationId);
    expect(await spent(budget, true)).toMatchObject({ scope: "minute" });
    await call(budget);
    await budgets.pass(organisationId, 15.7);
    await call(budget);
  });

  test("leave a caller waiting two seconds at most, under any background work", async ({
    budgets,
  }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    const waits: number[] = [];
    let nextCallerMs = 2_000;
    for (let passedMs = 0; passedMs < 150_000; ) {
      const isCaller = passedMs >= nextCallerMs;
      const permit = await budget.take(!isCaller);
      if (permit.kind === "granted") {
        await permit.end(null);
        if (!isCaller) continue;
        waits.push(passedMs - nextCallerMs);
        nextCallerMs += 7_300;
      } else {
        const waitMs = isCaller
          ? permit.waitMs
          : Math.min(permit.waitMs, Math.max(1, nextCallerMs - passedMs));
        await budgets.pass(organisationId, waitMs / 1_000);
        passedMs += waitMs;
      }
    }
    expect(waits).toHaveLength(20 + 1);
    expect(Math.max(...waits)).toBeLessThan(2_100);
  });

  test("count until a minute after their end, however long they take", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId, 600_000);
    const slow = await granted(budget);
    await budgets.fill(
      organisationId,
      // The last is long enough ago for one more, and it takes seconds until the first is free.
      upTo(58).map((index) => 12 + index * 0.65),
    );
    await call(budget);
    expect(await spent(budget)).toMatchObject({ scope: "minute" });
    await budgets.pass(organisationId, 300);
    await slow.end(null);
    await budgets.fill(
      organisationId,
      upTo(60).map((index) => 0.5 + index * 0.8),
    );
    const { waitMs } = await spent(budget);
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThan(12_500);
  });
});

describe("the limit in the ledger's headers", () => {
  test("is used if it is more than 60", async ({ budgets }) => {
    const budget = budgets.budget(await budgets.organisation());
    await call(budget, { minute: 599, day: null });
    for (const _ of upTo(290)) await call(budget);
    await call(budget);
  });

  test("is not counted above 1,000, until it is less", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    await call(budget, { minute: 59_999, day: null });
    for (const _ of upTo(100)) await call(budget, { minute: 50_000, day: null });
    const rows = await tables(budgets.pool).ledgerBudget.findMany({
      where: { organisationId },
      select: { calls: true },
    });
    expect(rows).toEqual([{ calls: [] }]);
    // The connection leads to another tenant now.
    for (const index of upTo(31)) await call(budget, { minute: 59 - index, day: null });
    expect(await spentAtOnce(budget)).toMatchObject({ scope: "minute" });
  });

  test("is used if others use the ledger too, until it rises again", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    await call(budget, { minute: 1, day: null });
    const { scope, waitMs } = await spent(budget);
    expect(scope).toBe("minute");
    expect(waitMs).toBeGreaterThan(20_000);
    await budgets.pass(organisationId, waitMs / 1_000);
    await call(budget, { minute: 58, day: null });
    for (const _ of upTo(20)) await call(budget);
  });

  test("is lowered if the ledger lowered it", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    await call(budget, { minute: 599, day: null });
    for (const index of upTo(30)) await call(budget, { minute: 58 - index, day: null });
    expect(await spentAtOnce(budget)).toMatchObject({ scope: "minute" });
    // The ledger's window begins again before ours, which is no higher limit.
    await budgets.pass(organisationId, 50);
    await call(budget, { minute: 59, day: null });
    const { ledgerBudget } = tables(budgets.pool);
    expect(await ledgerBudget.findMany({ where: { organisationId } })).toMatchObject([
      { minuteLimit: 60 },
    ]);
  });

  test("of the day is reserved for callers at its end, and then checked hourly", async ({
    budgets,
  }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    await call(budget, { minute: null, day: 52 });
    await (await granted(budget, true)).end(null);
    await (await granted(budget, true)).end({ minute: null, day: 50 });
    const { scope, waitMs } = await spent(budget, true);
    expect(scope).toBe("day");
    expect(waitMs / 1_000).toBeGreaterThan(3_590);
    await call(budget, { minute: null, day: 1 });
    await granted(budget);
    expect(await spent(budget)).toMatchObject({ scope: "day" });
    await budgets.pass(organisationId, 3_601);
    await call(budget, { minute: null, day: 0 });
    expect(await spent(budget)).toMatchObject({ scope: "day" });
    await budgets.pass(organisationId, 3_601);
    await call(budget, { minute: null, day: 4_999 });
    await granted(budget, true);
  });

  test("of the day never rises by an outdated answer", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    await call(budget, { minute: null, day: 3 });
    const [first, second, third] = [
      await granted(budget),
      await granted(budget),
      await granted(budget),
    ];
    await third.end({ minute: null, day: 0 });
    await first.end({ minute: null, day: 2 });
    await second.end({ minute: null, day: 1 });
    expect(await spent(budget)).toMatchObject({ scope: "day" });
  });
});

describe("a clock that is set back", () => {
  test("delays no call, and every call still counts", async ({ budgets }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId);
    // One that is free again long before the others.
    await budgets.fill(organisationId, [...upTo(59).map((index) => 0.3 + index / 10), 30]);
    const before = await spent(budget);
    await budgets.pass(organisationId, -3_600);
    const after = await spent(budget);
    expect(Math.abs(after.waitMs - before.waitMs)).toBeLessThan(5_000);
    await budgets.pass(organisationId, after.waitMs / 1_000);
    await call(budget);
    expect(await spent(budget)).toMatchObject({ scope: "minute" });
  });

  test("extends neither the lease of a killed process nor the hour of a spent day", async ({
    budgets,
  }) => {
    const organisationId = await budgets.organisation();
    const budget = budgets.budget(organisationId, 60_000);
    await call(budget, { minute: null, day: 0 });
    await budgets.pass(organisationId, -7_200);
    expect(await spent(budget)).toMatchObject({ scope: "day" });
    await budgets.pass(organisationId, 3_601);
    for (const _ of upTo(5)) await granted(budget);
    await budgets.pass(organisationId, -7_200);
    expect(await spent(budget)).toMatchObject({ scope: "concurrent" });
    await budgets.pass(organisationId, 61);
    await granted(budget);
  });
});

test("a permit that cannot be returned without the database fails no call", async () => {
  const own = await budgetFixture();
  const permit = await granted(own.budget(await own.organisation()));
  await own.stop();
  await permit.end(null);
});
