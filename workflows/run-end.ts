/**
 * How runs end: their outcome for operators, and the length at which they continue in a new run.
 */
import { upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";

const outcomeKey = { name: "Outcome", type: "KEYWORD" } as const;

/**
 * Half of the longest run (`longestRun` of src/worker/temporal), at which the server would end it.
 */
const longRunMs = 30 * 60_000;

/**
 * Sets the search attribute `Outcome`; nothing comes after it. In addition to the outcomes of work
 * batches: `done`; `refused` if the ledger refused a document; `parked` if a subscription is
 * parked; `rescheduled` if the rest starts again in more than a minute, or an endpoint's next
 * attempt in more than five.
 */
export function endAs(outcome: string | null): void {
  upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
}

/** Whether to continue as new: the history or the run has become long. */
export function isLongRun(): boolean {
  const { continueAsNewSuggested, runStartTime } = workflowInfo();
  return continueAsNewSuggested || Date.now() - runStartTime.getTime() > longRunMs;
}
