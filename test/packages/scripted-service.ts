/**
 * A server that answers each request of a client as the test says: errors in the service's form, a
 * proxy's errors, and no answer at all.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { ErrorCode, ErrorEnvelope } from "../../packages/client/src/index.ts";

/** A request that the server got. */
export interface Received {
  /** Its path with the query. */
  readonly path: string;
  readonly key: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** Answers one request. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Answers a success. */
export function success(message: object): Answer {
  return (response) => send(response, 200, message);
}

/** Answers an error as the service does. */
export function refusal(code: ErrorCode, status: number, retryAfter?: string): Answer {
  const detail = {
    type: "conflict" as const,
    code,
    message: "no",
    param: "units",
    request_id: "req-1",
  };
  return (response) => {
    if (retryAfter !== undefined) response.setHeader("Retry-After", retryAfter);
    send(response, status, { error: detail } satisfies ErrorEnvelope);
  };
}

/** Answers as a proxy does that cannot reach the service. */
export const proxyError =
  (status: number): Answer =>
  (response) =>
    void response.writeHead(status, { "Content-Type": "text/html" }).end("<h1>Sorry</h1>");

/** Closes the connection without an answer. */
export const noAnswer: Answer = (_response, request) => void request.socket.destroy();

/** Never answers. */
export const silence: Answer = () => undefined;

/** Starts a server that gives these answers in turn, and the last one from then on. */
export async function scriptedService(...answers: readonly Answer[]): Promise<{
  readonly baseUrl: string;
  readonly received: readonly Received[];
}> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { authorization, "idempotency-key": key } = request.headers;
    const answer = answers[Math.min(received.length, answers.length - 1)];
    const entry = { path: request.url ?? "", key: key as string | undefined, authorization };
    const body = request.method === "POST" ? await json(request) : null;
    received.push({ ...entry, body });
    answer?.(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
