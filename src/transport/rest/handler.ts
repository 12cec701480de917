/**
 * Answers REST requests: HTTP in, a message to the operation, its response or refusal out as JSON.
 * The checks run in the order of REQUEST-1. The handler has no billing logic: gate and call are
 * injected.
 */
import type { Message } from "@bufbuild/protobuf";
import { Refusal } from "../../domain/refusal.ts";
import type { CallOperation } from "../rpc/call.ts";
import { type Caller, credentialIdOf, organisationIdOf, type Principal } from "../rpc/caller.ts";
import type { Gate, SetHeader } from "../rpc/gate/gate.ts";
import type { Operation } from "../rpc/operation.ts";
import type { ReportError } from "../rpc/refusals.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange.ts";
import { assertAnnouncedSize, assertJsonBody, hasBody, readBody } from "./read-body.ts";
import { respond, respondError, responseHeaders } from "./respond.ts";
import type { FindRoute, RouteMatch } from "./routes.ts";

/** The dependencies of the handler. */
export interface GatewayParts<C extends Principal = Caller> {
  readonly findRoute: FindRoute;
  /** The checks of key, rate, scope and `Idempotency-Key`, before the body is read (REQUEST-1). */
  readonly gate: Gate<C>;
  /** Validation, idempotency and the operation itself. */
  readonly call: CallOperation<C>;
  readonly reportError: ReportError;
}

/**
 * Returns the handler of all requests except those of system endpoints. It answers every request
 * and never throws.
 */
export function restHandler<C extends Principal = Caller>(
  parts: GatewayParts<C>,
): (request: HttpRequest, response: HttpResponse, exchange: Exchange) => Promise<void> {
  return async (request, response, exchange) => {
    const headers = responseHeaders(exchange);
    const setHeader: SetHeader = (name, value) => {
      headers[name] = value;
    };
    try {
      const match = parts.findRoute(request.method ?? "", exchange.path);
      if (match === null) throw unknownEndpoint(request, exchange);
      const { operation } = match.route;
      const { credentials, requestId } = exchange;
      exchange.operation = operation.name;
      const pass = await parts.gate(operation, credentials, requestId, setHeader);
      exchange.organisationId = organisationIdOf(pass.caller);
      exchange.apiKeyId = credentialIdOf(pass.caller);
      const message = await readRequest(match, request, response, exchange);
      exchange.abort = new AbortController();
      const answer = await parts.call(pass, message, { signal: exchange.abort.signal });
      const text = match.route.write(answer.message);
      if (answer.replayed) setHeader("Idempotent-Replayed", "true");
      respond(request, response, statusOf(operation, answer.message), headers, text);
    } catch (error) {
      const report = parts.reportError(error, exchange.requestId);
      respondError(request, response, exchange, report, headers);
    }
  };
}

function unknownEndpoint(request: HttpRequest, exchange: Exchange): Refusal {
  // The error repeats only as much of a path as a person would read.
  return new Refusal(
    "unknown_endpoint",
    `There is no ${request.method} ${exchange.path.slice(0, 200)}`,
  );
}

/** Returns the message with the fields that the path carries. */
async function readRequest(
  { route, parameters }: RouteMatch,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): Promise<Message> {
  const message: Message & Record<string, unknown> =
    route.readBody === null
      ? readBare(route, request, exchange)
      : await readWithBody(route, route.readBody, request, response, exchange);
  for (const [index, name] of route.pathFields.entries()) message[name] = parameters[index];
  return message;
}

/**
 * Reads the parameters of a read from the query. A body has no meaning there, so it is refused and
 * not ignored.
 */
function readBare({ readQuery }: RouteMatch["route"], request: HttpRequest, exchange: Exchange) {
  if (hasBody(request)) throw new Refusal("invalid_parameter", "This request takes no body");
  return readQuery(exchange.query);
}

async function readWithBody(
  { operation, readQuery }: RouteMatch["route"],
  read: (body: Uint8Array) => Message,
  request: HttpRequest,
  response: HttpResponse,
  { query, awaitsContinue, holdBody, apiKeyId }: Exchange,
): Promise<Message> {
  assertAnnouncedSize(request);
  if (awaitsContinue) response.writeContinue();
  const body = await readBody(request, { hold: (bytes) => holdBody(apiKeyId, bytes) });
  const isAbsent = body.length === 0 && operation.bodyOptional;
  if (!isAbsent) assertJsonBody(request);
  // The operation has no query parameter, so any query is refused.
  readQuery(query);
  return read(isAbsent ? emptyObject : body);
}

const emptyObject = new TextEncoder().encode("{}");

function statusOf(operation: Operation, message: object): number {
  const { partialStatus } = operation;
  const rejected =
    "rejected" in message && typeof message.rejected === "number" && message.rejected > 0;
  return partialStatus !== null && rejected ? partialStatus : operation.successStatus;
}
