/**
 * Answers input that never became a request (a malformed or endless head, a body that does not
 * arrive) and ends the connection.
 */
import type { Socket } from "node:net";
import { newId } from "../../store/database/ids.ts";
import type { HttpRequest, HttpResponse } from "../rest/exchange.ts";
import { errorEnvelope, responseHeaders } from "../rest/respond.ts";

const answers = {
  400: {
    reason: "Bad Request",
    code: "invalid_parameter",
    message: "The request is not valid HTTP",
  },
  408: {
    reason: "Request Timeout",
    code: "invalid_parameter",
    message: "The request came too slowly",
  },
  431: {
    reason: "Request Header Fields Too Large",
    code: "request_too_large",
    message: "The header is over 16 KB",
  },
} as const;

/** Returns the status for an error of Node's HTTP parser or clocks. */
export function statusOfSocketError(error: Error & { code?: string }): keyof typeof answers {
  if (error.code === "HPE_HEADER_OVERFLOW") return 431;
  return error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
}

interface Taken {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/** The open HTTP/1.1 requests of each connection, in the order in which they are answered. */
const taken = new WeakMap<Socket, Taken[]>();

/**
 * Records a request until its answer is written, so that `refuseSocket` does not write into that
 * answer's place.
 */
export function noteTaken(request: HttpRequest, response: HttpResponse): void {
  const { socket } = request;
  const open = taken.get(socket);
  if (open === undefined) taken.set(socket, [{ request, response }]);
  else open.push({ request, response });
}

/** Removes the record of a request whose response has closed. */
export function noteAnswered({ socket }: HttpRequest, response: HttpResponse): void {
  const open = taken.get(socket);
  if (open === undefined) return;
  // Mostly the first. A connection that ends with several open requests may close them in another
  // order.
  const place = open.findIndex((one) => one.response === response);
  if (place !== -1) open.splice(place, 1);
}

const refused = new WeakSet<Socket>();

/** How many more requests are taken of a connection that ends with the next one. */
const requestsLeft = new WeakMap<Socket, 0 | 1>();

/** Ends the connection after the answer to its next request. */
export function endAfterNextAnswer(socket: Socket): void {
  if (!requestsLeft.has(socket)) requestsLeft.set(socket, 1);
}

/** Whether this request is the last one of its connection. Later ones are not taken. */
export function takeLast(socket: Socket): boolean {
  if (requestsLeft.get(socket) !== 1) return false;
  requestsLeft.set(socket, 0);
  return true;
}

/** Whether the connection ends once the previous requests are answered. */
export function isRefused(socket: Socket): boolean {
  return refused.has(socket) || requestsLeft.get(socket) === 0;
}

/**
 * How long a client may continue to send after its last answer. An earlier end could cost the
 * client that answer.
 */
const lingeringMs = 1_000;

/**
 * Ends a connection because of its last input. Complete earlier requests are answered first: they
 * are carried out, so their clients must get the answer. An error envelope with a new `Request-Id`
 * follows, if it can still be sent.
 */
export function refuseSocket(socket: Socket, status: keyof typeof answers): void {
  // The parser reports every further piece of unreadable input.
  if (refused.has(socket)) return;
  refused.add(socket);
  const last = taken.get(socket)?.findLast(({ request }) => request.complete);
  if (last === undefined) {
    writeRefusal(socket, status);
    socket.destroySoon();
    return;
  }
  last.response.once("close", () => {
    if (!socket.writableEnded) writeRefusal(socket, status);
    const timer = setTimeout(() => socket.destroy(), lingeringMs).unref();
    socket.once("close", () => clearTimeout(timer));
  });
}

function writeRefusal(socket: Socket, status: keyof typeof answers): void {
  const answering = (socket as Socket & { _httpMessage?: { headersSent: boolean } | null })
    ._httpMessage;
  // If an answer has begun, the client would read any byte from here as part of that answer.
  if (!socket.writable || answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { reason, code, message } = answers[status];
  const requestId = newId();
  const type = "invalid_request_error";
  const body = errorEnvelope({ type, code, message, param: null, requestId });
  const fields = Object.entries({
    ...responseHeaders({ requestId }),
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${fields.join("")}\r\n${body}`);
}
