/**
 * Ends connections whose requests are refused again and again (LIMIT-2). A refused client is back
 * at once, so its refusals would take the time of clients with a key.
 */
import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";
import { endAfterNextAnswer } from "../refuse-socket.ts";
import type { HttpLimits } from "./limits.ts";

/** The refusals of each connection. */
export interface RefusedRequests {
  /** Counts a refused request. The last that is allowed ends the connection. */
  count(connection: Socket | Http2Session): void;
}

interface Refusals {
  count: number;
  /** Up to this time refusals have been forgiven. */
  forgivenMs: number;
}

/**
 * Creates the counts. A refusal is forgiven every `refusalForgivenMs`, so that a client that tries
 * a wrong key now and then keeps its connection. Open requests are answered before the end, because
 * the connection may be a proxy's, with other clients' requests.
 */
export function limitRefusedRequests({
  refusals: most,
  refusalForgivenMs,
}: Pick<HttpLimits, "refusals" | "refusalForgivenMs">): RefusedRequests {
  const refusals = new WeakMap<object, Refusals>();
  return {
    count: (connection) => {
      const nowMs = performance.now();
      const entry = refusals.get(connection) ?? { count: 0, forgivenMs: nowMs };
      refusals.set(connection, entry);
      const forgiven = Math.floor((nowMs - entry.forgivenMs) / refusalForgivenMs);
      entry.forgivenMs += forgiven * refusalForgivenMs;
      entry.count = Math.max(0, entry.count - forgiven) + 1;
      if (entry.count >= most) end(connection);
    },
  };
}

function end(connection: Socket | Http2Session): void {
  if (!("goaway" in connection)) endAfterNextAnswer(connection);
  else if (!connection.closed) connection.close();
}
