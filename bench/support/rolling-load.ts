/**
 * Platforms that create subscriptions and read lists until they are stopped. They repeat nothing,
 * so that a request which fails is seen.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Agent } from "undici";

/** A stretch of time, in milliseconds of this process's clock. */
export interface Window {
  readonly startedMs: number;
  readonly endedMs: number;
}

/** A request that was answered or failed. */
export interface MeasuredRequest extends Window {
  readonly method: "GET" | "POST";
}

/** The load and its results so far. */
export interface Load {
  /** The invoice of each subscription whose creation was answered with success. */
  readonly acknowledged: ReadonlyMap<string, string>;
  /** Every other answer, and every broken connection. */
  readonly failed: readonly string[];
  readonly requests: readonly MeasuredRequest[];
  /** Resolves once the open requests are answered. */
  stop(): Promise<void>;
}

/** Callers at once. Each creates a subscription, then reads a list. */
const callers = 6;

/** The pause of a caller after a creation and a list. */
const pauseMs = 20;

const creation = JSON.stringify({ customer_code: "ACME", plan_code: "team", units: 10 });

/** Starts the callers. They take the keys in turn. */
export function startLoad(url: string, keys: readonly string[]): Load {
  const acknowledged = new Map<string, string>();
  const failed: string[] = [];
  const requests: MeasuredRequest[] = [];
  let isOver = false;
  let sent = 0;
  const call = async (dispatcher: Agent, method: "GET" | "POST", path: string) => {
    const authorization = `Bearer ${keys[sent++ % keys.length]}`;
    const json = { "content-type": "application/json", "idempotency-key": randomUUID() };
    const startedMs = performance.now();
    const answer = await dispatcher
      .request({
        origin: url,
        path,
        method,
        headers: { authorization, ...(method === "POST" ? json : {}) },
        body: method === "POST" ? creation : null,
      })
      .then(async ({ statusCode, body }) => ({ status: statusCode, text: await body.text() }))
      .catch((error: Error) => ({ status: 0, text: error.message }));
    requests.push({ method, startedMs, endedMs: performance.now() });
    if (answer.status === (method === "POST" ? 201 : 200)) return JSON.parse(answer.text);
    failed.push(`${method} ${path}: ${answer.status} ${answer.text}`);
    return null;
  };
  const caller = async () => {
    const dispatcher = new Agent({ connections: 1, pipelining: 1 });
    while (!isOver) {
      const created = await call(dispatcher, "POST", "/v1/subscriptions");
      if (created !== null) acknowledged.set(created.id, created.invoice.id);
      await call(dispatcher, "GET", "/v1/invoices?limit=10");
      await wait(pauseMs);
    }
    await dispatcher.close();
  };
  const calling = Promise.all(Array.from({ length: callers }, caller));
  return {
    acknowledged,
    failed,
    requests,
    stop: async () => {
      isOver = true;
      await calling;
    },
  };
}
