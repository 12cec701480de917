/**
 * The metrics of a process in the format of Prometheus. Each process has its own registry, so that
 * two in one process do not mix.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RequestLabel } from "../../transport/rpc/observe.ts";

/** All metrics of an API process. */
export interface Metrics {
  /** The content type and text of the answer of `/metrics`. */
  readonly text: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly registry: Registry;
  /**
   * Seconds of finished requests, by operation, protocol and outcome (`ok`, an error code,
   * `client_gone`).
   */
  readonly requests: Histogram<RequestLabel>;
  /** Requests that one statement admitted or refused. Above 1 if the API is busy. */
  readonly admissions: Histogram;
  /** Failed attempts to complete, release or renew an idempotency key. Each is retried. */
  readonly idempotencyTrouble: Counter;
}

/** From half a millisecond (a read) to 15 seconds, the longest wait for the ledger (POSTING-4). */
const secondsBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
];

/** Connections of a pool, as pg counts them. */
interface PoolCounts {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/**
 * Creates the metrics of a process, with those of Node (event loop, memory, garbage collection).
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    registry,
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
  };
}

/** Adds a gauge of a pool's connections by state. It is read at each scrape. */
export function watchPool(metrics: Metrics, pool: PoolCounts): void {
  const gauge = new Gauge({
    name: "billing_database_connections",
    help: "Connections to PostgreSQL in use and idle, and requests that wait for one.",
    labelNames: ["state"],
    registers: [metrics.registry],
    collect: () => {
      gauge.set({ state: "in_use" }, pool.totalCount - pool.idleCount);
      gauge.set({ state: "idle" }, pool.idleCount);
      gauge.set({ state: "waiting" }, pool.waitingCount);
    },
  });
}
