/**
 * Ends HTTP/2 connections that reset their requests as fast as they send them. One read of a socket
 * holds about a thousand such requests, and Node's own limit acts only after the whole read.
 */
import { constants, type ServerHttp2Session } from "node:http2";
import type { HttpLimits } from "./limits.ts";

/**
 * Returns the watch of a session. It ends the session at the first stream beyond
 * `streamsPerBurst`, and the rest of the read is dropped.
 */
export function limitStreamBursts({
  streamsPerBurst,
}: Pick<HttpLimits, "streamsPerBurst">): (session: ServerHttp2Session) => void {
  return (session) => {
    let opened = 0;
    const clear = () => {
      opened = 0;
    };
    session.on("stream", () => {
      opened += 1;
      if (opened === 1) setImmediate(clear);
      if (opened <= streamsPerBurst || session.destroyed) return;
      // Node sends the code only together with an error.
      session.destroy(
        new Error("too many streams were opened and reset at once"),
        constants.NGHTTP2_ENHANCE_YOUR_CALM,
      );
    });
  };
}

/** The length of a frame's head, and the type of a frame that resets it (RFC 9113, 4.1, 6.4). */
const headBytes = 9;
const resetType = 3;

/**
 * Returns how many streams are reset in the bytes, which begin with a whole frame. The session gets
 * the first bytes of a connection in one piece, so its watch would end it too late.
 */
export function countResets(bytes: Buffer): number {
  let resets = 0;
  for (let at = 0; at + headBytes <= bytes.length; at += headBytes + bytes.readUIntBE(at, 3))
    if (bytes.readUInt8(at + 3) === resetType) resets += 1;
  return resets;
}
