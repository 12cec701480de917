/** Few reads continue in an iteration of the event loop, and organisations alternate. */
import { expect, test } from "vitest";
import type { Executor } from "../../../src/store/database/client.ts";
import {
  createEventLoopPace,
  type EventLoopPace,
  pacedReads,
} from "../../../src/store/database/event-loop-pace.ts";

/** Iterations that the test runs. */
function manual(alone: number, shared = alone) {
  const deferred: (() => void)[] = [];
  const clock = { nowMs: 0 };
  const pace = createEventLoopPace(
    { defer: (run) => deferred.push(run), nowMs: () => clock.nowMs },
    { alone, shared, sharedMs: 1_000 },
  );
  return { pace, clock, deferred, runNext: () => deferred.shift()?.() };
}

/** Returns how many of an organisation's steps start at once. */
function startedAtOnce(pace: EventLoopPace, organisationId: string): number {
  return [1, 2, 3, 4, 5, 6].filter(() => pace.next(organisationId) === null).length;
}

test.each([
  { steps: 1, order: ["a", "a", "b", "a", "a"], counts: [1, 2, 3, 4, 5, 5] },
  { steps: 2, order: ["a", "a", "a", "b", "a"], counts: [2, 4, 5, 5] },
])("with $steps in an iteration, another organisation's answer is in the next one", async ({
  steps,
  order,
  counts: expected,
}) => {
  const { pace, deferred, runNext } = manual(steps);
  const executor = { query: async () => "answer" } as unknown as Executor;
  const continued: string[] = [];
  const reads = ["a", "a", "a", "a", "b"].map(async (organisationId) => {
    expect(await pacedReads(executor, pace, organisationId).query("SELECT 1")).toBe("answer");
    continued.push(organisationId);
  });
  await new Promise((resolve) => setImmediate(resolve));
  const counts = [continued.length];
  while (deferred.length > 0) {
    runNext();
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(continued.length);
  }
  await Promise.all(reads);
  expect(continued).toEqual(order);
  expect(counts).toEqual(expected);
});

test("an answer that comes alone continues at once", () => {
  const { pace, runNext } = manual(1);
  expect(pace.next("a")).toBeNull();
  runNext();
  expect(pace.next("a")).toBeNull();
});

test("fewer start while another organisation has steps, and for a second afterwards", () => {
  const { pace, clock, deferred, runNext } = manual(4, 2);
  const runAll = () => {
    while (deferred.length > 0) runNext();
  };
  expect(startedAtOnce(pace, "a")).toBe(4);
  runAll();
  pace.next("b");
  runAll();
  expect(startedAtOnce(pace, "a")).toBe(2);
  runAll();
  clock.nowMs = 999;
  pace.next("a");
  runAll();
  expect(startedAtOnce(pace, "a")).toBe(2);
  runAll();
  clock.nowMs = 1_000;
  pace.next("a");
  runAll();
  expect(startedAtOnce(pace, "a")).toBe(4);
});
