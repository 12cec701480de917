/** Waits for an outcome: reads `--wait [seconds]`, and polls while the outcome is pending. */
import { setTimeout as pause } from "node:timers/promises";
import { UsageError } from "./failures.ts";
import type { Json } from "./output/message-json.ts";

/**
 * Returns the seconds to wait: `most` if the option has no number, null without the option. Throws
 * `UsageError` if it is no positive number.
 */
export function waitSeconds(option: unknown, most: number): number | null {
  if (option === undefined) return null;
  if (option === true) return most;
  const seconds = Number(option);
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new UsageError("--wait takes a number of seconds");
  return seconds;
}

/** How an object is read again, and until when. */
interface Polling {
  readonly seconds: number;
  /** The interval between two reads, in milliseconds. */
  readonly everyMs: number;
  readonly isPending: (current: Json) => boolean;
  readonly read: () => Promise<Json>;
  /** Called before each pause, to show progress. */
  readonly onPending?: (current: Json) => void;
}

/** Returns the object once it is no longer pending, or as it is when the time is up. */
export async function poll(first: Json, polling: Polling): Promise<Json> {
  const { seconds, everyMs, isPending, read, onPending } = polling;
  const end = performance.now() + seconds * 1000;
  let current = first;
  while (isPending(current) && performance.now() < end) {
    onPending?.(current);
    await pause(everyMs);
    current = await read();
  }
  return current;
}
