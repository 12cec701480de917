/** The port of a worker: `/healthz`, `/readyz` and `/metrics`. It is not for the public network. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Config } from "../../config.ts";
import { listenFault } from "../../transport/http/listen-fault.ts";
import type { Readiness } from "../../transport/http/readiness.ts";

/** What the port answers. */
export interface WorkerPortParts {
  readonly readiness: Pick<Readiness, "report">;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The open port. */
export interface WorkerPort {
  readonly port: number;
  stop(): Promise<void>;
}

/** An answer: its status, the type of its body, and the body. */
interface PortAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** Opens the port. Rejects with a SettingError if it is taken. */
export async function openWorkerPort(
  address: NonNullable<Config["worker"]>,
  parts: WorkerPortParts,
): Promise<WorkerPort> {
  const server = createServer((request, response) => void answer(parts, request, response));
  const port = await listen(server, address);
  const stop = (): Promise<void> =>
    new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { port, stop };
}

async function answer(
  parts: WorkerPortParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const found = await answerOf(parts, request).catch(() => json(500, { status: "failed" }));
  response
    .writeHead(found.status, { "Content-Type": found.contentType, "Cache-Control": "no-store" })
    .end(request.method === "HEAD" ? "" : found.text);
}

async function answerOf(
  { readiness, metrics }: WorkerPortParts,
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

function listen(server: Server, { host, port }: NonNullable<Config["worker"]>): Promise<number> {
  return new Promise((done, fail) => {
    server.once("error", (cause) => fail(listenFault(cause, host, port, "WORKER_PORT")));
    server.listen(port, host, () => done((server.address() as AddressInfo).port));
  });
}
