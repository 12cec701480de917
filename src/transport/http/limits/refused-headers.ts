/**
 * Ends HTTP/2 sessions whose header blocks are refused repeatedly. A few kilobytes of references
 * expand to megabytes, and Node refuses each such stream without an event. The watch counts streams
 * that were opened and never became requests.
 */
import { constants, type ServerHttp2Session } from "node:http2";
import type { HttpLimits } from "./limits.ts";

interface Watched {
  readonly session: ServerHttp2Session;
  /** The number of its streams that became requests. */
  taken: number;
}

/** Starts the watch with the given limits. */
export function watchRefusedHeaders({ headersCheckMs, refusedHeaders }: HttpLimits) {
  const watched = new Set<Watched>();
  const check = () => {
    for (const { session, taken } of watched) {
      if (session.destroyed) continue;
      const refused = openedStreams(session) - taken;
      // A client may skip stream numbers, but not more of them than it uses.
      if (refused > Math.max(refusedHeaders, taken)) end(session);
    }
  };
  const timer = setInterval(check, headersCheckMs).unref();
  return {
    watch(session: ServerHttp2Session) {
      const entry: Watched = { session, taken: 0 };
      watched.add(entry);
      session.on("stream", () => {
        entry.taken += 1;
      });
      session.once("close", () => watched.delete(entry));
    },
    stop: () => clearInterval(timer),
  };
}

function end(session: ServerHttp2Session): void {
  // Node sends the code only together with an error.
  session.destroy(
    new Error("too many header blocks were refused"),
    constants.NGHTTP2_ENHANCE_YOUR_CALM,
  );
}

/** Clients open streams with odd, rising numbers. */
function openedStreams({ state }: ServerHttp2Session): number {
  return ((state.lastProcStreamID ?? 0) + 1) >> 1;
}
