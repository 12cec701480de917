/**
 * What operators see of a run, its outcome and its counts, and the length at which it continues in
 * a new one.
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

/**
 * Returns a count with a comma between thousands: `1,234`. `toLocaleString` would load its data in
 * each workflow thread first, 35 ms in which no other workflow of the thread goes on.
 */
export function counted(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
