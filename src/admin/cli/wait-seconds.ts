/** Reads `--wait [seconds]` for every command that has it. */
import { UsageError } from "./failures.ts";

/**
 * The seconds to wait. `most` if the option has no number, null without the option. Throws
 * `UsageError` if it is no positive number.
 */
export function waitSeconds(given: unknown, most: number): number | null {
  if (given === undefined) return null;
  if (given === true) return most;
  const seconds = Number(given);
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new UsageError("--wait takes a number of seconds");
  return seconds;
}
