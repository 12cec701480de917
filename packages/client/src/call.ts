/**
 * One call: its idempotency key, its attempts and the pauses between them. Every attempt has the
 * same key and the same body, so that nothing is done twice.
 */
import { BillingError, lostAnswer, refusalOf } from "./error.ts";

/** What one call may set. */
export interface CallOptions {
  /**
   * The idempotency key of a call that writes: 1 to 255 printable ASCII characters without spaces.
   * By default a new random one, the same for all attempts. Name your own if the call may be
   * repeated after your process has ended, such as the order's id.
   */
  readonly idempotencyKey?: string;
  /** Further headers, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts the call, also between attempts. */
  readonly signal?: AbortSignal;
  /** Gets the headers of the answer, such as `Request-Id` and `Idempotent-Replayed`. */
  readonly onHeaders?: (headers: Headers) => void;
}

/** A failed attempt that is repeated. */
export interface Retry {
  /** The method's name: `createSubscription`. */
  readonly method: string;
  /** The number of the failed attempt, from 1. */
  readonly attempt: number;
  readonly pauseMs: number;
  readonly error: BillingError;
}

/** What all calls of a client share. */
export interface CallSettings {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
  readonly onRetry: (retry: Retry) => void;
}

/** A method of the service on the wire. */
export interface Operation {
  readonly verb: "GET" | "POST";
  /** Its path, with the names of parameters in braces. */
  readonly path: string;
  /** A `list` answers pages, a `write` takes a key. */
  readonly kind: "list" | "read" | "write";
}

/** The members of a request, under the names that they have on the wire. */
export type Request = Readonly<Record<string, unknown>>;

/** An object of the service, as its JSON says. */
export type Answer = Record<string, unknown>;

/** The pause after a first failure. Each further pause is twice as long, eight seconds at most. */
const firstPauseMs = 500;
const maxPauseMs = 8_000;

/** Calls a method until it is answered, refused, or repeated as often as the settings allow. */
export async function call(
  settings: CallSettings,
  method: string,
  operation: Operation,
  request: Request,
  options: CallOptions,
): Promise<Answer> {
  const { idempotencyKey = crypto.randomUUID() } = options;
  const key = operation.kind === "write" ? idempotencyKey : null;
  const headers = headersOf(settings, options, key);
  // Text: a caller who changes the request meanwhile would send the key with another body.
  const { url, body } = placed(settings.baseUrl, method, operation, request);
  if (body !== null) headers.set("Content-Type", "application/json");
  const init: RequestInit = { method: operation.verb, headers, body, redirect: "manual" };
  for (let attempt = 1; ; attempt += 1) {
    const answer = await answerTo(settings, url, init, options);
    if (!(answer instanceof BillingError)) return answer;
    answer.idempotencyKey = key;
    const isLast = attempt > settings.retries || isAborted(options.signal);
    if (!answer.mayRepeat || isLast) throw answer;
    const pauseMs = pauseAfter(attempt, answer.retryAfterMs);
    settings.onRetry({ method, attempt, pauseMs, error: answer });
    await pause(pauseMs, options.signal);
    if (isAborted(options.signal)) throw answer;
  }
}

/** Makes one attempt. Its time ends with the whole answer, not with the answer's head. */
async function answerTo(
  { fetch, timeoutMs }: CallSettings,
  url: URL,
  init: RequestInit,
  { signal, onHeaders }: CallOptions,
): Promise<Answer | BillingError> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const place = `${init.method} ${url.origin}${url.pathname}`;
  let response: Response;
  let text: string;
  try {
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    response = await fetch(url, { ...init, signal: either });
    text = await response.text();
  } catch (thrown) {
    if (isAborted(signal)) return lostAnswer("aborted", `${place}: the call was aborted`, thrown);
    if (!timeout.aborted) return lostAnswer("connection_failed", place, thrown);
    return lostAnswer("timeout", `${place}: no answer within ${timeoutMs} ms`, thrown);
  }
  const answer = objectOf(text);
  if (!response.ok || answer === null || !isOfService(answer))
    return refusalOf(place, response, answer, text);
  onHeaders?.(response.headers);
  return answer;
}

/** Returns the JSON object that the text is, or null for any other text. */
function objectOf(text: string): Answer | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? (value as Answer | null) : null;
  } catch {
    return null;
  }
}

/** Every object of the service names its kind, and every page has its objects. */
function isOfService({ object, data }: Answer): boolean {
  return typeof object === "string" || Array.isArray(data);
}

/** Returns where the members of a request are sent: in the path, in the query or in the body. */
function placed(
  baseUrl: string,
  method: string,
  { verb, path }: Operation,
  request: Request,
): { readonly url: URL; readonly body: string | null } {
  const others = { ...request };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = others[name];
    delete others[name];
    if (typeof value === "string" && value !== "") return encodeURIComponent(value);
    throw new TypeError(`${method} needs the text ${name}: ${method}({ ${name}: "…" })`);
  });
  const url = new URL(`${baseUrl}${filled}`);
  if (verb === "POST") return { url, body: JSON.stringify(others) };
  for (const [name, value] of Object.entries(others)) {
    const text = value === undefined ? "" : String(value);
    // The service refuses an empty parameter. An empty list restricts nothing.
    if (text !== "") url.searchParams.set(name, text);
  }
  return { url, body: null };
}

/** Throws a TypeError that repeats no value: a further header may be a secret, too. */
function headersOf(
  { apiKey }: CallSettings,
  { headers: further }: CallOptions,
  key: string | null,
): Headers {
  try {
    const headers = new Headers(further);
    headers.set("Authorization", `Bearer ${apiKey}`);
    if (key !== null) headers.set("Idempotency-Key", key);
    return headers;
  } catch {
    throw new TypeError("idempotencyKey or headers have characters that no header can have");
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/**
 * Returns the pause in milliseconds. It is random above its half, so that clients that failed
 * together do not return together. What the service asks for is the least.
 */
function pauseAfter(attempt: number, retryAfterMs: number | null): number {
  const longest = Math.min(firstPauseMs * 2 ** (attempt - 1), maxPauseMs);
  const random = longest * (0.5 + Math.random() / 2);
  return Math.round(retryAfterMs === null ? random : retryAfterMs + random / 2);
}

/** Resolves after the pause, or once the signal is aborted. */
function pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, pauseMs);
    signal?.addEventListener("abort", done);
    if (isAborted(signal)) done();
  });
}
