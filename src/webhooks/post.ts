/**
 * Sends one request to a webhook endpoint. The address must be public, and is checked at the lookup
 * and again on the connection before anything is sent. Deadlines apply, redirects are not followed,
 * and little of the answer is read (WEBHOOK-3).
 */
import { Agent, type Dispatcher } from "undici";
import { type AddressMode, urlFault } from "./address.ts";
import { createConnect, type Lookup, lookupOf, NotSent } from "./connect.ts";

/** The options of `createPoster`. Times are in milliseconds. */
export interface PosterOptions {
  readonly mode: AddressMode;
  /** The time until a connection is ready, DNS and TLS included; 10,000 by default. */
  readonly connectMs?: number;
  /** The time until the whole answer has come; 15,000 by default. */
  readonly totalMs?: number;
  /** The time to read the rest of an answer after its status; 1,000 by default. */
  readonly restMs?: number;
  /** Returns all addresses of a name; by default by queries to public name servers. */
  readonly lookup?: Lookup;
}

/** One request to send. */
export interface Post {
  readonly url: string;
  /** Sent as exactly these bytes, as JSON. */
  readonly body: string | Uint8Array;
  /** The signature and other headers of the sender. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The receiver answered. Its status counts as soon as it has come, whatever happens to the rest.
 * The latency ends with the status.
 */
interface PostAnswer {
  readonly kind: "answered";
  readonly status: number;
  /** The pause that it requests (`Retry-After`), in milliseconds; null if it requests none. */
  readonly retryAfterMs: number | null;
  /**
   * The beginning of the answer as text, from its first 1,024 bytes. Control characters except line
   * feeds and tabs are removed, and invalid UTF-8 is replaced.
   */
  readonly answer: string;
  readonly latencyMs: number;
}

/** No answer came. */
interface PostFailure {
  readonly kind: "failed";
  /**
   * The reason, for the endpoint's owner. It names their host and its resolved addresses, and
   * nothing else of any network.
   */
  readonly error: string;
  readonly latencyMs: number;
}

/** The outcome of a request to an endpoint. */
export type PostOutcome = PostAnswer | PostFailure;

/**
 * Sends to endpoints. Use one for each process: connections are reused for endpoints that are
 * called again at once.
 */
export type Poster = ReturnType<typeof createPoster>;

const defaults = { connectMs: 10_000, totalMs: 15_000, restMs: 1_000 };

const fixedHeaders = {
  "content-type": "application/json; charset=utf-8",
  "user-agent": "subscription-billing-webhooks/1",
};

/** Creates a poster. It opens no connection before it posts. */
export function createPoster(options: PosterOptions) {
  const { mode, connectMs, totalMs, restMs, lookup = lookupOf(mode) } = { ...defaults, ...options };
  const agent = new Agent({
    connect: createConnect({ mode, connectMs, lookup }),
    pipelining: 1,
    // A name that moved is resolved again within a minute, however much is sent to it. No
    // connection is kept so long that receivers close it first.
    clientTtl: 60_000,
    keepAliveTimeout: 1_500,
    keepAliveMaxTimeout: 1_500,
  });
  return {
    /**
     * Sends once. It never throws for what the receiver or the network does, and never exceeds its
     * deadline.
     */
    post: (post: Post) => send(agent, post, { mode, totalMs, restMs }),
    /** Closes every connection. Requests under way fail. */
    close: (): Promise<void> => agent.destroy(),
  };
}

/** How to send: to which addresses, and the deadlines in milliseconds. */
type Sending = Required<Pick<PosterOptions, "mode" | "totalMs" | "restMs">>;

/**
 * Sends once over a connection of `agent`. An answer counts from its status on, whatever happens to
 * the rest. The latency, in whole milliseconds, ends with the status or the failure.
 */
async function send(
  agent: Dispatcher,
  { url, body, headers }: Post,
  { mode, totalMs, restMs }: Sending,
): Promise<PostOutcome> {
  const fault = urlFault(url, mode);
  if (fault !== null) return { kind: "failed", error: `the address ${fault}`, latencyMs: 0 };
  const { origin, pathname, search } = new URL(url);
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  const stopping = new AbortController();
  const stop = (why: string) => stopping.abort(new NotSent(why));
  const late = `no answer came within ${totalMs / 1000} seconds`;
  const timers = [setTimeout(() => stop(late), totalMs)];
  try {
    const request = { origin, path: pathname + search, headers: headersOf(headers), body };
    const options = { ...request, method: "POST", signal: stopping.signal } as const;
    const response = await agent.request(options);
    const answered = {
      status: response.statusCode,
      retryAfterMs: retryAfterMs(response.headers["retry-after"]),
      latencyMs: latencyMs(),
    };
    // A slow answer must not occupy a connection.
    timers.push(setTimeout(() => stop("its answer was cut"), restMs));
    const beginning = await beginningOf(response.body);
    return { kind: "answered", ...answered, answer: textOf(beginning) };
  } catch (error) {
    return { kind: "failed", error: wordsOf(error), latencyMs: latencyMs() };
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

/**
 * The most bytes read of an answer. A longer answer is cut like a slow one, and its connection is
 * closed.
 */
const readBytes = 64 * 1024;

/** The bytes of an answer that are stored. What follows is read and dropped. */
const keptBytes = 1024;

/**
 * Returns the beginning of an answer. It reads on behind what is kept, up to a limit, so that the
 * connection can be reused.
 */
async function beginningOf(body: Dispatcher.ResponseData["body"]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Without a listener the failure of a cut answer would end the process.
  body.on("error", () => undefined);
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (length <= keptBytes) chunks.push(chunk);
      length += chunk.length;
      if (length >= readBytes) break;
    }
  } catch {
    // What came of the answer is enough.
  }
  return Buffer.concat(chunks);
}

function headersOf(given: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  return Object.assign(headers, fixedHeaders);
}

/** Returns the beginning of an answer as text. */
function textOf(beginning: Uint8Array): string {
  if (beginning.length === 0) return "";
  // Operators read it in terminals, which obey control characters. No database accepts NUL.
  const text = new TextDecoder().decode(beginning.subarray(0, keptBytes), {
    stream: beginning.length > keptBytes,
  });
  return text.replace(/(?![\n\t])[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, "");
}

/**
 * Parses `Retry-After` (RFC 9110, 10.2.3): whole seconds, or an instant. Returns milliseconds, or
 * null for anything else.
 */
function retryAfterMs(header: string | string[] | undefined): number | null {
  const value = typeof header === "string" ? header : header?.[0];
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const instant = / GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? null : Math.max(0, instant - Date.now());
}

/**
 * Failures in words, by the codes of Node, OpenSSL and undici. Their own messages name addresses
 * that must not leak.
 */
const words: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "the connection was refused"],
  [/^E(?:HOST|NET)UNREACH$/, "the host cannot be reached"],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "the host did not answer"],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "the connection was closed before an answer came"],
  [
    /^(?:HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/,
    "what answered does not speak HTTP as it should",
  ],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "the certificate is another host's"],
  [/CERT|SELF_SIGNED|LEAF_SIGNATURE|^ISSUER|CRL/, "the certificate is not valid"],
  [/^(?:ERR_SSL|ERR_TLS|EPROTO)/, "no TLS connection could be made"],
];

function wordsOf(error: unknown): string {
  if (error instanceof NotSent) return error.message;
  const code = codeOf(error);
  const cause = words.find(([pattern]) => pattern.test(code))?.[1] ?? "the request failed";
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `${cause} (${code})` : cause;
}

/**
 * Returns the error's code. A host with several addresses fails with one error that holds the
 * others.
 */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return "";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
