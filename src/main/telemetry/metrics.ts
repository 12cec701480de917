/** The metrics of an API process in the format of Prometheus. */
import { Counter, Histogram } from "prom-client";
import type { RequestLabel } from "../../transport/rpc/observe.ts";
import { createProcessMetrics } from "./process-metrics.ts";

/** All metrics of an API process. */
export type Metrics = ReturnType<typeof createMetrics>;

/** From half a millisecond (a read) to 15 seconds, the longest wait for the ledger (POSTING-4). */
const secondsBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
];

/** Creates the metrics of an API process. */
export function createMetrics() {
  const metrics = createProcessMetrics();
  const registers = [metrics.registry];
  return {
    ...metrics,
    /** By outcome: `ok`, an error code, `client_gone`. */
    requests: new Histogram<RequestLabel>({
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
    /** By verdict: `created`, `duplicate`, `rejected`. */
    usageEvents: new Counter({
      name: "billing_usage_events_total",
      help: "Reported usage events by verdict, and created ones by whether their period was open.",
      labelNames: ["verdict", "timing"],
      registers,
    }),
    /** A defect of the service. */
    contradictions: new Counter({
      name: "billing_explanation_contradictions_total",
      help: "Explanations that gave another amount than their document has.",
      registers,
    }),
  };
}
