/**
 * Answers REST requests: HTTP in, a message to the operation, its message or refusal out as JSON. It judges a request in
 * the order of decisions §1 and knows no billing word; gate and call are given.
 */
import type { Message } from "@bufbuild/protobuf";
import type { CallOperation } from "../rpc/call.ts";
import type { Gate, SetHeader } from "../rpc/gate.ts";
import type { Operation } from "../rpc/operation.ts";
import type { Tell } from "../rpc/refusals.ts";
import { errorEnvelope } from "./error-envelope.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange.ts";
import { assertAnnouncedSize, assertJsonBody, hasBody, readBody } from "./read-body.ts";
import { RequestFault } from "./request-fault.ts";
import { respond } from "./respond.ts";
import type { FindRoute, RouteMatch } from "./routes.ts";

/** What the gateway stands on. */
export interface GatewayParts {
  readonly findRoute: FindRoute;
  /** Steps 2 to 5 of decisions §1, before the body is read. */
  readonly pass: Gate["pass"];
  /** Validation, idempotency and the operation itself. */
  readonly call: CallOperation;
  readonly tell: Tell;
  /** A fault of the gateway's own as a refusal that `tell` understands. */
  readonly refusalOf: (fault: RequestFault) => Error;
}

/** The handler of every request that is none of the port's own paths. It answers all of them; it never throws. */
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
      const told = parts.tell(error instanceof RequestFault ? parts.refusalOf(error) : error, exchange.requestId);
      exchange.code = told.code;
      if (told.retryAfterSeconds !== null) setHeader("Retry-After", String(told.retryAfterSeconds));
      respond(request, response, told.status, headers, errorEnvelope(told));
    }
  };
}

/** The header fields of every response with a JSON body that is not public: names and values in turn. */
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

function unknownEndpoint(request: HttpRequest, exchange: Exchange): RequestFault {
  // A path is told back only as far as a person would read it.
  return new RequestFault("unknown_endpoint", `There is no ${request.method} ${exchange.path.slice(0, 200)}`);
}

async function readRequest(
  match: RouteMatch,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): Promise<Message> {
  const { route, parameters } = match;
  const message =
    route.readBody === null
      ? readBare(match, request, exchange)
      : await readWithBody(match, route.readBody, request, response, exchange);
  for (const [index, name] of route.pathFields.entries()) {
    (message as Message & Record<string, unknown>)[name] = parameters[index];
  }
  return message;
}

/** A read takes its parameters from the query; a body with it has no meaning and is refused rather than ignored. */
function readBare(match: RouteMatch, request: HttpRequest, exchange: Exchange): Message {
  if (hasBody(request)) throw new RequestFault("invalid_parameter", "This request takes no body");
  return match.route.readQuery(exchange.query);
}

async function readWithBody(
  match: RouteMatch,
  read: (body: Uint8Array) => Message,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): Promise<Message> {
  assertAnnouncedSize(request);
  if (exchange.awaitsContinue) response.writeContinue();
  const body = await readBody(request);
  const absent = body.length === 0 && match.route.operation.bodyOptional;
  if (!absent) assertJsonBody(request);
  // It knows no parameter, so that whatever stands there is refused.
  match.route.readQuery(exchange.query);
  return read(absent ? emptyObject : body);
}

const emptyObject = new TextEncoder().encode("{}");

function statusOf(operation: Operation, message: object): number {
  const { partialStatus } = operation;
  const rejected = "rejected" in message && typeof message.rejected === "number" && message.rejected > 0;
  return partialStatus !== null && rejected ? partialStatus : operation.successStatus;
}
