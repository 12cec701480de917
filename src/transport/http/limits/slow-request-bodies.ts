/**
 * Ends requests with a slow body: below 1 KB a second after 5 s. It also ends HTTP/2 requests whose
 * body takes longer than a request may, since Node has no such clock for HTTP/2.
 */

import { constants } from "node:http2";
import type { Socket } from "node:net";
import type { HttpRequest } from "../../rest/exchange.ts";
import type { HttpLimits } from "./limits.ts";

interface Receiving {
  readonly request: HttpRequest;
  readonly startedMs: number;
  readonly isStream: boolean;
  /** Bytes that the connection had received when the request began. */
  readonly bytesBefore: number;
}

/** Watches the bodies that are being received. */
export type SlowBodies = ReturnType<typeof watchSlowBodies>;

/** Starts the watch. `refuse` answers a slow HTTP/1.1 request and ends its connection. */
export function watchSlowBodies(limits: HttpLimits, refuse: (socket: Socket) => void) {
  const receiving = new Set<Receiving>();
  const check = () => {
    const nowMs = performance.now();
    for (const body of receiving) {
      const isBodyOver = isOver(body.request);
      if (!isBodyOver && !isSlow(body, nowMs, limits)) continue;
      receiving.delete(body);
      if (!isBodyOver) end(body.request, refuse);
    }
  };
  const timer = setInterval(check, limits.checkEveryMs).unref();
  return {
    /**
     * Watches a request that has a body. A stream of messages may pause, so only the total time
     * applies to it. Returns the function to call once its response has closed.
     */
    watch(request: HttpRequest, startedMs: number, isStream: boolean): () => void {
      const bytesBefore = bytesReceived(request);
      const body: Receiving = { request, startedMs, isStream, bytesBefore };
      receiving.add(body);
      // A body may continue after its answer.
      return () => {
        if (isOver(request)) receiving.delete(body);
      };
    },
    stop: () => clearInterval(timer),
  };
}

function isOver({ complete, destroyed }: HttpRequest): boolean {
  return complete || destroyed;
}

function bytesReceived(request: HttpRequest): number {
  const { stream } = request;
  if (stream === undefined) return request.socket.bytesRead;
  return stream.session?.socket.bytesRead ?? 0;
}

function isSlow(
  { request, startedMs, isStream, bytesBefore }: Receiving,
  nowMs: number,
  limits: HttpLimits,
): boolean {
  const elapsedMs = nowMs - startedMs;
  // Node ends an HTTP/1.1 request that takes too long.
  if (request.stream !== undefined && elapsedMs > limits.requestMs) return true;
  if (isStream || elapsedMs <= limits.slowBodyAfterMs) return false;
  const least = (limits.slowestBytesPerSecond * elapsedMs) / 1_000;
  return bytesReceived(request) - bytesBefore < least;
}

function end(request: HttpRequest, refuse: (socket: Socket) => void): void {
  if (request.stream === undefined) refuse(request.socket);
  else request.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
