/**
 * The health of a worker: its port, and whether it is ready. It is ready while it reaches its
 * database, with the migrations that it needs, and Temporal, and polls all of its task queues.
 */
import type { Config } from "../../config.ts";
import type { TemporalClient } from "../../worker/temporal/connect.ts";
import type { RunningWorker } from "../../worker/temporal/run-worker.ts";
import { openHealthPort } from "../health-port.ts";
import { openReadiness } from "../readiness.ts";
import type { Log } from "../telemetry/log.ts";
import type { WorkerMetrics } from "../telemetry/worker-metrics.ts";

/**
 * Opens the port if WORKER_PORT is set. Rejects with a SettingError if it is taken. Without the
 * setting the port is null, and nothing is checked.
 */
export async function openWorkerHealth(
  config: Config,
  log: Log,
  temporal: TemporalClient,
  metrics: Pick<WorkerMetrics, "text">,
) {
  let worker: Pick<RunningWorker, "unpolled"> | null = null;
  /** Reports the polling of this worker from now on. */
  const started = (running: Pick<RunningWorker, "unpolled">): void => {
    worker = running;
  };
  if (config.worker === null)
    return { port: null, started, drain: () => undefined, stop: async () => undefined };
  const check = async () => pollingFault(worker?.unpolled() ?? null);
  const readiness = openReadiness(config, log, temporal, {
    isTemporalRequired: true,
    checks: { task_queues: { required: true, check } },
    isStarting: () => worker === null,
  });
  try {
    const parts = { readiness, metrics: metrics.text };
    const opened = await openHealthPort("WORKER_PORT", config.worker, parts);
    const stop = async () => {
      await opened.stop();
      await readiness.close();
    };
    return { port: opened.port, started, drain: readiness.drain, stop };
  } catch (error) {
    await readiness.close();
    throw error;
  }
}

/** Returns what is wrong with the polling, or null. `unpolled` is null before it has begun. */
function pollingFault(unpolled: readonly string[] | null): string | null {
  if (unpolled === null) return "No task queue is polled yet";
  if (unpolled.length === 0) return null;
  return `These task queues are not polled: ${unpolled.join(", ")}`;
}
