/**
 * Ends connections whose requests are refused again and again (LIMIT-2). A refused client is back
 * at once, so its refusals would take the time of clients with a key.
 */
import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";
import { endAfterNextAnswer } from "../refuse-socket.ts";
import type { HttpLimits } from "./limits.ts";

interface Refusals {
  count: number;
  /** Up to this time refusals have been forgiven. */
  forgivenMs: number;
}

/**
 * Creates the counts. Returns a function that counts a refused request of a connection. The last
 * that is allowed ends the connection. A refusal is forgiven every `refusalForgivenMs`, so that a
 * client that tries a wrong key now and then keeps its connection. Open requests are answered
 * before the end, because the connection may be a proxy's, with other clients' requests.
 */
export function limitRefusedRequests({
  refusals: maxRefusals,
  refusalForgivenMs,
}: Pick<HttpLimits, "refusals" | "refusalForgivenMs">): (
  connection: Socket | Http2Session,
) => void {
  const refusals = new WeakMap<object, Refusals>();
  return (connection) => {
    const nowMs = performance.now();
    const entry = refusals.get(connection) ?? { count: 0, forgivenMs: nowMs };
    refusals.set(connection, entry);
    const forgiven = Math.floor((nowMs - entry.forgivenMs) / refusalForgivenMs);
    entry.forgivenMs += forgiven * refusalForgivenMs;
    entry.count = Math.max(0, entry.count - forgiven) + 1;
    if (entry.count >= maxRefusals) end(connection);
  };
}

function end(connection: Socket | Http2Session): void {
  if (!("goaway" in connection)) endAfterNextAnswer(connection);
  else if (!connection.closed) connection.close();
}
