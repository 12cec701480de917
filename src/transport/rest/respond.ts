/**
 * Writes one whole response, also of a failed request, so that the client can read it. An unread
 * body is discarded within bounds. Beyond them the connection ends.
 */
import { constants } from "node:http2";
import type { ErrorReport } from "../rpc/refusals.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange.ts";
import { hasBody } from "./read-body.ts";

/** An unread body up to this size is discarded, which costs less than a new connection. */
const discardedBytes = 65_536;
/**
 * How much of a larger body is read while the client reads the answer. An immediate end would reset
 * its connection.
 */
const lingeringBytes = 8_388_608;
/** The longest time for that. It lets a client of 1 Mbit/s send a body of the limit. */
const lingeringMs = 10_000;

/** Header fields of a response by their names. */
export type HeaderFields = Readonly<Record<string, string>>;

/** Returns the header fields of a response that is not public. */
export function responseHeaders(
  { requestId }: Pick<Exchange, "requestId">,
  contentType = "application/json",
): Record<string, string> {
  return {
    "Request-Id": requestId,
    "Content-Type": contentType,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  };
}

/**
 * Writes the status, the header fields and the body, and ends the response. Does nothing if the
 * client has disconnected.
 */
export function respond(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  headers: HeaderFields,
  body: string | Buffer,
): void {
  if (response.headersSent || response.destroyed) return;
  // The delayed `end` of `lingerAfterAnswer` is for a library's answer and would drop this body.
  if (Object.hasOwn(response, "end")) Reflect.deleteProperty(response, "end");
  const fields = { ...headers, "Content-Length": String(Buffer.byteLength(body)) };
  const isUnread = !request.complete && hasBody(request);
  if (isUnread && request.stream === undefined && !isDiscardable(request)) {
    response.writeHead(status, { ...fields, Connection: "close" }).write(body);
    linger(request, response);
    return;
  }
  // Over HTTP/1.1 Node discards the rest by itself once the response has ended.
  if (isUnread) closeAfterAnswer(request);
  response.writeHead(status, fields).end(body);
}

type EnvelopeMember = "type" | "code" | "message" | "param" | "requestId";

/** Returns the body of a failed request: `{"error":{type, code, message, param?, request_id}}`. */
export function errorEnvelope(error: Pick<ErrorReport, EnvelopeMember>): string {
  const { type, code, message, requestId } = error;
  const param = error.param ?? undefined;
  return JSON.stringify({ error: { type, code, message, param, request_id: requestId } });
}

/** Answers with an error in place of the response that these headers are of (REQUEST-15). */
export function respondError(
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
  report: ErrorReport,
  headers: HeaderFields = responseHeaders(exchange),
): void {
  exchange.code = report.code;
  const seconds = report.retryAfterSeconds;
  const retry = seconds === null ? {} : { "Retry-After": String(seconds) };
  respond(request, response, report.status, { ...headers, ...retry }, errorEnvelope(report));
}

/**
 * How long a closed stream may stay open here. A client that never ends its body would hold it as
 * long as its session.
 */
const closedStreamMs = 1_000;

/**
 * Over HTTP/2, closes the stream once the answer is whole, because the rest of a body is of no use
 * (RFC 9113, 8.1). Node emits `finish` only when the stream has closed, so `wantTrailers` marks the
 * last data. The trailers still have to be sent.
 */
export function closeAfterAnswer(request: HttpRequest): void {
  const { stream } = request;
  stream?.once("wantTrailers", () => {
    setImmediate(() => {
      // The client has ended the body in the meantime, so the stream closes by itself.
      if (request.complete) return;
      stream.close(constants.NGHTTP2_NO_ERROR);
      setTimeout(() => stream.destroy(), closedStreamMs).unref();
    });
  });
}

/**
 * Delays the end of an answer over HTTP/1.1 if a library reads the request and calls `end` without
 * a body. The unread rest of the body is discarded within bounds before the answer ends. Beyond
 * them the connection ends too. An immediate close would reset a client that still sends, and it
 * could lose the answer (RFC 9112, 9.6).
 */
export function lingerAfterAnswer(request: HttpRequest, response: HttpResponse): void {
  // Stopping the read must not destroy the request, because its connection and the answer would end
  // with it.
  Object.defineProperty(request, Symbol.asyncIterator, {
    value: () => request.iterator({ destroyOnReturn: false }),
  });
  response.end = () => {
    Reflect.deleteProperty(response, "end");
    if (request.complete) return response.end();
    response.once("finish", () => {
      if (!request.complete) request.socket.destroySoon();
    });
    linger(request, response);
    return response;
  };
}

/**
 * A client that waits for `100 Continue` may leave its body out. Then nothing marks the start of
 * the next request.
 */
function isDiscardable({ headers }: HttpRequest): boolean {
  const length = Number(headers["content-length"] ?? Number.POSITIVE_INFINITY);
  return length <= discardedBytes && headers.expect === undefined;
}

/**
 * The answer is being sent. The response, and with it the connection, ends when the client has
 * stopped sending.
 */
function linger(request: HttpRequest, response: HttpResponse): void {
  let left = lingeringBytes;
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingeringMs);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) end();
  });
  request.once("close", end);
  request.once("end", end);
  request.resume();
}
