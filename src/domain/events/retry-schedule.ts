/**
 * When a webhook that was not taken is sent again, and when an endpoint is left alone for a while. Pure: chance comes in as a number from 0
 * up to 1. All times are multiples of the pause after a first attempt. Spec: Webhooks, Delivery rules 3.
 */

/** The pause after a first attempt, unless a process is told another one. */
export const defaultFirstPauseMs = 30_000;

/** Each pause is so many times the one before. */
const growth = 3;

/** The longest pause, in first pauses: four hours. */
const longest = 480;

/** The time in which attempts are made, in first pauses: 20 hours. */
const whole = 2_400;

/**
 * The share by which a pause may be shorter, so that what failed together does not come again
 * together.
 */
const jitter = 0.1;

/** Failures in a row that open an endpoint's breaker. */
export const failuresToOpen = 5;

/** For how long it opens at first and at most, in first pauses: a minute, a quarter of an hour. */
const [firstOpening, longestOpening] = [2, 30];

/** The longest pause between two attempts, in milliseconds. */
export function longestPauseMs(firstPauseMs: number): number {
  return longest * firstPauseMs;
}

/** For how long attempts go on after the first one was due, in milliseconds. */
export function wholeTimeMs(firstPauseMs: number): number {
  return whole * firstPauseMs;
}

/**
 * The pause in milliseconds after so many attempts, the first one included: attempts come after 0, 0.5, 2, 6.5, 20 and 60 minutes and then
 * every four hours, a little earlier by chance. A longer one that the endpoint asked for (`Retry-After`) is kept to, up to the longest.
 */
export function pauseAfter(
  attempts: number,
  firstPauseMs: number,
  random: number,
  askedMs: number | null = null,
): number {
  const planned = shorten(firstPauseMs * growth ** (attempts - 1), firstPauseMs, random);
  return Math.min(Math.max(planned, askedMs ?? 0), longestPauseMs(firstPauseMs));
}

/**
 * The pause in milliseconds of a delivery that began so long ago and cannot be signed: as far as
 * its next attempt would be if all before had been made, so that what waits for a worker's key is
 * claimed ever more rarely.
 */
export function nextAttemptAfter(ageMs: number, firstPauseMs: number, random: number): number {
  return shorten(firstPauseMs + (growth - 1) * Math.max(ageMs, 0), firstPauseMs, random);
}

function shorten(pauseMs: number, firstPauseMs: number, random: number): number {
  return Math.round(Math.min(pauseMs, longestPauseMs(firstPauseMs)) * (1 - jitter * random));
}

/** For how many milliseconds an endpoint is left alone after so many failures in a row; 0: not at all. */
export function breakerAfter(failures: number, firstPauseMs: number): number {
  if (failures < failuresToOpen) return 0;
  return Math.min(firstOpening * 2 ** (failures - failuresToOpen), longestOpening) * firstPauseMs;
}

/** `breakerAfter` of 1, 2, 3 … failures: further ones are as the last. */
export function breakerSteps(firstPauseMs: number): readonly number[] {
  const steps: number[] = [];
  for (;;) {
    steps.push(breakerAfter(steps.length + 1, firstPauseMs));
    if (steps.at(-1) === longestOpening * firstPauseMs) return steps;
  }
}

/** What an answer, or the lack of one, means for its delivery. */
export type AttemptVerdict =
  | { readonly kind: "delivered" }
  /** The endpoint wants nothing ever again. */
  | { readonly kind: "gone"; readonly error: string }
  | { readonly kind: "failed"; readonly error: string; readonly askedMs: number | null };

/** The statuses with which a server that is too busy says when to come again. */
const busyStatuses: readonly number[] = [429, 503];

/**
 * Judges an answer by its status: any 2xx is delivered, `410 Gone` ends it, all else, redirects too, is tried again. `askedMs` is the pause
 * that it asked for, which counts with 429 and 503.
 */
export function evaluateAnswer(status: number, askedMs: number | null): AttemptVerdict {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  if (status === 410) return { kind: "gone", error: "410 Gone" };
  const isRedirect = status >= 300 && status < 400;
  const error = `the endpoint answered ${status}${isRedirect ? ", and redirects are not followed" : ""}`;
  return { kind: "failed", error, askedMs: busyStatuses.includes(status) ? askedMs : null };
}
