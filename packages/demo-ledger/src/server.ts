/**
 * The demo ledger: a server that implements the part of Xero's accounting API that billing uses,
 * with Xero's rules. Documents are stored in PostgreSQL, so a restart loses nothing.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { type DemoAnswer, jsonAnswer } from "./api/answers.ts";
import {
  type DemoOutcome,
  type DemoParts,
  type DemoRequest,
  failedAnswer,
  handle,
} from "./api/gate.ts";
import { deleteExpiredKeys } from "./api/keyed-write.ts";
import { createLimitBook, type DemoLimits, generousLimits } from "./api/limits.ts";
import { openDatabase } from "./database.ts";
import { createFaultBook } from "./faults.ts";
import { createAppBook } from "./oauth/apps.ts";
import type { PageAnswer } from "./page.ts";
import { createTenantBook } from "./tenants.ts";
import { createWebhookSender } from "./webhooks.ts";

/** Logs an internal error of the server. */
type DemoLog = (line: { readonly event: string; readonly cause: string }) => void;

/**
 * The options of a start. `port` 0 takes a free port. `host` is the loopback address by default,
 * because the admin routes have no credentials. `faults` lets tests add faults. `limits` replaces
 * some of the generous defaults. With more records of a kind than `highVolume`, filters that Xero
 * has not optimised are refused. The default is Xero's number (XERO-5).
 */
export interface DemoLedgerOptions {
  readonly databaseUrl: string;
  readonly port: number;
  readonly host?: string;
  readonly faults?: boolean;
  readonly limits?: Partial<DemoLimits>;
  readonly highVolume?: number;
  readonly log?: DemoLog;
}

/**
 * A running demo ledger. `url` has no path: the API is below `/api.xro/2.0`, the identity service
 * at `/connect/token`.
 */
export interface DemoLedger {
  readonly url: string;
  readonly port: number;
  /** Finishes current requests, cuts hanging ones, and closes the database. */
  stop(): Promise<void>;
}

// Xero's documented limit of a body.
const maxBodyBytes = 3_500_000;

// The number of documents or contacts above which Xero refuses filters that it has not optimised
// (XERO-5).
const xeroHighVolume = 100_000;

// Compression gains nothing for shorter answers.
const packedFrom = 1_024;

// Clients keep connections open between calls. Node's 5 s would cut them in the middle of a send.
const keepAliveMs = 65_000;

// Keys live six minutes, so a cleanup once a minute keeps the table small.
const cleanupEveryMs = 60_000;

// A request that still runs after this is cut when the server stops.
const stopWithinMs = 2_000;

/**
 * Starts the demo ledger and resolves once it listens. Fails if the database or the port is not
 * available.
 */
export async function startDemoLedger(options: DemoLedgerOptions): Promise<DemoLedger> {
  const log = options.log ?? (() => undefined);
  const pool = await openDatabase(options.databaseUrl, (error) =>
    log({ event: "idle_connection", cause: error.message }),
  );
  const stopping = new AbortController();
  const faults = options.faults === true ? createFaultBook() : null;
  const parts: DemoParts = {
    pool,
    tenants: createTenantBook(pool),
    apps: createAppBook(pool),
    limits: createLimitBook({ ...generousLimits, ...options.limits }),
    faults,
    highVolume: options.highVolume ?? xeroHighVolume,
    wait: (delayMs) => {
      const signal =
        faults === null ? stopping.signal : AbortSignal.any([stopping.signal, faults.cleared()]);
      return pause(delayMs, undefined, { signal }).catch(() => undefined);
    },
  };
  const webhooks = createWebhookSender(pool, (cause) => log({ event: "webhook", cause }));
  const server = createServer(
    (incoming, response) =>
      void serve(parts, log, incoming, response).then(() => {
        if (incoming.method !== "GET") webhooks.kick();
      }),
  );
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  try {
    await listen(server, options.port, options.host ?? "127.0.0.1");
  } catch (error) {
    await pool.end();
    throw error;
  }
  const cleanup = setInterval(() => {
    deleteExpiredKeys(pool).catch((error: Error) =>
      log({ event: "delete_expired_keys", cause: error.message }),
    );
  }, cleanupEveryMs);
  cleanup.unref();
  webhooks.kick();
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : options.port;
  return {
    url: `http://${options.host ?? "127.0.0.1"}:${port}`,
    port,
    async stop() {
      clearInterval(cleanup);
      stopping.abort();
      await close(server);
      await webhooks.stop();
      await pool.end();
    },
  };
}

async function serve(
  parts: DemoParts,
  log: DemoLog,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A client that disconnects is not an error of the server. Without a listener its error would end
  // the process.
  incoming.on("error", () => undefined);
  response.on("error", () => undefined);
  try {
    const text = await readBody(incoming);
    if (text === null)
      return send(response, jsonAnswer(413, { Title: "Request Entity Too Large", Status: 413 }));
    const isPacked = /\bgzip\b/.test(String(incoming.headers["accept-encoding"] ?? ""));
    respond(response, await handle(parts, requestOf(incoming, text)), isPacked);
  } catch (error) {
    log({
      event: "request_failed",
      cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    send(response, failedAnswer());
  }
}

function respond(response: ServerResponse, outcome: DemoOutcome, isPacked: boolean): void {
  if (outcome.kind === "answer") send(response, outcome.answer, isPacked);
  if (outcome.kind === "cut") response.destroy();
}

function send(response: ServerResponse, answer: DemoAnswer | PageAnswer, isPacked = false): void {
  if (response.destroyed || response.headersSent) return;
  const packed = isPacked && answer.body.length > packedFrom;
  const body = packed ? gzipSync(answer.body) : answer.body;
  const encoding = packed ? { "content-encoding": "gzip" } : {};
  const own = {
    "content-length": String(Buffer.byteLength(body)),
    "xero-correlation-id": randomUUID(),
  };
  response.writeHead(answer.status, { ...answer.headers, ...encoding, ...own }).end(body);
}

function requestOf(incoming: IncomingMessage, text: string): DemoRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return {
    method: incoming.method ?? "GET",
    url: new URL(incoming.url ?? "/", "http://demo"),
    headers,
    text,
  };
}

// Returns null if the body is above the limit. The rest of the body is read and dropped, so that
// the client receives the answer.
async function readBody(incoming: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  }
  return size > maxBodyBytes ? null : Buffer.concat(chunks).toString("utf8");
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), stopWithinMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
