/** Waiting for conditions: tests never wait for time. */
import { setTimeout as wait } from "node:timers/promises";
import { allow } from "./slowness.ts";

/** The longest wait for a condition: a restart, a lease and a retry on a quiet machine. */
const patienceMs = allow(20_000);

/**
 * Most conditions hold within a second. After that the poll is rarer, because it takes processor
 * time from others.
 */
const [hasteMs, longMs] = [1_000, 5_000];
const [soonMs, laterMs, rarelyMs] = [25, 100, 250];

/**
 * Waits until the condition holds, polling often, or every so many milliseconds. Fails with `what`
 * at the time limit.
 */
export async function until<T>(
  what: string | (() => string),
  check: () => Promise<T | false | null | undefined>,
  everyMs?: number,
): Promise<T> {
  const began = performance.now();
  for (;;) {
    const found = await check();
    if (found) return found;
    const passedMs = performance.now() - began;
    if (passedMs > patienceMs)
      throw new Error(`waited in vain until ${typeof what === "string" ? what : what()}`);
    await wait(everyMs ?? pauseAfter(passedMs));
  }
}

function pauseAfter(passedMs: number): number {
  if (passedMs < hasteMs) return soonMs;
  return passedMs < longMs ? laterMs : rarelyMs;
}
