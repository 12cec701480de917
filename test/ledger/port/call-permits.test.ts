/** Permits within the budget of calls: their order, short and long waits, and deadlines. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  type CallPermits,
  createPermits,
  type WaitingCall,
} from "../../../src/ledger/port/call-permits.ts";
import type { CallBudget } from "../../../src/ledger/port/ledger.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Answer = Awaited<ReturnType<CallBudget["take"]>>;

/** A budget that answers by a function and records its calls. */
interface FakeBudget extends CallBudget {
  readonly asked: boolean[];
  readonly ended: unknown[];
}

function budgetOf(
  answer: (isBackground: boolean) => "granted" | (Answer & { readonly kind: "spent" }),
): FakeBudget {
  const asked: boolean[] = [];
  const ended: unknown[] = [];
  return {
    asked,
    ended,
    take: async (isBackground) => {
      asked.push(isBackground);
      const decided = answer(isBackground);
      return decided === "granted"
        ? { kind: "granted", end: async (left) => void ended.push(left) }
        : decided;
    },
  };
}

const minute = (waitMs: number) => ({ kind: "spent", scope: "minute", waitMs }) as const;
const ours = { kind: "rate_limited", scope: "minute", isOurs: true };

/** A call with ten seconds left. */
function aCall(
  changes: { readonly leftMs?: number; readonly isBackground?: boolean } = {},
): WaitingCall {
  const { leftMs = 10_000, isBackground = false } = changes;
  return { endMs: performance.now() + leftMs, isBackground };
}

/** Requests a permit and records the answer. */
function watch(permits: CallPermits, call: WaitingCall): { answer: unknown } {
  const watched: { answer: unknown } = { answer: null };
  void permits.take(call).then((answer) => (watched.answer = answer));
  return watched;
}

test("without a budget every call gets a permit", async () => {
  expect(await createPermits(undefined).take(aCall({ leftMs: 1 }))).toMatchObject({
    kind: "granted",
  });
});

test("a short wait is waited out, and the budget asked again when it is over", async () => {
  const freeAt = performance.now() + 2_000;
  const budget = budgetOf(() =>
    performance.now() < freeAt ? minute(freeAt - performance.now()) : "granted",
  );
  const watched = watch(createPermits(budget), aCall());
  await vi.advanceTimersByTimeAsync(1_999);
  expect(watched.answer).toBeNull();
  await vi.advanceTimersByTimeAsync(1);
  expect(watched.answer).toMatchObject({ kind: "granted" });
  expect(budget.asked).toHaveLength(2);
});

test("a long wait is reported at once, as ours", async () => {
  const budget = budgetOf(() => minute(20_000));
  expect(await createPermits(budget).take(aCall())).toEqual({ ...ours, retryAfterMs: 20_000 });
  expect(budget.asked).toHaveLength(1);
});

test("a call waits at most half of its time, and not after its deadline", async () => {
  const permits = createPermits(budgetOf(() => minute(600)));
  const patient = watch(permits, aCall({ leftMs: 2_000 }));
  expect(await permits.take(aCall({ leftMs: 1_000 }))).toMatchObject({
    ...ours,
    retryAfterMs: 1_600,
  });
  expect(patient.answer).toBeNull();
  await vi.advanceTimersByTimeAsync(600);
  expect(patient.answer).toMatchObject(ours);
  const late = await permits.take(aCall({ leftMs: 0 }));
  expect(late).toEqual({
    kind: "unavailable",
    outcome: "not_sent",
    cause: "the deadline had passed",
  });
});

test("begun calls go first, then interactive calls, each in their order", async () => {
  let free = 1;
  const order: string[] = [];
  const budget = budgetOf(() => (free-- > 0 ? "granted" : minute(100)));
  const permits = createPermits(budget);
  const begun = aCall({ isBackground: true });
  await permits.take(begun);
  await vi.advanceTimersByTimeAsync(0);
  const names = ["background 1", "background 2", "awaited 1", "awaited 2"];
  for (const name of names) {
    void permits
      .take(aCall({ isBackground: name.startsWith("background") }))
      .then(() => order.push(name));
  }
  void permits.take(begun).then(() => order.push("continuing"));
  await vi.advanceTimersByTimeAsync(50);
  expect(order).toEqual([]);
  // The first came first; what came while it was asked for is asked for at once.
  expect(budget.asked).toEqual([true, true, false]);
  free = 100;
  await vi.advanceTimersByTimeAsync(100);
  expect(order).toEqual(["continuing", "awaited 1", "awaited 2", "background 1", "background 2"]);
  // What is begun is no background any more: dropped half-way, its first request would be lost.
  expect(budget.asked.filter((isBackground) => isBackground)).toHaveLength(3 + 1);
});

test("later calls are asked to retry one after the other", async () => {
  const permits = createPermits(budgetOf(() => minute(3_000)));
  const calls = Array.from({ length: 4 }, () => permits.take(aCall({ isBackground: true })));
  const answers = await Promise.all(calls);
  expect(answers.map((answer) => "retryAfterMs" in answer && answer.retryAfterMs)).toEqual([
    3_000, 4_000, 5_000, 6_000,
  ]);
});

test("a waiting call retries once a call of its process ends", async () => {
  let running = 0;
  const budget = budgetOf(() => {
    if (running === 1) return { kind: "spent", scope: "concurrent", waitMs: 50 };
    running += 1;
    return "granted";
  });
  const permits = createPermits(budget);
  const first = await permits.take(aCall());
  const second = watch(permits, aCall());
  await vi.advanceTimersByTimeAsync(10);
  expect(second.answer).toBeNull();
  running = 0;
  const left = { minute: 58, day: null, appMinute: null };
  if (first.kind === "granted") await first.end(left);
  await vi.advanceTimersByTimeAsync(0);
  expect(second.answer).toMatchObject({ kind: "granted" });
  expect(budget.ended).toEqual([left]);
});

test("only the first in the queue asks the budget, however many wait", async () => {
  const budget = budgetOf(() => minute(1_000));
  const permits = createPermits(budget);
  for (let index = 0; index < 50; index += 1) void permits.take(aCall({ isBackground: true }));
  await vi.advanceTimersByTimeAsync(999);
  expect(budget.asked).toHaveLength(1);
});

test("a budget that fails allows no call, and the next call asks it again", async () => {
  let isAway = true;
  const permits = createPermits({
    take: async () => {
      if (isAway) throw new Error("the database is away");
      return { kind: "granted", end: async () => undefined };
    },
  });
  const notSent = { kind: "unavailable", outcome: "not_sent" };
  const answers = await Promise.all([
    permits.take(aCall()),
    permits.take(aCall({ isBackground: true })),
  ]);
  expect(answers).toMatchObject([notSent, notSent]);
  isAway = false;
  expect(await permits.take(aCall())).toMatchObject({ kind: "granted" });
});
