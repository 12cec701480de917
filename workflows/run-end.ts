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
import type { RunResult } from "./contract.ts";

const outcomeKey = { name: "Outcome", type: "KEYWORD" } as const;

/**
 * Half of the longest run (`maxRun` of src/worker/temporal), at which the server would end it.
 */
const longRunMs = 30 * 60_000;

/**
 * Sets the search attribute `Outcome` and returns the run's result; nothing comes after it. In
 * addition to the outcomes of work batches: `done`; `refused` if the ledger refused a document;
 * `parked` if a subscription is parked; `rescheduled` if the rest starts again in more than a
 * minute, or an endpoint's next attempt in more than five; `failed` if a billing run could not
 * start everything.
 */
export function endAs(outcome: string | null, words: string): RunResult {
  upsertSearchAttributes([{ key: outcomeKey, value: outcome }]);
  return { outcome, words };
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

/** Returns a count with its noun: `1 organisation`, `1,200 organisations`. */
export function countOf(count: number, noun: string): string {
  return `${counted(count)} ${noun}${count === 1 ? "" : "s"}`;
}
