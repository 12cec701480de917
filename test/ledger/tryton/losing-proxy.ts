/** A proxy before a ledger that loses requests and answers, or holds a request for later. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What happens to a request. `before`: it does not arrive. `after`: it takes effect, and the answer
 * is lost. `late`: it arrives when the test says so. `dead`: it and all later ones do not arrive.
 */
export type Fault = "before" | "after" | "late" | "dead";

type Then = () => Promise<void>;

/** The proxy. */
export interface LosingProxy {
  readonly url: string;
  /**
   * Orders what happens to the next request that matches, such as `POST /account.invoice`, and what
   * happens before its connection breaks.
   */
  order(pattern: RegExp, fault: Fault, then?: Then): void;
  /** Lets requests through again, and delivers those that were held. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy before `target`. */
export async function startLosingProxy(target: string): Promise<LosingProxy> {
  let ordered: { readonly pattern: RegExp; readonly fault: Fault; readonly then?: Then } | null =
    null;
  let isDead = false;
  const held: (() => Promise<void>)[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "GET", url = "/", headers } = incoming;
    const forward = () =>
      new Promise<{ status: number; type: string; body: Buffer }>((resolve, reject) => {
        const sent = request(`${target}${url}`, { method, headers }, async (answer) => {
          const parts: Buffer[] = [];
          for await (const part of answer) parts.push(part as Buffer);
          const type = answer.headers["content-type"] ?? "text/plain";
          resolve({ status: answer.statusCode ?? 500, type, body: Buffer.concat(parts) });
        });
        sent.on("error", reject);
        sent.end(Buffer.concat(chunks));
      });
    const path = url.replace(/^.*\/rest\/model/, "").replace(/\?.*$/, "");
    const fault =
      ordered?.pattern.test(`${method} ${path}`) && !isDead
        ? ordered.fault
        : isDead
          ? "dead"
          : null;
    const then = fault === null ? undefined : ordered?.then;
    if (fault !== null) ordered = null;
    if (fault === "dead") isDead = true;
    if (fault === "late") held.push(async () => void (await forward().catch(() => undefined)));
    if (fault === "after") await forward().catch(() => undefined);
    await then?.();
    if (fault !== null) {
      incoming.socket.destroy();
      return;
    }
    const answer = await forward().catch(() => null);
    if (answer === null) incoming.socket.destroy();
    else outgoing.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    order: (pattern, fault, then) => {
      ordered = { pattern, fault, ...(then && { then }) };
    },
    restore: async () => {
      isDead = false;
      ordered = null;
      for (const deliver of held.splice(0)) await deliver();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
