/**
 * One call to Xero's accounting API: headers, token, deadline, and one replay with a new token
 * after 401.
 */
import { createHash } from "node:crypto";
import type { Agent } from "undici";
import type { BegunCall } from "../../port/call.ts";
import { type CallPermits, createPermits } from "../../port/call-permits.ts";
import type { ExactObject } from "../../port/exact-json.ts";
import { failureOfSilence } from "../../port/failures.ts";
import { createAgent, exchange, type HttpReply, tooLargeCause } from "../../port/http/exchange.ts";
import type { LedgerAnswer, LedgerFailure, LimitsLeft } from "../../port/ledger.ts";
import { createSharedTokenSource } from "../auth/authorised-tokens.ts";
import { createTokenSource, type TokenSource } from "../auth/tokens.ts";
import type { XeroConnection, XeroOptions } from "./connection.ts";
import { readReply } from "./failure.ts";
import { correlationIdOf, reportedAnswerOf, userAgent } from "./reported-answers.ts";

/** A call of the port in progress. */
export type XeroCall = BegunCall;

/**
 * A request to the API. `path` starts with a slash, relative to the base. Only a PUT, which always
 * creates, has an idempotency key. On an update the key could replay an old answer (XERO-2).
 */
export interface XeroRequest {
  readonly method: "GET" | "PUT" | "POST";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The client for one organisation. */
export interface XeroWire {
  /**
   * Returns the reply with any status, or the failure without a reply. A 401 remains only after a
   * replay with a new token.
   */
  send(call: XeroCall, request: XeroRequest): Promise<HttpReply | LedgerFailure>;
  /** Returns the reply as a JSON object. Every status except 2xx is a failure. */
  ask(call: XeroCall, request: XeroRequest): Promise<LedgerAnswer<ExactObject>>;
  close(): Promise<void>;
}

interface WireParts {
  readonly agent: Agent;
  readonly tokens: TokenSource;
  readonly permits: CallPermits;
  readonly connection: XeroConnection;
  readonly options: XeroOptions;
}

/** Creates a wire with a separate connection pool. */
export function createXeroWire(connection: XeroConnection, options: XeroOptions): XeroWire {
  const agent = createAgent(options);
  const { authorisation } = options;
  const tokens =
    authorisation === undefined
      ? createTokenSource(agent, connection)
      : createSharedTokenSource(agent, authorisation);
  const parts = { agent, tokens, permits: createPermits(options.budget), connection, options };
  return {
    send: (call, request) => send(parts, call, request),
    ask: async (call, request) => {
      const reply = await send(parts, call, request);
      return reply.kind === "replied" ? readReply(reply, request.method !== "GET") : reply;
    },
    close: () => agent.close(),
  };
}

async function send(
  parts: WireParts,
  call: XeroCall,
  request: XeroRequest,
): Promise<HttpReply | LedgerFailure> {
  const first = await attempt(parts, call, request, null);
  // 401 means that nothing happened, so one replay with a new token is safe for a write too.
  const last = isAnswered(first, 401) ? await attempt(parts, call, request, first.token) : first;
  if (last.token !== null && (isAnswered(last, 401) || isAnswered(last, 403)))
    parts.tokens.drop(last.token);
  return last.answer;
}

function isAnswered({ answer }: Attempt, status: number): boolean {
  return answer.kind === "replied" && answer.status === status;
}

interface Attempt {
  readonly answer: HttpReply | LedgerFailure;
  readonly token: string | null;
}

async function attempt(
  parts: WireParts,
  call: XeroCall,
  request: XeroRequest,
  rejected: string | null,
): Promise<Attempt> {
  const token = await parts.tokens.token(rejected, call.signal);
  if (token.kind !== "ok") return { answer: token, token: null };
  const permit = await parts.permits.take(call);
  if (permit.kind !== "granted") return { answer: permit, token: token.value };
  call.onPermit();
  const sentMs = performance.now();
  const reply = await exchange(
    parts.agent,
    {
      method: request.method,
      url: urlOf(parts.connection, request),
      headers: headersOf(parts.connection, call, request, token.value),
      body: request.body ?? null,
      ...(parts.options.maxResponseBytes === undefined
        ? {}
        : { maxBytes: parts.options.maxResponseBytes }),
    },
    call.signal,
  );
  call.onAnswered({
    status: reply.kind === "silent" ? null : reply.status,
    correlationId: reply.kind === "silent" ? null : correlationIdOf(reply),
    durationMs: Math.round(performance.now() - sentMs),
  });
  if (reply.kind === "silent") {
    // The ledger may still be busy with a sent request, unless it was already answering. Its permit
    // then ends with its lease.
    if (!reply.sent || reply.cause === tooLargeCause) await permit.end(null);
    return { answer: failureOfSilence(reply, request.method !== "GET"), token: token.value };
  }
  const reported =
    parts.options.observeAnswer === undefined
      ? null
      : reportedAnswerOf(request.method, request.path, reply);
  if (reported !== null) parts.options.observeAnswer?.(reported);
  await permit.end(limitsOf(reply));
  return { answer: reply, token: token.value };
}

/**
 * Returns what is left of Xero's limits (XERO-7). Null if the ledger rejected the call with a
 * limit. That answer says for how long, and pauses the whole connection.
 */
function limitsOf({ status, headers }: HttpReply): LimitsLeft | null {
  if (status === 429) return null;
  return {
    minute: countOf(headers["x-minlimit-remaining"]),
    day: countOf(headers["x-daylimit-remaining"]),
  };
}

function urlOf(connection: XeroConnection, request: XeroRequest): string {
  const query = new URLSearchParams(request.query).toString();
  return `${connection.baseUrl}${request.path}${query === "" ? "" : `?${query}`}`;
}

function headersOf(
  connection: XeroConnection,
  call: XeroCall,
  request: XeroRequest,
  token: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    ...request.headers,
    authorization: `Bearer ${token}`,
    "xero-tenant-id": connection.tenantId,
    // Without it Xero answers in XML.
    accept: "application/json",
    "accept-encoding": "gzip",
    "user-agent": userAgent,
  };
  if (request.body !== undefined) headers["content-type"] = "application/json";
  if (request.method === "PUT" && call.jobKeys.length > 0) {
    headers["idempotency-key"] = idempotencyKeyOf(connection, call, request);
  }
  return headers;
}

/**
 * Returns the key of a create: 64 hex digits (Xero takes 128 characters), equal for the same jobs,
 * variant and body. It makes a fast resend harmless, but is never the only protection (XERO-2). The
 * tenant is included, because Xero stores keys for each app. The body is included, because a key
 * reused with other content answers 400 for six minutes.
 */
export function idempotencyKeyOf(
  { tenantId, clientId }: Pick<XeroConnection, "tenantId" | "clientId">,
  { jobKeys, variant }: Pick<XeroCall, "jobKeys" | "variant">,
  { path, body = "" }: Pick<XeroRequest, "path" | "body">,
): string {
  return createHash("sha256")
    .update(JSON.stringify([tenantId, clientId, path, variant, jobKeys]))
    .update(body)
    .digest("hex");
}

function countOf(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : null;
}
