/**
 * Begins and ends every exchange: dispatches it by path and reports it to the log when it is over.
 */
import { constants } from "node:http2";
import { Refusal } from "../../domain/refusal.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../rest/exchange.ts";
import { hasBody } from "../rest/read-body.ts";
import { closeAfterAnswer, lingerAfterAnswer, respondError } from "../rest/respond.ts";
import { createReportError } from "../rpc/refusals.ts";
import { createKeylessQueue } from "./limits/keyless-queue.ts";
import type { KeylessRequests } from "./limits/keyless-requests.ts";
import type { SlowBodies } from "./limits/slow-request-bodies.ts";
import type { UnreadAnswers } from "./limits/stalled-responses.ts";
import type { countUnfinishedBodies } from "./limits/unfinished-bodies.ts";
import { isRefused, noteAnswered, noteTaken, refuseSocket, takeLast } from "./refuse-socket.ts";
import { beginExchange, isWellFormed, replaceHost, takeOriginForm } from "./request-head.ts";
import type { HttpParts } from "./server.ts";
import type { HttpAnswer } from "./system-endpoints.ts";

/** Runs the handling of a request, with whatever context its log lines and spans need. */
export type Within = (request: HttpRequest, exchange: Exchange, run: () => void) => void;

/** The handlers of the paths and the observers of the exchanges. */
interface ExchangeParts
  extends Pick<
    HttpParts,
    "ledgerEndpoints" | "rest" | "connect" | "log" | "logFailure" | "within"
  > {
  readonly systemAnswers: ReadonlyMap<string, HttpAnswer>;
  readonly slowBodies: SlowBodies;
  readonly unreadAnswers: UnreadAnswers;
  readonly keyless: KeylessRequests;
  readonly holdBodies: ReturnType<typeof countUnfinishedBodies>;
  readonly isDraining: () => boolean;
}

/**
 * `/billing.v1.SubscriptionService/CreateSubscription`: a service always has a package, so a dot.
 */
const procedurePath = /^\/[A-Za-z_]\w*(?:\.\w+)+\/\w+$/;
/** Probes come every few seconds, and their lines would bury the others. */
const unlogged = new Set([
  "/healthz",
  "/readyz",
  "/metrics",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
]);

/**
 * Paths of the service have at most 60 characters. More of an unknown path is of no use in a log.
 */
const maxLoggedPathLength = 200;

const connectExchanges = new WeakMap<object, Exchange>();

/**
 * Returns the exchange of a request of the Connect handler, which notes there what the log needs.
 * Undefined for any other request.
 */
export function exchangeOf(request: object): Exchange | undefined {
  return connectExchanges.get(request);
}

/** Creates the listener of `request` for both HTTP versions. */
export function exchanges(
  parts: ExchangeParts,
): (request: HttpRequest, response: HttpResponse, awaitsContinue: boolean) => void {
  const startInTurn = createKeylessQueue();
  return (request, response, awaitsContinue) => {
    if (request.stream === undefined) {
      // After a request that ends the connection, later ones are not carried out, because they
      // cannot be answered.
      if (isRefused(request.socket)) return;
      if (!isWellFormed(request)) {
        refuseSocket(request.socket, 400);
        return;
      }
    }
    takeOriginForm(request);
    const exchange = beginExchange(request, awaitsContinue, parts.holdBodies());
    if (request.stream === undefined) {
      noteTaken(request, response);
      if (takeLast(request.socket) || parts.isDraining()) response.shouldKeepAlive = false;
    }
    const unwatchBody = hasBody(request)
      ? parts.slowBodies.watch(request, exchange.startedMs, isOpenService(exchange))
      : null;
    const unwatchAnswer = parts.unreadAnswers.watch(response);
    const release = parts.keyless.admit(request, response, exchange);
    // One listener for all, because each costs as much as its work. Node emits `close` once.
    response.on("close", () => {
      if (request.stream === undefined) noteAnswered(request, response);
      unwatchBody?.();
      unwatchAnswer();
      end(parts, request, response, exchange);
      release?.();
    });
    // `close` reports a fault of the connection. Without this listener the fault would end the
    // process.
    request.on("error", ignore);
    response.on("error", ignore);
    if (release === null) refuseExcess(parts, request, response, exchange);
    else if (!isOpenService(exchange)) {
      const run = () => dispatch(parts, request, response, exchange);
      if (parts.within === undefined) run();
      else parts.within(request, exchange, run);
    } else {
      startInTurn(request.stream?.session ?? request.socket, () => {
        if (!(request.stream ?? response).destroyed) dispatch(parts, request, response, exchange);
      });
    }
  };
}

function ignore(): void {}

/**
 * gRPC's own services (health, reflection) need no key, and reflection is the only one to which a
 * client sends more than one message.
 */
function isOpenService(exchange: Exchange): boolean {
  return exchange.path.startsWith("/grpc.");
}

function dispatch(
  parts: ExchangeParts,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): void {
  const systemAnswer = findSystemAnswer(parts, request.method, exchange.path);
  if (systemAnswer !== undefined) answer(parts, systemAnswer, request, response, exchange);
  else if (!exchange.path.startsWith("/v1/") && procedurePath.test(exchange.path)) {
    connect(parts, request, response, exchange);
  } else {
    exchange.protocol = "rest";
    answer(parts, parts.rest, request, response, exchange);
  }
}

function findSystemAnswer(
  parts: ExchangeParts,
  method: string | undefined,
  path: string,
): HttpAnswer | undefined {
  if (method === "GET") return parts.systemAnswers.get(path);
  return method === "POST" ? parts.ledgerEndpoints?.get(path) : undefined;
}

function answer(
  parts: ExchangeParts,
  handler: HttpAnswer,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): void {
  Promise.resolve(handler(request, response, exchange)).then(
    () => parts.keyless.written(response),
    (error: unknown) => fail(parts, error, request, response, exchange),
  );
}

/**
 * Over HTTP/1.1 answers 502, over HTTP/2 resets the stream. Nothing of the request was carried out,
 * so clients may send it again. Over HTTP/2 the reset alone says so (RFC 9113, 8.7).
 */
function refuseExcess(
  parts: ExchangeParts,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): void {
  const message = "Too many requests without a valid key are open; please retry";
  const refusal = new Refusal("temporarily_unavailable", message, null, 1);
  if (response.stream !== undefined) {
    exchange.code = refusal.code;
    // Only the log uses this status.
    response.statusCode = 502;
    response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  fail(parts, refusal, request, response, exchange);
}

/**
 * The Connect library writes its own responses, so the headers of every response are set before.
 */
function connect(
  parts: ExchangeParts,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): void {
  connectExchanges.set(request, exchange);
  exchange.protocol = "connect";
  response.setHeader("Request-Id", exchange.requestId);
  response.setHeader("X-Content-Type-Options", "nosniff");
  if (exchange.awaitsContinue) response.writeContinue();
  // Reading a body to its end has ended the client's side. Any other body would hold the stream
  // open or cause a reset.
  if (!request.complete && hasBody(request)) {
    if (request.stream === undefined) lingerAfterAnswer(request, response);
    else closeAfterAnswer(request);
  }
  replaceHost(request);
  try {
    parts.connect(request, response);
  } catch (error) {
    fail(parts, error, request, response, exchange);
  }
}

/** Answers with an error. It is the last resort if a handler failed to answer. */
function fail(
  parts: ExchangeParts,
  error: unknown,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): void {
  const report = createReportError(parts.logFailure)(error, exchange.requestId);
  respondError(request, response, exchange, report);
}

function end(
  parts: ExchangeParts,
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
): void {
  const answered = response.writableFinished;
  if (!answered) exchange.abort?.abort();
  if (parts.isDraining() && response.stream === undefined) request.socket.destroySoon();
  if (unlogged.has(exchange.path)) return;
  const { requestId, operation, organisationId, apiKeyId, protocol, code } = exchange;
  parts.log({
    requestId,
    httpVersion: request.httpVersion,
    method: request.method ?? "",
    path: exchange.path.slice(0, maxLoggedPathLength),
    operation,
    organisationId,
    apiKeyId,
    protocol,
    status: response.statusCode,
    code,
    durationMs: performance.now() - exchange.startedMs,
    answered,
    ...(exchange.traceId !== null && { traceId: exchange.traceId }),
  });
}
