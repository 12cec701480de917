/**
 * Calls without a key are started one at a time by the event loop, and connections alternate.
 */
import { setImmediate as nextEvents } from "node:timers/promises";
import { expect, test } from "vitest";
import { createKeylessQueue } from "../../../../src/transport/http/limits/keyless-queue.ts";

test("of many calls of one connection and one of another, the other is second", async () => {
  const enter = createKeylessQueue();
  const [greedy, prober] = [{}, {}];
  const started: string[] = [];
  for (const name of ["a", "b", "c"]) enter(greedy, () => started.push(name));
  enter(prober, () => started.push("probe"));
  expect(started).toEqual([]);
  const after: number[] = [];
  while (started.length < 4) {
    await nextEvents();
    after.push(started.length);
  }
  expect(started).toEqual(["a", "probe", "b", "c"]);
  // Never two in one run of the event loop.
  expect(after.every((count, index) => count - (after[index - 1] ?? 0) <= 1)).toBe(true);
});

test("the queue starts again after it was empty, and a call may enter another", async () => {
  const enter = createKeylessQueue();
  const connection = {};
  const started: number[] = [];
  for (const pass of [1, 2]) {
    enter(connection, () => {
      started.push(pass);
      enter(connection, () => started.push(pass * 10));
    });
    await expect.poll(() => started).toContain(pass * 10);
  }
  expect(started).toEqual([1, 10, 2, 20]);
});
