/**
 * Ends HTTP/2 sessions whose header blocks are refused again and again: a few kilobytes of
 * references expand to megabytes, and Node refuses each such stream without a word to us. It is
 * seen by the streams that were opened and never became requests.
 */
import { constants, type ServerHttp2Session } from "node:http2";
import type { HttpLimits } from "./limits.ts";

/** Watches over sessions. */
export interface RefusedHeaders {
  watch(session: ServerHttp2Session): void;
  stop(): void;
}

/** Starts the watch. */
export function watchRefusedHeaders({ headersCheckMs, refusedHeaders }: HttpLimits): RefusedHeaders {
  /** By session: how many of its streams became requests. */
  const requests = new Map<ServerHttp2Session, number>();
  const check = () => {
    for (const [session, taken] of requests) {
      if (session.destroyed) continue;
      const refused = openedStreams(session) - taken;
      // A client may skip numbers of streams, but not more of them than it uses.
      if (refused > Math.max(refusedHeaders, taken)) end(session);
    }
  };
  const timer = setInterval(check, headersCheckMs).unref();
  return {
    watch(session) {
      requests.set(session, 0);
      session.on("stream", () => requests.set(session, (requests.get(session) ?? 0) + 1));
      session.once("close", () => requests.delete(session));
    },
    stop: () => clearInterval(timer),
  };
}

function end(session: ServerHttp2Session): void {
  // Without an error Node would not send the code.
  session.destroy(new Error("too many header blocks were refused"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

/** Clients open streams with odd numbers, in rising order. */
function openedStreams({ state }: ServerHttp2Session): number {
  return ((state.lastProcStreamID ?? 0) + 1) >> 1;
}
