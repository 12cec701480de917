/** The floor of HTTP: bare node:http that reads a body and returns fixed bytes. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A running floor. */
interface HttpFloor {
  readonly port: number;
  readonly stop: () => void;
}

/**
 * Starts the floor in this process. It answers every request with the status and the text, once its
 * whole body of `bodyBytes` has arrived.
 */
export async function startHttpFloor(
  status: number,
  text: string,
  bodyBytes: number,
): Promise<HttpFloor> {
  const length = Buffer.byteLength(text);
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      assert.equal(Buffer.concat(chunks).length, bodyBytes);
      response
        .writeHead(status, { "Content-Type": "application/json", "Content-Length": length })
        .end(text);
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return { port: (server.address() as AddressInfo).port, stop: () => server.close() };
}
