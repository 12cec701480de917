/**
 * A port for `/healthz`, `/readyz` and `/metrics` alone: the worker's, and one of the API for
 * Prometheus. It is not for the public network.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Config } from "../config.ts";
import { listen } from "../transport/http/listen.ts";
import type { Readiness } from "../transport/http/readiness.ts";

/** What the port answers. */
export interface HealthPortParts {
  readonly readiness: Pick<Readiness, "report">;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The open port. */
export interface HealthPort {
  readonly port: number;
  stop(): Promise<void>;
}

/** An answer: its status, the type of its body, and the body. */
interface PortAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** Opens the port that this setting chooses. Rejects with a SettingError if it is taken. */
export async function openHealthPort(
  setting: "WORKER_PORT" | "METRICS_PORT",
  address: NonNullable<Config["worker"]>,
  parts: HealthPortParts,
): Promise<HealthPort> {
  const server = createServer((request, response) => void answer(parts, request, response));
  const port = await listen(server, { setting, ...address });
  const stop = (): Promise<void> =>
    new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { port, stop };
}

async function answer(
  parts: HealthPortParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const found = await answerOf(parts, request).catch(() => json(500, { status: "failed" }));
  response
    .writeHead(found.status, { "Content-Type": found.contentType, "Cache-Control": "no-store" })
    .end(request.method === "HEAD" ? "" : found.text);
}

async function answerOf(
  { readiness, metrics }: HealthPortParts,
  { method, url = "" }: IncomingMessage,
): Promise<PortAnswer> {
  const path = method === "GET" || method === "HEAD" ? url.split("?")[0] : null;
  if (path === "/healthz") return json(200, { status: "ok" });
  if (path === "/metrics") return { status: 200, ...(await metrics()) };
  if (path !== "/readyz") return json(404, { status: "unknown" });
  const report = await readiness.report();
  return json(report.status === "ready" ? 200 : 503, report);
}

function json(status: number, value: object): PortAnswer {
  return { status, contentType: "application/json", text: JSON.stringify(value) };
}
