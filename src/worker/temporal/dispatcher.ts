/**
 * Starts or wakes the workflows of stale jobs. A job is stale if Temporal was down, a process died
 * between its commit and its wake-up, or a pause is over. INVARIANT-9.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { StaleJobs } from "../../store/ledger-jobs/stale-jobs.ts";
import type { StartWork } from "./start-work.ts";

/** Finds jobs that have been due for longer than `graceMs`. */
type FindStaleJobs = (graceMs: number) => Promise<readonly StaleJobs[]>;

/** The dispatcher of one worker process. Several dispatchers only wake twice. */
interface Dispatcher {
  stop(): Promise<void>;
}

/** The interval of searches. A missed start waits at most this long and the grace time. */
const searchEveryMs = 2_000;

/**
 * A started workflow that still has its work is running, or its activity is being retried. It is
 * not started again sooner.
 */
const restartMs = 20_000;

/** Work that has been due for a shorter time is left to the process that wrote it. */
const graceMs = 3_000;

/** Starts the dispatcher. `onError` is called if the database could not be queried. */
export function startDispatcher(
  findStaleJobs: FindStaleJobs,
  work: StartWork,
  onError: (error: unknown) => void,
): Dispatcher {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** By the members of the work, which choose its workflow. */
  const startedAt = new Map<string, number>();
  const start = async (key: string, stale: StaleJobs): Promise<void> => {
    const now = performance.now();
    if (now - (startedAt.get(key) ?? Number.NEGATIVE_INFINITY) < restartMs) return;
    if (await startStaleJobs(work, stale)) startedAt.set(key, now);
  };
  const search = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const found = await findStaleJobs(graceMs);
        const stale = new Map(found.map((one) => [JSON.stringify(one), one]));
        for (const key of startedAt.keys()) if (!stale.has(key)) startedAt.delete(key);
        for (const [key, one] of stale) {
          // With Temporal down each start takes seconds, and a stop must not wait for all of them.
          if (signal.aborted) return;
          await start(key, one);
        }
      } catch (error) {
        onError(error);
      }
      await wait(searchEveryMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const searching = search();
  return {
    stop: () => {
      stopping.abort();
      return searching;
    },
  };
}

function startStaleJobs(work: StartWork, stale: StaleJobs): Promise<boolean> {
  switch (stale.kind) {
    case "posting":
      return work.wake(stale.organisationId);
    case "amendment":
      return work.startAmendment(stale);
    case "allocation":
      return work.startAllocation(stale);
    case "termination":
      return work.startTermination(stale);
    case "clock":
      return work.startClock(stale.organisationId);
  }
}
