/** The refusal for an id under which no usage event is stored. USAGE-18. */
import { Refusal } from "../refusal.ts";

/** Returns the refusal. A dropped event is not found, and its id stays taken. */
export function usageEventNotFound(wasDropped: boolean): Refusal {
  const message = wasDropped
    ? "The usage event was billed, exported and dropped. Its id stays taken."
    : "There is no usage event with this id.";
  return new Refusal("usage_event_not_found", message);
}
