/**
 * The loop of the cleanup: what it deletes, when, and what stops it. The deletion itself is tested
 * with the store.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startCleanup } from "../../../src/worker/temporal/cleanup.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the cleanup deletes batches until one is not full, again at every interval", async () => {
  const sizes = [10, 10, 3, 0, 10, 1];
  const asked: number[] = [];
  const deleteExpired = async (atMost: number) => {
    asked.push(atMost);
    return sizes.shift() ?? 0;
  };
  const cleanup = startCleanup(deleteExpired, {
    everyMs: 1_000,
    batch: 10,
    onError: unexpected,
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toEqual([10, 10, 10]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(4);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(6);
  await cleanup.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveLength(6);
});

test("the cleanup logs a database that is down, and repeats at the next interval", async () => {
  const troubles: unknown[] = [];
  let calls = 0;
  const deleteExpired = async () => {
    calls += 1;
    if (calls === 1) throw new Error("gone");
    return 0;
  };
  const cleanup = startCleanup(deleteExpired, {
    everyMs: 1_000,
    onError: (error) => troubles.push(error),
  });
  await vi.advanceTimersByTimeAsync(999);
  expect([calls, troubles.length]).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(calls).toBe(2);
  await cleanup.stop();
});

test("the cleanup's stop waits for the running batch and begins no other", async () => {
  const batch = Promise.withResolvers<number>();
  let calls = 0;
  const deleteExpired = () => {
    calls += 1;
    return batch.promise;
  };
  const cleanup = startCleanup(deleteExpired, { batch: 5, onError: unexpected });
  let isStopped = false;
  const stopped = cleanup.stop().then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(0);
  expect(isStopped).toBe(false);
  batch.resolve(5);
  await stopped;
  expect(calls).toBe(1);
});

function unexpected(error: unknown): never {
  throw error;
}
