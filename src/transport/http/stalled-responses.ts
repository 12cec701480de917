/**
 * Ends connections whose client does not read its answer: what is unread stays in memory, and a
 * client needs no key to ask for the OpenAPI document. Answers that go on (a health watch) are not
 * whole, and may take as long as they like. If all unread answers together are too large, the
 * connection that holds the most is ended.
 */
import { constants } from "node:http2";
import type { HttpResponse } from "../rest/exchange.ts";
import type { HttpLimits } from "./limits.ts";

/** Watches over answers until the client has them. */
export interface UnreadAnswers {
  watch(response: HttpResponse): void;
  stop(): void;
}

/** Starts the watch. */
export function watchUnreadAnswers({ unreadMs, checkEveryMs, unreadBytes }: HttpLimits): UnreadAnswers {
  /** By response: when it was first seen whole and unread, null before. */
  const open = new Map<HttpResponse, number | null>();
  const check = () => {
    const nowMs = performance.now();
    for (const [response, wholeSinceMs] of open) {
      if (!response.writableEnded) continue;
      if (wholeSinceMs === null) open.set(response, nowMs);
      else if (nowMs - wholeSinceMs > unreadMs) {
        open.delete(response);
        end(response);
      }
    }
    for (const response of largest(open.keys(), unreadBytes)) end(response);
  };
  const timer = setInterval(check, checkEveryMs).unref();
  return {
    watch(response) {
      open.set(response, null);
      response.once("close", () => open.delete(response));
    },
    stop: () => clearInterval(timer),
  };
}

interface Holding {
  readonly response: HttpResponse;
  bytes: number;
}

/**
 * An answer of each connection that has to be ended, so that what the others hold is not over
 * `most`.
 */
function largest(open: Iterable<HttpResponse>, most: number): readonly HttpResponse[] {
  const holdings = new Map<object, Holding>();
  let total = 0;
  for (const response of open) {
    const bytes = response.writableLength;
    if (bytes === 0) continue;
    const connection = response.stream === undefined ? response.socket : response.stream.session;
    const holding = holdings.get(connection ?? response) ?? { response, bytes: 0 };
    holding.bytes += bytes;
    holdings.set(connection ?? response, holding);
    total += bytes;
  }
  if (total <= most) return [];
  const ended: HttpResponse[] = [];
  for (const { response, bytes } of [...holdings.values()].sort((one, other) => other.bytes - one.bytes)) {
    if (total <= most) break;
    total -= bytes;
    ended.push(response);
  }
  return ended;
}

/** A client that reads none of its answers holds the whole session, so that goes with it. */
function end(response: HttpResponse): void {
  if (response.stream === undefined) response.destroy();
  else if (response.stream.session === undefined) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.stream.session.destroy();
}
