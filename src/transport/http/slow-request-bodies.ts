/**
 * Ends requests whose body comes too slowly: below 1 KB a second after 5 s, and for HTTP/2, where Node has no such clock,
 * whose body takes longer than a request may. facts-performance §5.3.
 */

import { constants } from "node:http2";
import type { Socket } from "node:net";
import type { HttpRequest } from "../rest/exchange.ts";
import type { HttpLimits } from "./limits.ts";

interface Receiving {
  readonly request: HttpRequest;
  readonly startedMs: number;
  readonly isStream: boolean;
  /** What the connection had received when the request began. */
  readonly bytesBefore: number;
}

/** Watches over the bodies that are being received. */
export interface SlowBodies {
  /** Begins to watch a request that has a body. A stream of messages may pause, and is held to the time alone. */
  watch(request: HttpRequest, startedMs: number, isStream: boolean): void;
  stop(): void;
}

/** Starts the watch; `refuse` answers a slow HTTP/1.1 request and ends its connection. */
export function watchSlowBodies(limits: HttpLimits, refuse: (socket: Socket) => void): SlowBodies {
  // HTTP/1.1 receives one body at a time on a connection, HTTP/2 many: the stream is the key there.
  const receiving = new Map<object, Receiving>();
  const check = () => {
    const nowMs = performance.now();
    for (const [key, body] of receiving) {
      if (body.request.complete || body.request.destroyed) receiving.delete(key);
      else if (isSlow(body, nowMs, limits)) {
        receiving.delete(key);
        end(body.request, refuse);
      }
    }
  };
  const timer = setInterval(check, limits.checkEveryMs).unref();
  return {
    watch(request, startedMs, isStream) {
      const key = request.stream ?? request.socket;
      receiving.set(key, { request, startedMs, isStream, bytesBefore: bytesReceived(request) });
    },
    stop: () => clearInterval(timer),
  };
}

function bytesReceived(request: HttpRequest): number {
  const { stream } = request;
  if (stream === undefined) return request.socket.bytesRead;
  return stream.session?.socket.bytesRead ?? 0;
}

function isSlow({ request, startedMs, isStream, bytesBefore }: Receiving, nowMs: number, limits: HttpLimits): boolean {
  const elapsedMs = nowMs - startedMs;
  // Node itself ends an HTTP/1.1 request that takes too long.
  if (request.stream !== undefined && elapsedMs > limits.requestMs) return true;
  if (isStream || elapsedMs <= limits.slowBodyAfterMs) return false;
  const least = (limits.slowestBytesPerSecond * elapsedMs) / 1_000;
  return bytesReceived(request) - bytesBefore < least;
}

function end(request: HttpRequest, refuse: (socket: Socket) => void): void {
  if (request.stream === undefined) refuse(request.socket);
  else request.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
