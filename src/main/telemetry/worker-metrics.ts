/** The metrics of a worker process, with those of Temporal's core. */
import { Counter, Gauge } from "prom-client";
import { type ScheduleTrouble, troubleReasons } from "../../worker/temporal/schedule-watch.ts";
import { scheduleIds } from "../../worker/temporal/schedules.ts";
import { createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";

/** All metrics of a worker process. */
export interface WorkerMetrics extends ProcessMetrics {
  /** Sets the gauge of each fault found to 1 and every other to 0. */
  readonly onSchedules: (troubles: readonly ScheduleTrouble[]) => void;
  /** Recorded outcomes of ledger jobs by kind and outcome. */
  readonly jobs: Counter<"kind" | "outcome">;
  /** Attempts to deliver events, by outcome. */
  readonly deliveries: Counter<"outcome">;
  /** Subscriptions that billing parked. */
  readonly parked: Counter;
}

/** Creates the metrics. `core` returns the text of Temporal's own metrics. */
export function createWorkerMetrics(core?: () => Promise<string>): WorkerMetrics {
  const metrics = createProcessMetrics(core);
  const registers = [metrics.registry];
  const trouble = new Gauge({
    name: "billing_schedule_trouble",
    help: "1 if a schedule is missing, paused, on another task queue, late, or could not be read.",
    labelNames: ["schedule", "reason"],
    registers,
  });
  const onSchedules = (troubles: readonly ScheduleTrouble[]): void => {
    for (const schedule of scheduleIds) {
      for (const reason of troubleReasons) {
        const isIt = troubles.some((one) => one.schedule === schedule && one.reason === reason);
        trouble.set({ schedule, reason }, isIt ? 1 : 0);
      }
    }
  };
  return {
    ...metrics,
    onSchedules,
    jobs: new Counter({
      name: "billing_ledger_jobs_total",
      help: "Recorded outcomes of ledger jobs: done, refused, or to be tried again.",
      labelNames: ["kind", "outcome"],
      registers,
    }),
    deliveries: new Counter({
      name: "billing_webhook_attempts_total",
      help: "Attempts to deliver events to webhook endpoints, by outcome.",
      labelNames: ["outcome"],
      registers,
    }),
    parked: new Counter({
      name: "billing_subscriptions_parked_total",
      help: "Subscriptions that billing parked.",
      registers,
    }),
  };
}
