/** The metrics of a worker process for Prometheus, and the server of `/metrics`. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { type Config, SettingError } from "../../config.ts";
import { type ScheduleTrouble, troubleReasons } from "../../worker/temporal/schedule-watch.ts";
import { scheduleIds } from "../../worker/temporal/schedules.ts";

/** The metrics of a worker process. `port` is null if they are not served. */
interface WorkerMetrics {
  readonly port: number | null;
  /** Sets the gauge of each fault found to 1 and every other to 0. */
  readonly onSchedules: (troubles: readonly ScheduleTrouble[]) => void;
  stop(): Promise<void>;
}

/**
 * Collects the metrics and serves them if WORKER_METRICS_PORT is set. Rejects with a SettingError
 * if the port is taken.
 */
export async function serveWorkerMetrics(config: Config): Promise<WorkerMetrics> {
  const { workerMetrics } = config;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const trouble = new Gauge({
    name: "billing_schedule_trouble",
    help: "1 if a schedule is missing, paused, on another task queue, late, or could not be read.",
    labelNames: ["schedule", "reason"],
    registers: [registry],
  });
  const onSchedules = (troubles: readonly ScheduleTrouble[]): void => {
    for (const schedule of scheduleIds) {
      for (const reason of troubleReasons) {
        const isIt = troubles.some((one) => one.schedule === schedule && one.reason === reason);
        trouble.set({ schedule, reason }, isIt ? 1 : 0);
      }
    }
  };
  if (workerMetrics === null) return { port: null, onSchedules, stop: async () => undefined };
  const server = serverOf(registry);
  const port = await listen(server, workerMetrics);
  const stop = (): Promise<void> =>
    new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { port, onSchedules, stop };
}

function serverOf(registry: Registry): Server {
  return createServer(async (request, response) => {
    if (request.method !== "GET" || request.url?.split("?")[0] !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    const text = await registry.metrics();
    response.writeHead(200, { "Content-Type": registry.contentType }).end(text);
  });
}

type Address = NonNullable<Config["workerMetrics"]>;

function listen(server: Server, { host, port }: Address): Promise<number> {
  return new Promise((done, fail) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === "EADDRINUSE" ? "is taken" : `failed (${cause.code ?? cause.message})`;
      fail(new SettingError(`WORKER_METRICS_PORT=${port} on ${host} ${why}.`, { cause }));
    });
    server.listen(port, host, () => done((server.address() as AddressInfo).port));
  });
}
