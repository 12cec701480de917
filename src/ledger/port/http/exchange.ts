/**
 * One HTTP exchange with keep-alive, a deadline, a size limit and no redirects. A failure says
 * whether anything was sent. No header or body ever appears in a cause.
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Agent, type Dispatcher, request } from "undici";
import type { LedgerOptions } from "../ledger-kind.ts";

/** How to reach a ledger. The defaults fit every kind. */
export interface HttpOptions extends Pick<LedgerOptions, "connect"> {
  readonly maxResponseBytes?: number;
  readonly connections?: number;
}

/** A slower connection will not recover within a caller's 15 seconds (LIMIT-1). */
const connectTimeoutMs = 5_000;

/**
 * The default size limit. 1,000 contacts are about 1 MB, and 50 invoices of 20 lines about 0.5 MB.
 * This is eight times the largest honest answer (LIMIT-1).
 */
const maxResponseBytes = 8 * 1024 * 1024;

/** The default number of connections: as many calls as the ledgers take at once. */
const maxConnections = 5;

/**
 * An answer as received. Header names are in lower case. Of a repeated header the first value
 * counts.
 */
export interface HttpReply {
  readonly kind: "replied";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** No usable answer. `sent` false is certain: the request never left. */
export interface HttpSilence {
  readonly kind: "silent";
  readonly sent: boolean;
  readonly cause: string;
}

/** A complete request. An answer above `maxBytes`, counted once decompressed, is too large. */
export interface OutgoingRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly maxBytes?: number;
}

/**
 * The error code of `LedgerOptions.connect` for "nothing was sent". Its error's message is
 * ours and contains no secret.
 */
const notSentCode = "ERR_NOT_SENT";

const unpack = promisify(gunzip);

// Failures before a connection was open: no server can have read the request.
const unsentCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_CLOSED",
  "UND_ERR_DESTROYED",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  notSentCode,
]);

// The code of a compressed answer above the size limit after decompression.
const tooLongCode = "ERR_BUFFER_TOO_LARGE";

/**
 * The cause of a failure because of an answer above the size limit. A smaller request may succeed.
 */
export const tooLargeCause = "UND_ERR_RES_EXCEEDED_MAX_SIZE";

/** Creates the connection pool that a ledger's calls share. */
export function createAgent(options: HttpOptions): Agent {
  return new Agent({
    connections: options.connections ?? maxConnections,
    connect: options.connect ?? { timeout: connectTimeoutMs },
    maxResponseSize: options.maxResponseBytes ?? maxResponseBytes,
    allowH2: false,
    // One request a connection at a time. A second one behind a slow request would share its fate.
    pipelining: 1,
  });
}

/**
 * Sends a request and reads the whole answer before the signal fires. Any status is a reply, also a
 * redirect.
 */
export async function exchange(
  agent: Dispatcher,
  { method, url, headers, body, maxBytes = maxResponseBytes }: OutgoingRequest,
  signal: AbortSignal,
): Promise<HttpReply | HttpSilence> {
  if (signal.aborted) return { kind: "silent", sent: false, cause: "the deadline had passed" };
  try {
    const answer = await request(url, { dispatcher: agent, method, headers, body, signal });
    const isPacked = answer.headers["content-encoding"] === "gzip";
    const text = isPacked
      ? (await unpack(await answer.body.arrayBuffer(), { maxOutputLength: maxBytes })).toString(
          "utf8",
        )
      : await answer.body.text();
    return {
      kind: "replied",
      status: answer.statusCode,
      headers: firstValues(answer.headers),
      text,
    };
  } catch (error) {
    return silenceOf(error);
  }
}

function silenceOf(error: unknown): HttpSilence {
  const code = codeOf(error);
  if (code === tooLongCode) return { kind: "silent", sent: true, cause: tooLargeCause };
  if (code === "TimeoutError")
    return { kind: "silent", sent: true, cause: "no answer before the deadline" };
  const cause = code === notSentCode && error instanceof Error ? error.message : code;
  return { kind: "silent", sent: !unsentCodes.has(code), cause };
}

// A host with several addresses fails with one error that contains the others.
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : error.name;
}

function firstValues(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) values[name] = first;
  }
  return values;
}
