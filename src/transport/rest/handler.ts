/**
 * Answers REST requests: HTTP in, a message to the operation, its response or refusal out as JSON.
 * The checks run in the order of REQUEST-1. The handler has no billing logic: gate and call are
 * injected.
 */
import type { Message } from "@bufbuild/protobuf";
import { Refusal } from "../../domain/refusal.ts";
import type { CallOperation } from "../rpc/call.ts";
import type { Gate, SetHeader } from "../rpc/gate/gate.ts";
import type { Operation } from "../rpc/operation.ts";
import type { ReportError } from "../rpc/refusals.ts";
import { errorEnvelope } from "./error-envelope.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange.ts";
import { assertAnnouncedSize, assertJsonBody, hasBody, readBody } from "./read-body.ts";
import { respond } from "./respond.ts";
import type { FindRoute, RouteMatch } from "./routes.ts";

/** The dependencies of the handler. */
export interface GatewayParts {
  readonly findRoute: FindRoute;
  /** The checks of key, rate, scope and `Idempotency-Key`, before the body is read (REQUEST-1). */
  readonly pass: Gate["pass"];
  /** Validation, idempotency and the operation itself. */
  readonly call: CallOperation;
  readonly reportError: ReportError;
}

/**
 * Returns the handler of all requests except those of system endpoints. It answers every request
 * and never throws.
 */
export function restHandler(
  parts: GatewayParts,
): (request: HttpRequest, response: HttpResponse, exchange: Exchange) => Promise<void> {
  return async (request, response, exchange) => {
    const headers = responseHeaders(exchange);
    const setHeader: SetHeader = (name, value) => replaceHeader(headers, name, value);
    try {
      const match = parts.findRoute(request.method ?? "", exchange.path);
      if (match === null) throw unknownEndpoint(request, exchange);
      const { operation } = match.route;
      exchange.operation = operation.name;
      const pass = await parts.pass(operation, exchange.credentials, exchange.requestId, setHeader);
      exchange.organisationId = pass.caller.organisationId;
      exchange.apiKeyId = pass.caller.apiKeyId;
      const message = await readRequest(match, request, response, exchange);
      exchange.abort = new AbortController();
      const answer = await parts.call(pass, message, { signal: exchange.abort.signal });
      const text = match.route.write(answer.message);
      if (answer.replayed) headers.push("Idempotent-Replayed", "true");
      respond(request, response, statusOf(operation, answer.message), headers, text);
    } catch (error) {
      const report = parts.reportError(error, exchange.requestId);
      exchange.code = report.code;
      if (report.retryAfterSeconds !== null)
        setHeader("Retry-After", String(report.retryAfterSeconds));
      respond(request, response, report.status, headers, errorEnvelope(report));
    }
  };
}

/** Returns the header fields of a JSON response that is not public. Names and values alternate. */
export function responseHeaders(exchange: Exchange): string[] {
  return [
    "Request-Id",
    exchange.requestId,
    "Content-Type",
    "application/json",
    "Cache-Control",
    "no-store",
    "X-Content-Type-Options",
    "nosniff",
  ];
}

function replaceHeader(headers: string[], name: string, value: string): void {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) {
      headers[index + 1] = value;
      return;
    }
  }
  headers.push(name, value);
}

function unknownEndpoint(request: HttpRequest, exchange: Exchange): Refusal {
  // The error repeats only as much of a path as a person would read.
  return new Refusal(
    "unknown_endpoint",
    `There is no ${request.method} ${exchange.path.slice(0, 200)}`,
  );
}

async function readRequest(
  match: RouteMatch,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): Promise<Message> {
  const { readBody: read } = match.route;
  if (read === null) return withPathFields(match, readBare(match, request, exchange));
  assertAnnouncedSize(request);
  if (exchange.awaitsContinue) response.writeContinue();
  const hold = (bytes: number) => exchange.holdBody(exchange.apiKeyId, bytes);
  return readWithBody(match, read, request, exchange, await readBody(request, { hold }));
}

function withPathFields({ route, parameters }: RouteMatch, message: Message): Message {
  for (const [index, name] of route.pathFields.entries())
    (message as Message & Record<string, unknown>)[name] = parameters[index];
  return message;
}

/**
 * Reads the parameters of a read from the query. A body has no meaning there, so it is refused and
 * not ignored.
 */
function readBare(match: RouteMatch, request: HttpRequest, exchange: Exchange): Message {
  if (hasBody(request)) throw new Refusal("invalid_parameter", "This request takes no body");
  return match.route.readQuery(exchange.query);
}

function readWithBody(
  match: RouteMatch,
  read: (body: Uint8Array) => Message,
  request: HttpRequest,
  exchange: Exchange,
  body: Uint8Array,
): Message {
  const absent = body.length === 0 && match.route.operation.bodyOptional;
  if (!absent) assertJsonBody(request);
  // The operation has no query parameter, so any query is refused.
  if (exchange.query !== "") match.route.readQuery(exchange.query);
  return withPathFields(match, read(absent ? emptyObject : body));
}

const emptyObject = new TextEncoder().encode("{}");

function statusOf(operation: Operation, message: object): number {
  const { partialStatus } = operation;
  const rejected =
    "rejected" in message && typeof message.rejected === "number" && message.rejected > 0;
  return partialStatus !== null && rejected ? partialStatus : operation.successStatus;
}
