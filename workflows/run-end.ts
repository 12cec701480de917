/**
 * How runs end: their outcome for operators, and the length at which they continue in a new run.
 */
import {
  makeContinueAsNewFunc,
  upsertSearchAttributes,
  type Workflow,
  workflowInfo,
} from "@temporalio/workflow";

const outcomeKey = { name: "Outcome", type: "KEYWORD" } as const;

/**
 * Half of the longest run (`maxRun` of src/worker/temporal), at which the server would end it.
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

/**
 * Ends this run and continues in a new one, on the current version of the workers. Otherwise work
 * that never pauses would stay on the version on which it began.
 */
export function continueInNewRun<F extends Workflow>(...args: Parameters<F>): Promise<never> {
  return makeContinueAsNewFunc<F>({ initialVersioningBehavior: "AUTO_UPGRADE" })(...args);
}
