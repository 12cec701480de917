/**
 * Repeats writes whose database connection was lost midway, until their outcome is known or the
 * caller's time is over.
 */
import { setTimeout as wait } from "node:timers/promises";
import { Refusal } from "../domain/refusal.ts";
import { isDatabaseUnreachable } from "../store/database/unreachable.ts";

/**
 * The pause before the next attempt. A database fail-over takes seconds, and many callers repeat at
 * once.
 */
const retryMs = 250;

/**
 * Runs a write, and repeats it until `deadline` if the connection to the database is lost.
 * The write finds what an earlier run has done by ids that are the same in each run, and does the
 * rest. Refuses `temporarily_unavailable` if the outcome is unknown by then (REQUEST-14).
 */
export async function untilKnown<T>(deadline: Date, write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseUnreachable(error)) throw error;
      if (Date.now() + retryMs >= deadline.getTime()) throw unknownOutcome(error);
      await wait(retryMs);
    }
  }
}

/** The cause goes to the log. */
function unknownOutcome(cause: unknown): Refusal {
  const message =
    "The service lost its database, and the request may have been done or not; " +
    "please retry it unchanged";
  const refusal = new Refusal("temporarily_unavailable", message, null, 1);
  refusal.cause = cause;
  return refusal;
}
