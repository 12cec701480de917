/**
 * The pace of deliveries: no pause in a process that has time, and longer ones while it has none.
 */
import { expect, test } from "vitest";
import { createDeliveryPace } from "../../../src/worker/activities/events/delivery-pace.ts";

function paced() {
  let [nowMs, busy] = [0, 0];
  const pauses: number[] = [];
  const pace = createDeliveryPace(
    () => busy,
    () => nowMs,
    async (ms) => void pauses.push(ms),
  );
  const windows = async (count: number, share: number): Promise<readonly number[]> => {
    pauses.length = 0;
    busy = share;
    for (let window = 0; window < count; window += 1) {
      nowMs += 25;
      await pace();
    }
    return [...pauses];
  };
  return { windows, pace, pauses };
}

test("a process that has time sends without a pause", async () => {
  const { windows } = paced();
  expect(await windows(20, 0.5)).toEqual([]);
});

test("pauses grow up to 100 ms while the process is busy, and end with its free time", async () => {
  const { windows } = paced();
  const growing = await windows(20, 0.9);
  expect(growing.slice(0, 3)).toEqual([1, 1.5, 2.25]);
  expect(growing.at(-1)).toBe(100);
  const shrinking = await windows(20, 0.2);
  expect(shrinking.length).toBeLessThan(15);
  expect(shrinking.toSorted((a, b) => b - a)).toEqual(shrinking);
});

test("within a window the pause stays as it is", async () => {
  const { windows, pace, pauses } = paced();
  await windows(1, 0.9);
  await pace();
  await pace();
  expect(pauses).toEqual([1, 1, 1]);
});
