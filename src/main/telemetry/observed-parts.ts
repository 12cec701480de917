/** The pool and the Temporal client of a process, with their metrics and traces. */
import type { Config } from "../../config.ts";
import { readBacklog } from "../../store/backlog/backlog.ts";
import { createPool, type Pool } from "../../store/database/pool.ts";
import { connectTemporal, type TemporalClient } from "../../worker/temporal/connect.ts";
import { observedCalls } from "../../worker/temporal/observed-calls.ts";
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
