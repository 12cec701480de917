/**
 * One request to a webhook endpoint: to an address of the public network alone, checked when it is looked up and again on the connection
 * that stands before anything is sent over it; with deadlines, without redirects, and with little read of the answer. facts-performance §5.2, API7.
 */
import { Agent, type Dispatcher, request } from "undici";
import { type AddressMode, urlFault } from "./address.ts";
import { createConnect, type Lookup, lookupOf, NotSent } from "./connect.ts";

/** What a poster is made of. */
export interface PosterOptions {
  readonly mode: AddressMode;
  /** Until a connection stands, TLS and the look-up of the name in it; 10,000 by default. */
  readonly connectMs?: number;
  /** Until the whole answer has come; 15,000 by default. */
  readonly totalMs?: number;
  /** For how long an answer is read on once its status has come; 1,000 by default. */
  readonly restMs?: number;
  /** All addresses of a name; by default the name servers of the public network are asked. */
  readonly lookup?: Lookup;
}

/** What is sent. */
export interface Post {
  readonly url: string;
  /** Sent as these very bytes, as JSON. */
  readonly body: string | Uint8Array;
  /** The signature, and what else is the sender's own to say. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends it before its deadline, as a failure. */
  readonly signal?: AbortSignal;
}

/** The receiver answered. Its status counts as soon as it has come, whatever becomes of the rest; until then is its latency. */
export interface PostAnswer {
  readonly kind: "answered";
  readonly status: number;
  /** How long it asks to be left alone (`Retry-After`); null where it does not. */
  readonly retryAfterMs: number | null;
  /** The beginning of the answer as text: of its first 1,024 bytes, without control characters but line feeds and tabs, what is no UTF-8 replaced. */
  readonly answer: string;
  readonly latencyMs: number;
}

/** No answer came. */
export interface PostFailure {
  readonly kind: "failed";
  /** Why, for the endpoint's owner: it names their host and what it resolves to, and nothing else of any network. */
  readonly error: string;
  readonly latencyMs: number;
}

/** How a request to an endpoint went. */
export type PostOutcome = PostAnswer | PostFailure;

/** Sends to endpoints. One a process: connections are kept for those that are sent to again at once. */
export interface Poster {
  /** Sends once; it never throws for what the receiver or the network does, and takes no longer than its deadline. */
  readonly post: (post: Post) => Promise<PostOutcome>;
  /** Ends every connection. What is under way fails. */
  readonly close: () => Promise<void>;
}

const defaults = { connectMs: 10_000, totalMs: 15_000, restMs: 1_000 };

/** The most that is read of an answer: what is longer is cut like what takes longer, and its connection ended. */
const readBytes = 64 * 1024;

/** What is kept of it. */
const keptBytes = 1024;

const fixedHeaders = {
  "content-type": "application/json; charset=utf-8",
  "user-agent": "subscription-billing-webhooks/1",
};

/** Makes a poster. Nothing is connected to before it posts. */
export function createPoster(options: PosterOptions): Poster {
  const { mode, connectMs, totalMs, restMs, lookup = lookupOf(mode) } = { ...defaults, ...options };
  const agent = new Agent({
    connect: createConnect({ mode, connectMs, lookup }),
    pipelining: 1,
    // A name that moved is followed within a minute, however much is sent to it; and none is kept so long that receivers end it first.
    clientTtl: 60_000,
    keepAliveTimeout: 1_500,
    keepAliveMaxTimeout: 1_500,
  });
  return {
    post: (post) => send(agent, post, mode, { totalMs, restMs }),
    close: () => agent.destroy(),
  };
}

/** How long a request may take, and its answer once the status has come. */
type Deadlines = Pick<typeof defaults, "totalMs" | "restMs">;

async function send(
  agent: Dispatcher,
  post: Post,
  mode: AddressMode,
  { totalMs, restMs }: Deadlines,
): Promise<PostOutcome> {
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  const fault = urlFault(post.url, mode);
  if (fault !== null) return { kind: "failed", error: `the address ${fault}`, latencyMs: latencyMs() };
  const stop = new AbortController();
  const timers = [
    setTimeout(() => stop.abort(new NotSent(`no answer came within ${totalMs / 1000} seconds`)), totalMs),
  ];
  const onAbort = () => stop.abort(new NotSent("the request was stopped"));
  post.signal?.addEventListener("abort", onAbort);
  if (post.signal?.aborted) onAbort();
  try {
    const own = Object.entries(post.headers).map(([name, value]) => [name.toLowerCase(), value]);
    const headers = { ...Object.fromEntries(own), ...fixedHeaders };
    const answer = await request(post.url, {
      dispatcher: agent,
      method: "POST",
      headers,
      body: post.body,
      signal: stop.signal,
    });
    const outcome = {
      kind: "answered",
      status: answer.statusCode,
      retryAfterMs: retryAfterMs(answer.headers["retry-after"]),
    } as const;
    const took = latencyMs();
    // Nobody holds a place with an answer that comes in drops.
    timers.push(setTimeout(() => stop.abort(new NotSent("its answer was cut")), restMs));
    return { ...outcome, answer: await beginning(answer.body), latencyMs: took };
  } catch (error) {
    return { kind: "failed", error: wordsOf(error), latencyMs: latencyMs() };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    post.signal?.removeEventListener("abort", onAbort);
  }
}

/** The beginning of an answer. It reads on, so that the connection can be used again, but not for ever. */
async function beginning(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const kept: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (length < keptBytes) kept.push(chunk);
      length += chunk.length;
      if (length >= readBytes) break;
    }
  } catch {
    // The status has come, which is what counts: an answer that breaks off is told as far as it came.
  }
  const bytes = Buffer.concat(kept).subarray(0, keptBytes);
  // Operators read it in terminals, which obey control characters; NUL no database takes.
  const text = new TextDecoder().decode(bytes, { stream: length > keptBytes });
  return text.replace(/(?![\n\t])[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, "");
}

/** Spec of HTTP (RFC 9110, 10.2.3): whole seconds, or the instant itself. Null for what is neither. */
function retryAfterMs(header: string | string[] | undefined): number | null {
  const value = typeof header === "string" ? header : header?.[0];
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const instant = / GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? null : Math.max(0, instant - Date.now());
}

/** What went wrong, by the codes of Node, OpenSSL and undici; their messages name addresses that are nobody's business. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "the connection was refused"],
  [/^E(?:HOST|NET)UNREACH$/, "the host cannot be reached"],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "the host did not answer"],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "the connection was closed before an answer came"],
  [/^(?:HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/, "what answered does not speak HTTP as it should"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "the certificate is another host's"],
  [/CERT|SELF_SIGNED|LEAF_SIGNATURE|^ISSUER|CRL/, "the certificate is not valid"],
  [/^(?:ERR_SSL|ERR_TLS|EPROTO)/, "no TLS connection could be made"],
];

function wordsOf(error: unknown): string {
  if (error instanceof NotSent) return error.message;
  const code = codeOf(error);
  const said = words.find(([pattern]) => pattern.test(code))?.[1] ?? "the request failed";
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `${said} (${code})` : said;
}

/** A host with several addresses fails with one error that holds the others. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return "";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
