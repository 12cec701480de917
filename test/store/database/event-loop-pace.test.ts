/** Few reads continue in an iteration of the event loop, and organisations alternate. */
import { expect, test } from "vitest";
import type { Executor } from "../../../src/store/database/client.ts";
import {
  createEventLoopPace,
  type EventLoopPace,
  pacedReads,
} from "../../../src/store/database/event-loop-pace.ts";

/** Iterations that the test runs. */
function manual(steps: number, mostOfOrganisation = steps) {
  const deferred: (() => void)[] = [];
  const clock = { nowMs: 0 };
  const pace = createEventLoopPace(
    { defer: (run) => deferred.push(run), nowMs: () => clock.nowMs },
    { steps, mostOfOrganisation, sharedMs: 1_000 },
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

test("fewer of an organisation start while another has steps, and for a second afterwards", () => {
  const { pace, clock, deferred, runNext } = manual(4, 2);
  const runAll = () => {
    while (deferred.length > 0) runNext();
  };
  expect(startedAtOnce(pace, "a")).toBe(4);
  runAll();
  expect(startedAtOnce(pace, "b")).toBe(2);
  // The other's steps start at once although this one's wait.
  expect(startedAtOnce(pace, "a")).toBe(2);
  expect(startedAtOnce(pace, "c")).toBe(0);
  runAll();
  clock.nowMs = 999;
  expect(startedAtOnce(pace, "c")).toBe(2);
  runAll();
  clock.nowMs = 1_000;
  pace.next("c");
  runAll();
  expect(startedAtOnce(pace, "c")).toBe(4);
});

test("all waiting steps start, each organisation's in order", async () => {
  const { pace, deferred, runNext } = manual(4, 2);
  const started: string[] = [];
  const steps = ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "c1", "a5"].map(async (step) => {
    await pace.next(step.charAt(0));
    started.push(step);
  });
  const iterations: string[][] = [];
  const iterate = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    iterations.push(started.splice(0));
  };
  await iterate();
  while (deferred.length > 0) {
    runNext();
    await iterate();
  }
  await Promise.all(steps);
  expect(iterations.map((one) => one.join(" "))).toEqual(["a1 a2 a3 a4", "b1 c1 a5 b2", "b3", ""]);
});
