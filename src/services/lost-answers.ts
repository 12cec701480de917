/**
 * Repeats writes whose database connection was lost midway, until their outcome is known or the
 * caller's time is over.
 */
import { setTimeout as wait } from "node:timers/promises";
import { isDatabaseUnreachable } from "../store/database/unreachable.ts";

/**
 * The pause before the next attempt. A database fail-over takes seconds, and many callers repeat at
 * once.
 */
const retryMs = 250;

/**
 * Runs a write, and repeats it until `deadline` if the connection to the database is lost.
 * The write finds what an earlier run has done by ids that are the same in each run, and does the
 * rest. Throws the last error if the outcome is unknown by then. The call refuses
 * `temporarily_unavailable` then (REQUEST-14).
 */
export async function untilKnown<T>(deadline: Date, write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      const isLate = Date.now() + retryMs >= deadline.getTime();
      if (isLate || !isDatabaseUnreachable(error)) throw error;
      await wait(retryMs);
    }
  }
}
