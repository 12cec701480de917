/**
 * Starts what was missed: finds what waits and nobody is at (Temporal was down, a process died between its commit and
 * its wake-up, a pause is over) and starts or wakes its workflow.
 */
import {
  amendmentWorkflowId,
  clockWorkflowId,
  creditWorkflowId,
  terminationWorkflowId,
  ledgerWorkflowId,
} from "../../../workflows/contract.ts";
import type { StaleJobs } from "../../store/ledger-jobs/stale-jobs.ts";
import type { LedgerWork } from "./ledger-work.ts";
import type { StartWork } from "./start-work.ts";

/** Finds work that has been due for longer than `graceMs`. */
export type FindStaleJobs = (graceMs: number) => Promise<readonly StaleJobs[]>;

/** The dispatcher of one worker process; several of them only wake twice. */
export interface Dispatcher {
  stop(): Promise<void>;
}

/** How often it looks: work that was missed waits this long and the grace time at most. */
const lookEveryMs = 2_000;

/**
 * A workflow that was started and still has its work is at it, or its activity is being retried: it is not started
 * again sooner.
 */
const startAgainMs = 20_000;

/** What has been due for less is left to the start by the process that wrote it. */
const graceMs = 3_000;

/** Starts looking; `onError` is told where the database could not be asked. */
export function startDispatcher(
  findStaleJobs: FindStaleJobs,
  work: LedgerWork & StartWork,
  onError: (error: unknown) => void,
): Dispatcher {
  let stopped = false;
  let wakeUp: () => void = () => undefined;
  const startedAt = new Map<string, number>();
  const start = async (workflowId: string, neglected: StaleJobs): Promise<void> => {
    const now = performance.now();
    if (now - (startedAt.get(workflowId) ?? Number.NEGATIVE_INFINITY) < startAgainMs) return;
    if (await startStaleJobs(work, neglected)) startedAt.set(workflowId, now);
  };
  const look = async (): Promise<void> => {
    while (!stopped) {
      try {
        const found = await findStaleJobs(graceMs);
        const neglected = new Map(found.map((one) => [workflowIdOf(one), one]));
        for (const workflowId of startedAt.keys()) if (!neglected.has(workflowId)) startedAt.delete(workflowId);
        for (const [workflowId, one] of neglected) {
          // With Temporal out of reach each one takes seconds: a stop must not wait for all of them.
          if (stopped) return;
          await start(workflowId, one);
        }
      } catch (error) {
        onError(error);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, lookEveryMs);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const looking = look();
  return {
    stop: async () => {
      stopped = true;
      wakeUp();
      await looking;
    },
  };
}

function workflowIdOf(work: StaleJobs): string {
  switch (work.kind) {
    case "settlement":
      return ledgerWorkflowId(work.organisationId);
    case "amendment":
      return amendmentWorkflowId(work.jobId);
    case "allocation":
      return creditWorkflowId(work.subscriptionId);
    case "ending":
      return terminationWorkflowId(work.terminationId);
    case "clock":
      return clockWorkflowId(work.organisationId);
  }
}

function startStaleJobs(work: LedgerWork & StartWork, neglected: StaleJobs): Promise<boolean> {
  switch (neglected.kind) {
    case "settlement":
      return work.wake(neglected.organisationId);
    case "amendment":
      return work.startAmendment(neglected);
    case "allocation":
      return work.startAllocation(neglected);
    case "ending":
      return work.startTermination(neglected);
    case "clock":
      return work.startClock(neglected.organisationId);
  }
}
