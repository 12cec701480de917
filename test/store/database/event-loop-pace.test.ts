/** Few reads continue in an iteration of the event loop, and organisations alternate. */
import { expect, test } from "vitest";
import type { Executor } from "../../../src/store/database/client.ts";
import { createEventLoopPace, pacedReads } from "../../../src/store/database/event-loop-pace.ts";

/** Iterations that the test runs. */
function manual(steps: number) {
  const deferred: (() => void)[] = [];
  const pace = createEventLoopPace((run) => deferred.push(run), steps);
  return { pace, deferred, runNext: () => deferred.shift()?.() };
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
