/** Answers what never became a request (a malformed or endless head, a body that does not come) and ends the connection. */
import type { Socket } from "node:net";
import { errorEnvelope } from "../gateway/error-envelope.ts";
import { newRequestId } from "./request-id.ts";

const answers = {
  400: { reason: "Bad Request", code: "invalid_parameter", message: "The request is not valid HTTP" },
  408: { reason: "Request Timeout", code: "invalid_parameter", message: "The request came too slowly" },
  431: { reason: "Request Header Fields Too Large", code: "request_too_large", message: "The header is over 16 KB" },
} as const;

/** The status for an error of Node's HTTP parser or clocks. */
export function statusOfSocketError(error: Error & { code?: string }): keyof typeof answers {
  if (error.code === "HPE_HEADER_OVERFLOW") return 431;
  return error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
}

/** Writes an error envelope with a `Request-Id` of its own onto the bare connection, where still possible, and ends it. */
export function refuseSocket(socket: Socket, status: keyof typeof answers): void {
  const answering = (socket as Socket & { _httpMessage?: { headersSent: boolean } | null })._httpMessage;
  // Within an answer that has begun, any byte of ours would be taken for a part of it.
  if (!socket.writable || answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { reason, code, message } = answers[status];
  const requestId = newRequestId();
  const body = errorEnvelope({ type: "invalid_request_error", code, message, param: null, requestId });
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nRequest-Id: ${requestId}\r\nContent-Type: application/json\r\n` +
      `Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  socket.destroySoon();
}
