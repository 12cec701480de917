/** Reads continue one at a time by the event loop, and organisations alternate. */
import { expect, test } from "vitest";
import type { Executor } from "../../../src/store/database/client.ts";
import { createEventLoopPace, pacedReads } from "../../../src/store/database/event-loop-pace.ts";

/** Iterations that the test runs. */
function manual() {
  const deferred: (() => void)[] = [];
  const pace = createEventLoopPace((run) => deferred.push(run));
  return { pace, deferred, runNext: () => deferred.shift()?.() };
}

test("of many answers of one organisation and one of another, the other's is second", async () => {
  const { pace, deferred, runNext } = manual();
  const executor = { query: async () => "answer" } as unknown as Executor;
  const continued: string[] = [];
  const reads = ["a", "a", "a", "b"].map(async (organisationId) => {
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
  expect(continued).toEqual(["a", "a", "b", "a"]);
  // Never two in one iteration.
  expect(counts).toEqual([1, 2, 3, 4, 4]);
});

test("an answer that comes alone continues at once", () => {
  const { pace, runNext } = manual();
  expect(pace.next("a")).toBeNull();
  runNext();
  expect(pace.next("a")).toBeNull();
});
