/** Reads answers off an HTTP/1.1 connection as a load generator must: whole, one after the other, and looked at no more than needed. */
import type { Socket } from "node:net";

const headEnd = Buffer.from("\r\n\r\n");

/**
 * Calls `onAnswer` for each whole answer of the connection, with its head and body; the body is valid during the call only. Every answer must have
 * a Content-Length, and the next request may be sent from the call on.
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
