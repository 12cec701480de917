/**
 * The points between two steps at which a process may die, by name. Set BILLING_CRASH_AT to one of them and the process kills
 * itself there, once it comes by: the fault tests run creation through all of them. Without the setting nothing happens.
 */

/**
 * Every point, in the order in which a creation passes them; the `settlement` ones are the worker's. A customer's creation
 * loads no facts, so it passes all but `creation_loaded`.
 */
export const checkpoints = [
  "admitted",
  "key_begun",
  "creation_loaded",
  "creation_saved",
  "ledger_woken",
  "creation_settled",
  "key_completed",
  "settlement_taken",
  "settlement_answered",
  "settlement_saved",
] as const;

/** One of `checkpoints`. */
export type Checkpoint = (typeof checkpoints)[number];

const crashAt = process.env.BILLING_CRASH_AT;

/** Dies here where the environment says so: SIGKILL, so that nothing is flushed, released or told. */
export function checkpoint(name: Checkpoint): void {
  if (crashAt === name) process.kill(process.pid, "SIGKILL");
}
