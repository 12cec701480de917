/** The metrics of a worker process, with those of Temporal's core. */
import { Counter, Gauge } from "prom-client";
import { billingScheduleId } from "../../../workflows/contract.ts";
import { type ScheduleTrouble, troubleReasons } from "../../worker/temporal/schedule-watch.ts";
import { createProcessMetrics } from "./process-metrics.ts";

/** All metrics of a worker process. */
export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>;

/** Creates the metrics. `core` returns the text of Temporal's own metrics. */
export function createWorkerMetrics(core?: () => Promise<string>) {
  const metrics = createProcessMetrics(core);
  const registers = [metrics.registry];
  const trouble = new Gauge({
    name: "billing_schedule_trouble",
    help:
      "1 if the schedule is missing, paused, on another task queue or late, if its last run did " +
      "not start everything, or if it could not be read.",
    labelNames: ["schedule", "reason"],
    registers,
  });
  /** Sets the gauge of the fault found to 1 and every other to 0. */
  const onSchedule = (found: ScheduleTrouble | null): void => {
    for (const reason of troubleReasons)
      trouble.set({ schedule: billingScheduleId, reason }, found?.reason === reason ? 1 : 0);
  };
  return {
    ...metrics,
    onSchedule,
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
