/**
 * Crash points: lines between two steps where a fault test ends the process, by their names. The
 * tests have the lists of them (`test/support/crash-points.ts`).
 */
const crashAt = process.env.BILLING_CRASH_AT;

/**
 * Kills the process here if BILLING_CRASH_AT names this point. SIGKILL leaves no chance to flush,
 * release or report anything.
 */
export function crashPoint(name: string): void {
  if (crashAt === name) process.kill(process.pid, "SIGKILL");
}
