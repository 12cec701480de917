/**
 * One call: its idempotency key, its attempts and the pauses between them. Every attempt has the
 * same key and the same body, so that nothing is done twice.
 */
import {
  clone,
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { BillingError, billingErrorOf } from "./error.ts";

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
  readonly transport: Transport;
  readonly apiKey: string;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly onRetry: (retry: Retry) => void;
}

/** The pause after a first failure. Each further pause is twice as long, eight seconds at most. */
const firstPauseMs = 500;
const maxPauseMs = 8_000;

/** Calls a method until it is answered, refused, or repeated as often as the settings allow. */
export async function call<I extends DescMessage, O extends DescMessage>(
  settings: CallSettings,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions,
): Promise<MessageShape<O>> {
  const key = idempotencyKeyOf(method, options);
  const headers = headersOf(settings, options, key);
  // A copy: a caller who changes the request meanwhile would send the key with another body.
  const message = clone(method.input, create(method.input, request));
  for (let attempt = 1; ; attempt += 1) {
    const timeout = AbortSignal.timeout(settings.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const answer = await settings.transport
      .unary(method, signal, undefined, headers, message)
      .catch((thrown: unknown) => billingErrorOf(thrown, hasTimedOut(timeout, options.signal)));
    if (!(answer instanceof BillingError)) {
      options.onHeaders?.(answer.header);
      return answer.message;
    }
    answer.idempotencyKey = key;
    const isLast = attempt > settings.retries || isAborted(options.signal);
    if (!answer.mayRepeat || isLast) throw answer;
    const pauseMs = pauseAfter(attempt, answer.retryAfterMs);
    settings.onRetry({ method: method.localName, attempt, pauseMs, error: answer });
    await pause(pauseMs, options.signal);
    if (isAborted(options.signal)) throw answer;
  }
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

/** Returns the key of a call that writes, or null for one that only reads. */
function idempotencyKeyOf(
  { idempotency }: DescMethodUnary,
  { idempotencyKey }: CallOptions,
): string | null {
  if (idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return null;
  return idempotencyKey ?? crypto.randomUUID();
}

/** Whether the time of the attempt was over before the caller aborted it. */
function hasTimedOut(timeout: AbortSignal, signal: AbortSignal | undefined): boolean {
  return timeout.aborted && !isAborted(signal);
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
