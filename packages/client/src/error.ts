/** The error of a call: one class, distinguished by its code. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { ErrorCode } from "./gen/error-codes.ts";
import { ErrorDetailSchema } from "./gen/messages.ts";

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

/** Returns the error of an attempt. `isTimeout`: this client ended it after `timeoutMs`. */
export function billingErrorOf(thrown: unknown, isTimeout: boolean): BillingError {
  const cause = ConnectError.from(thrown);
  const [detail] = cause.findDetails(ErrorDetailSchema);
  const requestId = cause.metadata.get("Request-Id");
  const retryAfterMs = retryAfterOf(cause.metadata);
  if (detail !== undefined) {
    return new BillingError(detail.message, {
      code: detail.code,
      type: detail.type,
      param: detail.param ?? null,
      requestId: detail.requestId === "" ? requestId : detail.requestId,
      retryAfterMs,
      mayRepeat: repeated.includes(detail.code),
      cause,
    });
  }
  const code = isTimeout ? "timeout" : localCodeOf(cause);
  return new BillingError(localMessages[code] ?? cause.rawMessage, {
    code,
    type: null,
    param: null,
    requestId,
    retryAfterMs,
    mayRepeat: code === "timeout" || code === "connection_failed" || isTemporary(cause),
    cause,
  });
}

/**
 * Whether an answer without the service's detail is one of a proxy that may pass. The library's
 * message has the status, and its code says `Unavailable` for 429, 502, 503 and 504.
 */
function isTemporary({ code, rawMessage }: ConnectError): boolean {
  return code === Code.Unavailable || /^HTTP (?:408|5\d\d)$/.test(rawMessage);
}

const localMessages: Readonly<Partial<Record<LocalCode, string>>> = {
  timeout: "the service did not answer in time",
  aborted: "the call was aborted",
};

function localCodeOf(error: ConnectError): LocalCode {
  if (error.code === Code.Canceled) return "aborted";
  // `fetch` rejects with a TypeError if the connection fails. It may be one of another realm.
  const { name } = (error.cause ?? {}) as Partial<Error>;
  return name === "TypeError" ? "connection_failed" : "unexpected_answer";
}

function retryAfterOf(headers: Headers): number | null {
  const value = headers.get("Retry-After");
  return value !== null && /^\d{1,5}$/.test(value) ? Number(value) * 1000 : null;
}
