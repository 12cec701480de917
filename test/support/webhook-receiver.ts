/**
 * A receiver of webhooks: a real HTTP server on loopback that keeps what it is sent and answers as
 * a test wants it.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

/** A request as it came. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What it answers; `hangUp` ends the connection instead. */
interface ReceiverAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** Answered once so many requests have come to the path. */
  readonly onceCame?: number;
  readonly afterMs?: number;
  readonly hangUp?: boolean;
}

/** A running receiver. */
export interface WebhookReceiver {
  /** The address of a path of it. */
  url(path: string): string;
  /** Has a path answer like that from now on; 200 until then. */
  answer(path: string, answer: ReceiverAnswer | ((nth: number) => ReceiverAnswer)): void;
  /** What came to a path so far. */
  received(path: string): readonly Received[];
  /** The most requests that a path had to answer at once. */
  maxAtOnce(path: string): number;
  /** Answers what waits for `onceCame`, however many came. */
  release(path: string): void;
  stop(): Promise<void>;
}

interface Path {
  readonly received: Received[];
  answer: (nth: number) => ReceiverAnswer;
  open: number;
  most: number;
  readonly waiting: { readonly count: number; readonly come: () => void }[];
}

/** Starts it on a free port. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const paths = new Map<string, Path>();
  const at = (name: string): Path => {
    const path = paths.get(name) ?? {
      received: [],
      answer: () => ({}),
      open: 0,
      most: 0,
      waiting: [],
    };
    paths.set(name, path);
    return path;
  };
  const server = createServer(async (request, response) => {
    const path = at(request.url ?? "");
    path.open += 1;
    path.most = Math.max(path.most, path.open);
    response.once("close", () => {
      path.open -= 1;
    });
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString("utf8");
      path.received.push({ path: request.url ?? "", headers: request.headers, body });
    } catch {
      // The sender aborted: nothing was received.
      return;
    }
    const count = path.received.length;
    for (const { come } of path.waiting.filter((one) => one.count <= count)) come();
    const {
      status = 200,
      headers = {},
      body = "",
      afterMs = 0,
      hangUp = false,
      onceCame = 0,
    } = path.answer(count);
    if (count < onceCame)
      await new Promise<void>((come) => path.waiting.push({ count: onceCame, come }));
    if (afterMs > 0) await wait(afterMs);
    if (hangUp) response.destroy();
    else response.writeHead(status, headers).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    answer: (path, answer) => {
      at(path).answer = typeof answer === "function" ? answer : () => answer;
    },
    received: (path) => at(path).received,
    maxAtOnce: (path) => at(path).most,
    release: (path) => {
      for (const { come } of at(path).waiting) come();
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
