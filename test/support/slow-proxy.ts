/** A TCP proxy on this machine that can delay what clients send, as a server that is slow. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A running proxy. */
export interface SlowProxy {
  readonly address: string;
  /** Delays what clients send from now on. The order of the bytes stays. */
  delay(ms: number): void;
  stop(): Promise<void>;
}

/** Starts a proxy in front of `target`, which is `host:port`. At first it delays nothing. */
export async function startSlowProxy(target: string): Promise<SlowProxy> {
  const [host, port] = target.split(":");
  const sockets = new Set<Socket>();
  let delayMs = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (delayMs === 0) upstream.write(bytes);
      else setTimeout(() => upstream.destroyed || upstream.write(bytes), delayMs);
    });
    upstream.pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    address: `127.0.0.1:${address.port}`,
    delay: (ms) => {
      delayMs = ms;
    },
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
