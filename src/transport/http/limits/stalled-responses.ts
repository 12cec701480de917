/**
 * Ends connections whose client does not read its answer. Unread bytes stay in memory, and the
 * OpenAPI document needs no key. An answer that continues (a health watch) is not whole and has no
 * time limit. If all unread answers together are too large, the connection that holds the most is
 * ended.
 */
import { constants } from "node:http2";
import type { HttpResponse } from "../../rest/exchange.ts";
import type { HttpLimits } from "./limits.ts";

/** Watches answers until their clients have read them. */
export type UnreadAnswers = ReturnType<typeof watchUnreadAnswers>;

interface Watched {
  readonly response: HttpResponse;
  /** The time when it was first found whole and unread. Null before. */
  wholeSinceMs: number | null;
}

/** Starts the watch, with a check every `checkEveryMs`. */
export function watchUnreadAnswers({ unreadMs, checkEveryMs, unreadBytes }: HttpLimits) {
  const open = new Set<Watched>();
  const check = () => {
    const nowMs = performance.now();
    for (const watched of open) {
      if (!watched.response.writableEnded) continue;
      watched.wholeSinceMs ??= nowMs;
      if (nowMs - watched.wholeSinceMs <= unreadMs) continue;
      open.delete(watched);
      end(watched.response);
    }
    for (const response of largest(open, unreadBytes)) end(response);
  };
  const timer = setInterval(check, checkEveryMs).unref();
  return {
    /** Returns the function that ends the watch of a response that has closed. */
    watch: (response: HttpResponse): (() => void) => {
      const watched: Watched = { response, wholeSinceMs: null };
      open.add(watched);
      return () => void open.delete(watched);
    },
    stop: () => clearInterval(timer),
  };
}

interface Holding {
  readonly response: HttpResponse;
  bytes: number;
}

/**
 * Returns one answer for each connection that must end, so that the others together hold at most
 * `maxBytes` bytes.
 */
function largest(open: Iterable<Watched>, maxBytes: number): readonly HttpResponse[] {
  const holdings = new Map<object, Holding>();
  let total = 0;
  for (const { response } of open) {
    const bytes = response.writableLength;
    if (bytes === 0) continue;
    const connection = response.stream === undefined ? response.socket : response.stream.session;
    const holding = holdings.get(connection ?? response) ?? { response, bytes: 0 };
    holding.bytes += bytes;
    holdings.set(connection ?? response, holding);
    total += bytes;
  }
  if (total <= maxBytes) return [];
  const ended: HttpResponse[] = [];
  for (const { response, bytes } of [...holdings.values()].sort(
    (one, other) => other.bytes - one.bytes,
  )) {
    if (total <= maxBytes) break;
    total -= bytes;
    ended.push(response);
  }
  return ended;
}

/** A client that reads none of its answers blocks its whole session, so the session ends too. */
function end(response: HttpResponse): void {
  if (response.stream === undefined) response.destroy();
  else if (response.stream.session === undefined) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.stream.session.destroy();
}
