/**
 * Writes one whole response, and leaves the connection in a state that the client can read it from: a body that was not
 * read is thrown away within bounds, and beyond them the connection ends.
 */
import { constants } from "node:http2";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
import { hasBody } from "./read-body.ts";

/** An unread body up to this size is read and thrown away, which costs less than a new connection. */
const discardedBytes = 65_536;
/** How much of a larger one is taken while the client reads our answer; an end at once would reset its connection. */
const lingeringBytes = 8_388_608;
/** How long that lasts at most: with it a client of 1 Mbit/s gets a body of the limit across. */
const lingeringMs = 10_000;

/** Writes status, header fields (name, value, name, value …) and the body, and ends the response. Does nothing where the client has gone. */
export function respond(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  headers: string[],
  body: string | Buffer,
): void {
  if (response.headersSent || response.destroyed) return;
  // What holds a library's end back (`lingerAfterAnswer`) would drop the body of this one.
  Reflect.deleteProperty(response, "end");
  const length = Buffer.byteLength(body);
  // ASCII is the same in both, and Latin-1 goes to the socket without being encoded. A buffer is
  // written as it is.
  const encoding = length === body.length ? "latin1" : "utf8";
  headers.push("Content-Length", String(length));
  if (request.complete || !hasBody(request)) {
    response.writeHead(status, headers).end(body, encoding);
  } else if (request.stream !== undefined) {
    closeAfterAnswer(request);
    response.writeHead(status, headers).end(body, encoding);
  } else if (isDiscardable(request)) {
    // Node throws the rest away by itself once the response has ended.
    response.writeHead(status, headers).end(body, encoding);
  } else {
    headers.push("Connection", "close");
    response.writeHead(status, headers).write(body, encoding);
    linger(request, response);
  }
}

/** How long a closed stream may linger here: a client that never ends its body would hold it as long as its session. */
const closedStreamMs = 1_000;

/**
 * Over HTTP/2: once the answer is whole, the rest of a body is of no use, and the stream is closed (RFC 9113, 8.1). Node tells
 * `finish` only when the stream has closed, so the last data is known by `wantTrailers`; the trailers still have to go out.
 */
export function closeAfterAnswer(request: HttpRequest): void {
  const { stream } = request;
  stream?.once("wantTrailers", () => {
    setImmediate(() => {
      // Its client has ended it meanwhile, and it closes by itself.
      if (request.complete) return;
      stream.close(constants.NGHTTP2_NO_ERROR);
      setTimeout(() => stream.destroy(), closedStreamMs).unref();
    });
  });
}

/**
 * Over HTTP/1.1, where a library reads the request and writes the answer, and calls `end` without a body: what is left to read
 * by then is taken within bounds before the answer ends, and beyond them the connection ends with it. To close it at once
 * would reset it under a client that still sends, and that client could lose the answer. RFC 9112, 9.6.
 */
export function lingerAfterAnswer(request: HttpRequest, response: HttpResponse): void {
  // To break off reading must not destroy the request: its connection would go with it, and the answer.
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

/** A client that waits for `100 Continue` may leave its body out, so that nothing would tell where the next request begins. */
function isDiscardable({ headers }: HttpRequest): boolean {
  const length = Number(headers["content-length"] ?? Number.POSITIVE_INFINITY);
  return length <= discardedBytes && headers.expect === undefined;
}

/** The answer is on its way; the response, and with it the connection, ends when the client has stopped sending. */
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
