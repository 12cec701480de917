/** The schedule of attempts over 20 hours, the breaker, and the verdict on an answer. WEBHOOK-2. */
import { describe, expect, test } from "vitest";
import {
  breakerAfter,
  breakerSteps,
  defaultFirstPauseMs,
  evaluateAnswer,
  nextAttemptAfter,
  pauseAfter,
  wholeTimeMs,
} from "../../../src/domain/events/retry-schedule.ts";

const minuteMs = 60_000;
const first = defaultFirstPauseMs;

/**
 * When the attempts of a delivery are made, in milliseconds after the first: none after the whole
 * time.
 */
function schedule(random: () => number, tookMs = 0): number[] {
  const made: number[] = [];
  for (let at = 0; at < wholeTimeMs(first); at += tookMs + pauseAfter(made.length, first, random()))
    made.push(at);
  return made;
}

describe("attempts", () => {
  test("come after 0, 0.5, 2, 6.5, 20 and 60.5 minutes, then every four hours", () => {
    const minutes = [0, 0.5, 2, 6.5, 20, 60.5, 182, 422, 662, 902, 1142];
    expect(schedule(() => 0).map((at) => at / minuteMs)).toEqual(minutes);
  });

  test("are eleven within 20 hours, the last after at least 17, with any jitter", () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const always = [() => 0, () => 0.999_999].flatMap((chance) => [
      schedule(chance),
      schedule(chance, 15_000),
    ]);
    const walks = Array.from({ length: 2_000 }, (_, walk) => schedule(random, (walk % 16) * 1_000));
    for (const made of [...always, ...walks]) {
      expect(made).toHaveLength(11);
      expect(made.at(-1)).toBeGreaterThan(17 * 60 * minuteMs);
    }
  });

  test("come later if the endpoint requests it, four hours at most, and never sooner", () => {
    expect(pauseAfter(1, first, 0, 90_000)).toBe(90_000);
    expect(pauseAfter(3, first, 0, 90_000)).toBe(270_000);
    expect(pauseAfter(1, first, 0, 0)).toBe(first);
    expect(pauseAfter(1, first, 1, 86_400_000)).toBe(240 * minuteMs);
    expect(pauseAfter(2, first, 0, null)).toBe(90_000);
  });

  test("that cannot be signed have the pauses of other attempts, by the delivery's age", () => {
    for (const made of schedule(() => 0))
      expect(nextAttemptAfter(made, first, 0)).toBe(nextAfter(made));
    expect(nextAttemptAfter(-5, first, 0)).toBe(first);
    expect(nextAttemptAfter(0, first, 1)).toBe(27_000);
  });
});

function nextAfter(at: number): number {
  const made = schedule(() => 0);
  return pauseAfter(made.indexOf(at) + 1, first, 0);
}

describe("an endpoint's breaker", () => {
  test("opens after five failures for a minute, then twice as long, up to 15 minutes", () => {
    const minutes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50].map(
      (failures) => breakerAfter(failures, first) / minuteMs,
    );
    expect(minutes).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 15, 15, 15]);
    expect(breakerAfter(5, 5)).toBe(10);
  });

  test("has as many steps as there are different ones", () => {
    expect(breakerSteps(first).map((ms) => ms / minuteMs)).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 15]);
    expect(breakerSteps(1)).toEqual([0, 0, 0, 0, 2, 4, 8, 16, 30]);
  });
});

describe("an answer", () => {
  test.each([200, 201, 202, 204, 226, 299])("%i is delivered", (status) => {
    expect(evaluateAnswer(status, null)).toEqual({ kind: "delivered" });
  });

  test("410 wants nothing ever again, not even later", () => {
    expect(evaluateAnswer(410, 5)).toEqual({ kind: "gone", error: "410 Gone" });
  });

  test.each([
    199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 408, 409, 418, 429, 500, 503, 599,
  ])("%i is tried again", (status) => {
    const verdict = evaluateAnswer(status, 1_000);
    const isBusy = status === 429 || status === 503;
    const isRedirect = status >= 300 && status < 400;
    const suffix = isRedirect ? ", and redirects are not followed" : "";
    const error = `the endpoint answered ${status}${suffix}`;
    expect(verdict).toEqual({ kind: "failed", error, retryAfterMs: isBusy ? 1_000 : null });
  });
});
