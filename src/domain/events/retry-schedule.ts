/**
 * When a failed webhook delivery is retried, and for how long an endpoint's circuit breaker opens.
 * Pure: randomness comes in as a number from 0 up to 1. All times are multiples of the pause after
 * a first attempt (WEBHOOK-2, WEBHOOK-5).
 */

/** The default pause after a first attempt, in milliseconds. */
export const defaultFirstPauseMs = 30_000;

/** The factor by which each pause exceeds the previous one. */
const growth = 3;

/** The longest pause, in first pauses: four hours. */
const longest = 480;

/** The time during which attempts are made, in first pauses: 20 hours. */
const whole = 2_400;

/**
 * The largest share by which a pause is shortened, so that deliveries that failed together are not
 * retried together.
 */
const jitter = 0.1;

/** The consecutive failures that open an endpoint's circuit breaker. */
export const failuresToOpen = 5;

/** The first and the longest opening of a breaker, in first pauses: one minute and 15 minutes. */
const [firstOpening, longestOpening] = [2, 30];

/** Returns the longest pause between two attempts, in milliseconds. */
export function maxPauseMs(firstPauseMs: number): number {
  return longest * firstPauseMs;
}

/** Returns how long attempts go on after the first one was due, in milliseconds. */
export function wholeTimeMs(firstPauseMs: number): number {
  return whole * firstPauseMs;
}

/**
 * Returns the pause in milliseconds after a number of attempts, including the first. Attempts come
 * after 0, 0.5, 2, 6.5, 20 and 60 minutes, then every four hours, each a little earlier at random.
 * A longer `Retry-After` of the endpoint is respected, up to the longest pause (WEBHOOK-2,
 * WEBHOOK-6).
 */
export function pauseAfter(
  attempts: number,
  firstPauseMs: number,
  random: number,
  retryAfterMs: number | null = null,
): number {
  const planned = shorten(firstPauseMs * growth ** (attempts - 1), firstPauseMs, random);
  return Math.min(Math.max(planned, retryAfterMs ?? 0), maxPauseMs(firstPauseMs));
}

/**
 * Returns the pause in milliseconds of a delivery of this age that cannot be signed. It is the
 * pause to its next attempt if all earlier ones had been made. A delivery that needs a missing
 * encryption key is therefore claimed ever more rarely.
 */
export function nextAttemptAfter(ageMs: number, firstPauseMs: number, random: number): number {
  return shorten(firstPauseMs + (growth - 1) * Math.max(ageMs, 0), firstPauseMs, random);
}

function shorten(pauseMs: number, firstPauseMs: number, random: number): number {
  return Math.round(Math.min(pauseMs, maxPauseMs(firstPauseMs)) * (1 - jitter * random));
}

/**
 * Returns how many milliseconds the breaker opens after this many consecutive failures; 0 if it
 * stays closed.
 */
export function breakerAfter(failures: number, firstPauseMs: number): number {
  if (failures < failuresToOpen) return 0;
  return Math.min(firstOpening * 2 ** (failures - failuresToOpen), longestOpening) * firstPauseMs;
}

/** Returns `breakerAfter` of 1, 2, 3 … failures. Further failures have the last value. */
export function breakerSteps(firstPauseMs: number): readonly number[] {
  const steps: number[] = [];
  for (;;) {
    steps.push(breakerAfter(steps.length + 1, firstPauseMs));
    if (steps.at(-1) === longestOpening * firstPauseMs) return steps;
  }
}

/** The outcome of an answer, or of its absence, for its delivery. */
export type AttemptVerdict =
  | { readonly kind: "delivered" }
  /** The endpoint wants no more deliveries (WEBHOOK-6). */
  | { readonly kind: "gone"; readonly error: string }
  | { readonly kind: "failed"; readonly error: string; readonly retryAfterMs: number | null };

/** The statuses of a busy server, whose `Retry-After` counts. */
const busyStatuses: readonly number[] = [429, 503];

/**
 * Evaluates an answer by its status. Any 2xx is delivered, and `410 Gone` ends the delivery.
 * Everything else is retried, also redirects. `retryAfterMs` is the pause that the endpoint
 * requested, respected for 429 and 503 (WEBHOOK-6).
 */
export function evaluateAnswer(status: number, retryAfterMs: number | null): AttemptVerdict {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  if (status === 410) return { kind: "gone", error: "410 Gone" };
  const isRedirect = status >= 300 && status < 400;
  const error = isRedirect
    ? `the endpoint answered ${status}, and redirects are not followed`
    : `the endpoint answered ${status}`;
  return {
    kind: "failed",
    error,
    retryAfterMs: busyStatuses.includes(status) ? retryAfterMs : null,
  };
}
