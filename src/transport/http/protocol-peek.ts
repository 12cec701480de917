/**
 * Distinguishes HTTP/2 with prior knowledge from HTTP/1.1 by the first bytes of a connection, so
 * that both share one cleartext port.
 */
import type { Socket } from "node:net";
import type { HttpLimits } from "./limits/limits.ts";
import { countResets } from "./limits/stream-bursts.ts";

/** The first bytes of every HTTP/2 connection (RFC 9113, 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Takes over a connection in its protocol. */
type TakeConnection = (socket: Socket) => void;

/**
 * Waits for the first bytes of the socket, puts them back and hands the socket to the server of its
 * protocol. A connection that ends early, sends nothing for `firstByteMs` or begins with more
 * resets than a session has streams is destroyed.
 */
export function peekProtocol(
  socket: Socket,
  { firstByteMs, streamsPerSession }: Pick<HttpLimits, "firstByteMs" | "streamsPerSession">,
  http1: TakeConnection,
  http2: TakeConnection,
): void {
  let seen: Buffer = Buffer.alloc(0);
  const drop = () => void socket.destroy();
  const timer = setTimeout(drop, firstByteMs);
  const stopWaiting = () => clearTimeout(timer);
  const onData = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const common = Math.min(seen.length, preface.length);
    const isPreface = seen.compare(preface, 0, common, 0, common) === 0;
    // Only part of the preface has arrived. The rest decides.
    if (isPreface && seen.length < preface.length) return;
    stopWaiting();
    socket.off("data", onData).off("end", drop).off("error", drop).off("close", stopWaiting);
    if (isPreface && countResets(seen.subarray(preface.length)) > streamsPerSession) return drop();
    if (isPreface) socket.pause();
    socket.unshift(seen);
    (isPreface ? http2 : http1)(socket);
  };
  socket.on("data", onData).once("end", drop).once("error", drop).once("close", stopWaiting);
}
