/** Deliveries, and posting batches while they linger, are no other work of a worker. */
import { expect, test } from "vitest";
import { createOtherWork } from "../../../src/worker/temporal/other-work.ts";

/** Starts an activity of this type. The returned function ends it. */
function start(work: ReturnType<typeof createOtherWork>, activityType: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  type Context = Parameters<typeof work.interceptor>[0];
  const { inbound } = work.interceptor({ info: { activityType } } as Context);
  const done = inbound?.execute?.({ args: [], headers: {} }, () => promise);
  return async () => {
    resolve();
    await done;
  };
}

test.each([
  { activity: "deliverDue", during: false, after: false },
  { activity: "postBatch", during: true, after: true },
  { activity: "billOrganisation", during: true, after: true },
])("$activity is other work while it runs: $during, and at its end: $after", async (each) => {
  let nowMs = 0;
  const work = createOtherWork(() => nowMs);
  const end = start(work, each.activity);
  nowMs += 60_000;
  expect(work.isThere()).toBe(each.during);
  await end();
  expect(work.isThere()).toBe(each.after);
  nowMs += 60_000;
  expect(work.isThere()).toBe(false);
});

test("a posting batch is other work before and after it lingers, and not meanwhile", async () => {
  let nowMs = 0;
  const work = createOtherWork(() => nowMs);
  const end = start(work, "postBatch");
  const { promise: wakeUp, resolve: wake } = Promise.withResolvers<void>();
  nowMs += 60_000;
  expect(work.isThere()).toBe(true);
  const lingered = work.whileLingering(() => wakeUp);
  // More work may follow at once.
  expect(work.isThere()).toBe(true);
  nowMs += 60_000;
  expect(work.isThere()).toBe(false);
  wake();
  await lingered;
  nowMs += 60_000;
  expect(work.isThere()).toBe(true);
  await end();
  nowMs += 60_000;
  expect(work.isThere()).toBe(false);
});

test("a wait that fails leaves its batch counted", async () => {
  let nowMs = 0;
  const work = createOtherWork(() => nowMs);
  const end = start(work, "postBatch");
  await expect(work.whileLingering(() => Promise.reject(new Error("lost")))).rejects.toThrow(
    "lost",
  );
  nowMs += 60_000;
  expect(work.isThere()).toBe(true);
  await end();
  nowMs += 60_000;
  expect(work.isThere()).toBe(false);
});
