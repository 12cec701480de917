/** The error of a call: one class, distinguished by its code. */
import type { ErrorCode, ErrorEnvelope } from "./gen/api.ts";

/** Codes for calls that the service did not answer. */
export type LocalCode =
  /** The answer took longer than `timeoutMs`. */
  | "timeout"
  /** The connection could not be opened, or broke. */
  | "connection_failed"
  /** The answer is not one of this service: a proxy's page, or another server. */
  | "unexpected_answer"
  /** The caller's signal was aborted. */
  | "aborted";

/** A code of the service or of this client. A later version of the service may add some. */
export type BillingErrorCode = ErrorCode | LocalCode | (string & {});

/** What an error says besides its message. */
interface ErrorMembers {
  readonly code: BillingErrorCode;
  readonly type: string | null;
  readonly param: string | null;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly mayRepeat: boolean;
  readonly cause: unknown;
}

/** A failed call. Branch on `code`, never on the message. */
export class BillingError extends Error {
  override readonly name = "BillingError";
  /** The stable code, such as `units_unchanged`. */
  readonly code: BillingErrorCode;
  /** The service's group of the code, such as `conflict`. Null if the service did not answer. */
  readonly type: string | null;
  /** The path of the field at fault, such as `charges.0.price`. Null if there is none. */
  readonly param: string | null;
  /** The request's id: quote it when you report a problem. Null if the service did not answer. */
  readonly requestId: string | null;
  /** The pause before a repeat that the service asks for, in milliseconds. Null if it does not. */
  readonly retryAfterMs: number | null;
  /** Whether the same call may succeed if it is repeated with the same idempotency key. */
  readonly mayRepeat: boolean;
  /** The idempotency key of the call. Null for a call that only reads. */
  idempotencyKey: string | null = null;

  constructor(message: string, { cause, ...members }: ErrorMembers) {
    super(message, { cause });
    this.code = members.code;
    this.type = members.type;
    this.param = members.param;
    this.requestId = members.requestId;
    this.retryAfterMs = members.retryAfterMs;
    this.mayRepeat = members.mayRepeat;
  }
}

/** Whether `error` is a failed call, with one of `codes` if some are named. */
export function isBillingError(
  error: unknown,
  ...codes: readonly BillingErrorCode[]
): error is BillingError {
  if (!(error instanceof BillingError)) return false;
  return codes.length === 0 || codes.includes(error.code);
}

/**
 * The codes to repeat with the same key: the specification's 429, 500 and 502, and the answer while
 * an earlier attempt still runs.
 */
const repeated: readonly string[] = [
  "rate_limited",
  "internal_error",
  "ledger_unavailable",
  "temporarily_unavailable",
  "request_in_progress",
] satisfies ErrorCode[];

/** Returns the error of an attempt without an answer. The cause of a failed connection is added. */
export function lostAnswer(code: LocalCode, words: string, cause: unknown): BillingError {
  const isConnection = code === "connection_failed";
  return new BillingError(isConnection ? `${words}: ${reasonOf(cause)}` : words, {
    code,
    type: null,
    param: null,
    requestId: null,
    retryAfterMs: null,
    mayRepeat: code !== "aborted",
    cause,
  });
}

/** Node's `fetch` says only that it failed. Its cause says why, if need be by a code. */
function reasonOf(thrown: unknown): string {
  const { cause, message } = thrown as Partial<Error>;
  const { message: reason, code } = (cause ?? {}) as { message?: string; code?: string };
  return reason || code || message || String(thrown);
}

/** Returns the error of an answer that is no success. `answer` is its JSON object, if it is one. */
export function refusalOf(
  place: string,
  { status, headers }: Response,
  answer: object | null,
  text: string,
): BillingError {
  const { error } = (answer ?? {}) as Partial<ErrorEnvelope>;
  // Another server's error may have a code and a message too, and may repeat the key in it.
  const isOurs = typeof error?.code === "string" && typeof error.request_id === "string";
  const requestId = headers.get("Request-Id");
  const retryAfterMs = retryAfterOf(headers);
  if (isOurs) {
    return new BillingError(error.message, {
      code: error.code,
      type: error.type,
      param: error.param ?? null,
      requestId: error.request_id,
      retryAfterMs,
      mayRepeat: repeated.includes(error.code),
      cause: undefined,
    });
  }
  const form = /^\s*</.test(text) ? "an HTML page" : "something else than this service's JSON";
  // What proxies answer while they cannot reach the service.
  const isTemporary = status === 408 || status === 429 || status >= 500;
  const advice = isTemporary ? "" : ". Is baseUrl the service's address?";
  return new BillingError(`${place} answered ${status} with ${form}${advice}`, {
    code: "unexpected_answer",
    type: null,
    param: null,
    requestId,
    retryAfterMs,
    mayRepeat: isTemporary,
    cause: undefined,
  });
}

function retryAfterOf(headers: Headers): number | null {
  const value = headers.get("Retry-After");
  return value !== null && /^\d{1,5}$/.test(value) ? Number(value) * 1000 : null;
}
