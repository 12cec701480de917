/** Receivers of webhooks for tests: HTTP servers on 127.0.0.1 that keep what they are sent. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Server as TcpServer } from "node:net";

/** A request as it arrived. */
interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that runs. */
export interface TestReceiver {
  readonly port: number;
  readonly received: readonly Received[];
  /** How many connections it got. */
  readonly connections: () => number;
  readonly stop: () => Promise<void>;
}

/** Answers one request, whose body has been read. */
export type Answering = (request: Received, response: ServerResponse) => void;

/** Starts a receiver; `make` wraps the listener in another server, such as one with TLS. */
export async function startReceiver(
  answering: Answering,
  make: (
    listener: (request: IncomingMessage, response: ServerResponse) => void,
  ) => Server = createServer,
): Promise<TestReceiver> {
  const received: Received[] = [];
  const server = make(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers } = request;
    const one = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    answering(one, response);
  });
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  const port = await listen(server);
  const stop = async () => {
    server.closeAllConnections();
    await stopped(server);
  };
  return { port, received, connections: () => connections, stop };
}

/** Listens on a free port of 127.0.0.1 and says which. */
export async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1" }, resolve));
  return (server.address() as AddressInfo).port;
}

/** Waits until a server has ended. */
export function stopped(server: TcpServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
