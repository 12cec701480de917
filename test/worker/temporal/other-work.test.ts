/** Deliveries, and posting batches that stand, are no other work of a worker. */
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
  { activity: "postBatch", during: false, after: true },
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

test("a standing batch is other work once it is woken", () => {
  const work = createOtherWork(() => 0);
  expect(work.isThere()).toBe(false);
  work.woken();
  expect(work.isThere()).toBe(true);
});
