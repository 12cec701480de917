/** The metrics of an API process in the format of Prometheus. */
import { Counter, Histogram } from "prom-client";
import type { RequestLabel } from "../../transport/rpc/observe.ts";
import { createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";

/** All metrics of an API process. */
export interface Metrics extends ProcessMetrics {
  /**
   * Seconds of finished requests, by operation, protocol and outcome (`ok`, an error code,
   * `client_gone`).
   */
  readonly requests: Histogram<RequestLabel>;
  /** Requests that one statement admitted or refused. Above 1 if the API is busy. */
  readonly admissions: Histogram;
  /** Failed attempts to complete, release or renew an idempotency key. Each is retried. */
  readonly idempotencyTrouble: Counter;
  /** Reported usage events by verdict (`created`, `duplicate`, `rejected`) and timing. */
  readonly usageEvents: Counter<"verdict" | "timing">;
  /** Explanations that give another amount than their document has: a defect of the service. */
  readonly contradictions: Counter;
}

/** From half a millisecond (a read) to 15 seconds, the longest wait for the ledger (POSTING-4). */
const secondsBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
];

/** Creates the metrics of an API process. */
export function createMetrics(): Metrics {
  const metrics = createProcessMetrics();
  const registers = [metrics.registry];
  return {
    ...metrics,
    requests: new Histogram({
      name: "billing_request_duration_seconds",
      help: "Seconds from the arrival of a request to the end of its response.",
      labelNames: ["operation", "protocol", "outcome"],
      buckets: secondsBuckets,
      registers,
    }),
    admissions: new Histogram({
      name: "billing_admission_batch_size",
      help: "Requests decided by one statement of the rate limit.",
      buckets: [1, 2, 4, 8, 16, 32, 64],
      registers,
    }),
    idempotencyTrouble: new Counter({
      name: "billing_idempotency_trouble_total",
      help: "Failed attempts to complete, release or renew an idempotency key.",
      registers,
    }),
    usageEvents: new Counter({
      name: "billing_usage_events_total",
      help: "Reported usage events by verdict, and created ones by whether their period was open.",
      labelNames: ["verdict", "timing"],
      registers,
    }),
    contradictions: new Counter({
      name: "billing_explanation_contradictions_total",
      help: "Explanations that gave another amount than their document has.",
      registers,
    }),
  };
}
