/**
 * A small load balancer: it requests /readyz of each target at an interval, and sends requests in
 * turn to those that answer 200. It repeats nothing, so that a request which fails is seen.
 */
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A running balancer. */
export interface ReadyProxy {
  readonly url: string;
  /** Whether a target is among those that get requests. */
  isReady(target: string): boolean;
  /** Replaces a target, which then has another port. */
  replace(old: string | null, target: string): void;
  stop(): Promise<void>;
}

/** The interval of the checks. One failure takes a target out. */
export const checkEveryMs = 200;

const localHost = "127.0.0.1";

/** Starts it without targets. */
export async function startReadyProxy(): Promise<ReadyProxy> {
  const ready = new Map<string, boolean>();
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  let next = 0;
  const check = async (target: string) => {
    const answer = await fetch(`${target}/readyz`).catch(() => null);
    await answer?.arrayBuffer().catch(() => undefined);
    if (ready.has(target)) ready.set(target, answer?.status === 200);
  };
  const timer = setInterval(() => void Promise.all([...ready.keys()].map(check)), checkEveryMs);
  const server = createServer((incoming, outgoing) => {
    const targets = [...ready].filter(([, isReady]) => isReady).map(([target]) => target);
    const target = targets[next++ % targets.length];
    if (target === undefined) return void outgoing.writeHead(503).end("no target is ready");
    const { method, headers, url } = incoming;
    const options = { method, headers, agent };
    const forwarded = request(new URL(url ?? "/", target), options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.once("error", (error) => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end(`${target}: ${error.message}`);
    });
    incoming.pipe(forwarded);
  }).listen(0, localHost);
  await once(server, "listening");
  return {
    url: `http://${localHost}:${(server.address() as AddressInfo).port}`,
    isReady: (target) => ready.get(target) === true,
    replace: (old, target) => {
      if (old !== null) ready.delete(old);
      ready.set(target, false);
    },
    stop: async () => {
      clearInterval(timer);
      agent.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
