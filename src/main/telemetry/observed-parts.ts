/** The pool and the Temporal client of a process, with their metrics and traces, and its work. */
import type { Config } from "../../config.ts";
import { readBacklog } from "../../store/backlog/backlog.ts";
import { createPool, type Pool } from "../../store/database/pool.ts";
import { wakeBatches } from "../../store/ledger-jobs/batch-wakes.ts";
import { findRunNames } from "../../store/ledger-jobs/run-names.ts";
import { connectTemporal, type TemporalClient } from "../../worker/temporal/connect.ts";
import { observedCalls } from "../../worker/temporal/observed-calls.ts";
import { createStartWork } from "../../worker/temporal/start-work.ts";
import { watchBacklog } from "./backlog-metrics.ts";
import type { Log } from "./log.ts";
import { type ProcessMetrics, watchPool } from "./process-metrics.ts";
import type { Tracing } from "./tracing.ts";

/** Opens the pool of a process, with its metrics and those of what waits in the database. */
export function openPool(
  name: string,
  { database }: Config,
  log: Log,
  metrics: ProcessMetrics,
): Pool {
  const onAcquire = (waitedMs: number, isAcquired: boolean) =>
    metrics.acquires.observe({ outcome: isAcquired ? "ok" : "failed" }, waitedMs / 1000);
  const pool = createPool(
    { databaseUrl: database.url, size: database.poolSize, name, onAcquire },
    (err) => log.warn({ err }, "a database connection was lost"),
  );
  watchPool(metrics, pool);
  watchBacklog({
    registry: metrics.registry,
    read: () => readBacklog(pool),
    onError: (err) => log.warn({ err }, "metrics: the backlog could not be read"),
  });
  return pool;
}

/** Connects to Temporal at the first call. Calls are measured and carry the trace. */
export function openTemporal(
  { temporal: settings }: Config,
  { temporalCalls }: ProcessMetrics,
  { temporal }: Tracing,
): TemporalClient {
  const measured = observedCalls((call, isDone, tookMs) =>
    temporalCalls.observe({ call, outcome: isDone ? "ok" : "failed" }, tookMs / 1000),
  );
  return connectTemporal(settings, [measured, ...(temporal?.client ?? [])]);
}

/** What becomes of work whose workflow could not be started. */
interface Unstarted {
  /** Who starts it, in the words of the log. */
  readonly next: string;
  /** Whether the work counts as begun, so that its request waits for the ledger. */
  readonly isBegun: (error: unknown) => boolean;
}

/** The starts of workflows. */
export function createWork(
  { taskQueue }: Config,
  log: Log,
  { client }: TemporalClient,
  pool: Pool,
  { next, isBegun }: Unstarted,
) {
  const onUnstarted = (workflowId: string, err: unknown) => {
    log.warn({ workflowId, err }, `a workflow could not be started; ${next}`);
    return isBegun(err);
  };
  return createStartWork(client, taskQueue, onUnstarted, {
    findNames: (run) => findRunNames(pool, run),
    notify: (organisationId) => wakeBatches(pool, organisationId),
  });
}
