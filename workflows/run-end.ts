/** How runs end: their outcome, as an operator looks for it, and the length at which they go on in a new run. */
import { upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";

const outcomeKey = { name: "Outcome", type: "KEYWORD" } as const;

/** Half of what a run may take (`longestRun` of src/temporal): past that the server would break it off. */
const longRunMs = 30 * 60_000;

/**
 * Has the search attribute `Outcome` say how the run ended; nothing comes after it. Beside what rounds of work say of theirs: `done`;
 * `refused`, where the ledger said no to a document; `set_aside`, where a subscription could not be billed; `put_off`, where a new run is
 * started for what is left, in more than a minute; `rescheduled`, where an endpoint's next attempt
 * is more than five minutes away.
 */
export function endAs(outcome: string | null): void {
  upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
}

/** Whether it is time for a new run: the history has become long, or the run itself. */
export function isLongRun(): boolean {
  const { continueAsNewSuggested, runStartTime } = workflowInfo();
  return continueAsNewSuggested || Date.now() - runStartTime.getTime() > longRunMs;
}
