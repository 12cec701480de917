/**
 * The one allowance for slow machines. Tests never measure speed: a limit only ends a wait for a
 * condition that never holds.
 */

/**
 * How many times longer than alone on a quiet machine a step may take: about five times with other
 * test files on two cores. TEST_SLOWNESS sets another factor.
 */
const slowness = Number(process.env.TEST_SLOWNESS ?? 5);

/** Returns the limit in milliseconds of a step that takes at most `quietMs` on a quiet machine. */
export function allow(quietMs: number): number {
  return quietMs * slowness;
}

/**
 * The limit of a test, and of everything that starts before the tests of a file or stops after
 * them: longer than four conditions, each of which says what did not hold.
 */
export const stepLimitMs = allow(84_000);
