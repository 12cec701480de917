/**
 * What API and worker both measure: Node itself, the pool of database connections, calls to
 * Temporal and calls to ledgers. Each process has its own registry, so that two in one process do
 * not mix.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** The metrics of any process. */
export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

/** Connections of a pool, as pg counts them. */
export interface PoolCounts {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** From a tenth of a millisecond (a free connection) to three seconds, the longest wait. */
const acquireBuckets = [0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 3];

/** From a millisecond to 30 seconds: a ledger call takes 20 at most, and may wait before it. */
const callBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Creates the metrics of a process, with those of Node (event loop, memory, garbage collection).
 * `text` is the answer of `/metrics`. `append` returns text of other metrics, with which it ends.
 */
export function createProcessMetrics(append?: () => Promise<string>) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    text: async () => {
      const parts = await Promise.all([registry.metrics(), append?.() ?? ""]);
      return { contentType: registry.contentType, text: parts.join("") };
    },
    /** `ok`, or `failed` if none was free in time. */
    acquires: new Histogram({
      name: "billing_database_acquire_seconds",
      help: "Seconds until a connection of the pool was free.",
      labelNames: ["outcome"],
      buckets: acquireBuckets,
      registers,
    }),
    temporalCalls: new Histogram({
      name: "billing_temporal_call_duration_seconds",
      help: "Seconds of calls to Temporal, with their retries.",
      labelNames: ["call", "outcome"],
      buckets: callBuckets,
      registers,
    }),
    ledgerCalls: new Histogram({
      name: "billing_ledger_call_duration_seconds",
      help: "Seconds of calls to ledgers, with their waits for a permit.",
      labelNames: ["ledger", "call", "outcome"],
      buckets: callBuckets,
      registers,
    }),
    ledgerPermits: new Counter({
      name: "billing_ledger_permits_total",
      help: "Answers of the call budget: granted, or the limit that was reached.",
      labelNames: ["ledger", "outcome"],
      registers,
    }),
  };
}

/** Adds a gauge of a pool's connections by state. It is read at each scrape. */
export function watchPool({ registry }: Pick<ProcessMetrics, "registry">, pool: PoolCounts): void {
  const gauge = new Gauge({
    name: "billing_database_connections",
    help: "Connections to PostgreSQL in use and idle, and requests that wait for one.",
    labelNames: ["state"],
    registers: [registry],
    collect: () => {
      gauge.set({ state: "in_use" }, pool.totalCount - pool.idleCount);
      gauge.set({ state: "idle" }, pool.idleCount);
      gauge.set({ state: "waiting" }, pool.waitingCount);
    },
  });
}
