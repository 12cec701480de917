/**
 * Reads answers from an HTTP/1.1 connection for a load generator: whole, in order, and with no more
 * parsing than needed.
 */
import type { Socket } from "node:net";

const headEnd = Buffer.from("\r\n\r\n");

/**
 * Calls `onAnswer` with the head and body of each whole answer. The body is valid during the call
 * only. Every answer must have a Content-Length. The callback may send the next request.
 */
export function readAnswers(socket: Socket, onAnswer: (head: string, body: Buffer) => void): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const head = pending.indexOf(headEnd);
    if (head === -1) return;
    const text = pending.toString("latin1", 0, head);
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (pending.length < head + headEnd.length + length) return;
    const body = pending.subarray(head + headEnd.length);
    pending = Buffer.alloc(0);
    onAnswer(text, body);
  });
}
