/**
 * The metrics of Temporal's core in this process. The core has its own server, which listens on
 * this machine only. The worker's `/metrics` has its text, so that one port shows everything.
 */
import { createServer } from "node:net";
import type { TelemetryOptions } from "@temporalio/worker";

/** Where the core shows its metrics. */
export interface CoreMetrics {
  readonly telemetryOptions: TelemetryOptions;
  /** Returns the metrics in the format of Prometheus, or an empty text before the core runs. */
  readonly text: () => Promise<string>;
}

/** Chooses a free port of this machine for them. */
export async function chooseCoreMetrics(): Promise<CoreMetrics> {
  const bindAddress = `127.0.0.1:${await freePort()}`;
  const prometheus = {
    bindAddress,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  };
  const text = async () => {
    const answered = await fetch(`http://${bindAddress}/metrics`).catch(() => null);
    return answered?.status === 200 ? answered.text() : "";
  };
  return { telemetryOptions: { metrics: { prometheus } }, text };
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer().once("error", reject);
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    server.close(() => resolve(port));
  });
  return promise;
}
