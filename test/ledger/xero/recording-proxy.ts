/**
 * Stands between the adapter and the demo ledger and records both sides. Tests check the record
 * against Xero's OpenAPI file.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One exchange as it went over the wire. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly sent: string;
  readonly status: number;
  readonly answer: string;
}

/** A running proxy. */
export interface RecordingProxy {
  readonly url: string;
  readonly exchanges: Exchange[];
  stop(): Promise<void>;
}

// Said by fetch itself, or true of one connection only.
const ownHeaders = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "expect",
]);

/** Starts one in front of `target`. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const sent = Buffer.concat(chunks).toString("utf8");
    const method = incoming.method ?? "GET";
    const url = new URL(incoming.url ?? "/", target);
    const headers = Object.entries(incoming.headers).filter(([name]) => !ownHeaders.has(name));
    const reply = await fetch(url, {
      method,
      headers: headers.map(([name, value]) => [name, String(value)] as [string, string]),
      ...(sent === "" ? {} : { body: sent }),
    });
    const answer = await reply.text();
    exchanges.push({ method, url, headers: incoming.headers, sent, status: reply.status, answer });
    response
      .writeHead(reply.status, {
        "content-type": reply.headers.get("content-type") ?? "text/plain",
      })
      .end(answer);
  });
  // Longer than any client keeps a connection: none is ended under a request that is on its way.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
