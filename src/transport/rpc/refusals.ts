/**
 * Turns any error into its public form for every protocol. A refusal has its row of the table. Any
 * other error is `internal_error` with a neutral message, and only the log has its details.
 * REQUEST-13, REQUEST-15.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Refusal,
  type RefusalCode,
  type RefusalConnectCode,
  type RefusalType,
  refusals,
} from "../../domain/refusal.ts";
import { errorDetails } from "./error-details.ts";
import { type FieldFault, InvalidRequest } from "./invalid-request.ts";

/**
 * The public form of an error: the members of the REST envelope and of the Connect detail, and the
 * header.
 */
export interface ErrorReport {
  readonly status: number;
  readonly type: RefusalType;
  readonly code: RefusalCode;
  readonly message: string;
  /** The path of the field at fault. Null if the whole request is at fault. */
  readonly param: string | null;
  readonly requestId: string;
  /** The value of the header `Retry-After`, or null for none. */
  readonly retryAfterSeconds: number | null;
  /** Finds every fault of the request's fields, the first one first. None if it has none. */
  readonly faults: () => readonly FieldFault[];
}

/** Turns any error into its public form, and logs errors that are not refusals. Never throws. */
export type ReportError = (error: unknown, requestId: string) => ErrorReport;

/**
 * Receives what a client must not see: an unexpected error, or the cause behind a refusal with this
 * code.
 */
export type LogFailure = (error: unknown, requestId: string, refused?: RefusalCode) => void;

/**
 * The message of an internal error. It has nothing that could help an attacker, and helps to find
 * the error.
 */
const internalMessage =
  "Something went wrong on our side; please retry, and quote the request id if it goes on";

/**
 * Creates the error report over a log. A refusal with a `cause` (another system could not be
 * reached) is logged as well.
 */
export function createReportError(log: LogFailure): ReportError {
  return (error, requestId) => {
    if (error instanceof Refusal) {
      if (error.cause !== undefined) log(error.cause, requestId, error.code);
      return reportOf(error, requestId);
    }
    log(error, requestId);
    return reportOf(new Refusal("internal_error", internalMessage), requestId);
  };
}

/**
 * Returns the refusal for a system that could not be reached when nothing was decided. The cause is
 * logged (REQUEST-14).
 */
export function temporarilyUnavailable(cause: unknown): Refusal {
  const refusal = new Refusal(
    "temporarily_unavailable",
    "The service cannot answer right now and did nothing; please retry",
    null,
    1,
  );
  refusal.cause = cause;
  return refusal;
}

/**
 * Returns the refusal of a write whose database was lost midway. The cause is logged (REQUEST-14).
 */
export function unknownOutcome(cause: unknown): Refusal {
  const message =
    "The service lost its database, and the request may have been done or not; " +
    "please retry it unchanged";
  const refusal = new Refusal("temporarily_unavailable", message, null, 1);
  refusal.cause = cause;
  return refusal;
}

function reportOf(refusal: Refusal, requestId: string): ErrorReport {
  const { status, type } = refusals[refusal.code];
  const { code, message, param, retryAfterSeconds } = refusal;
  const faults = refusal instanceof InvalidRequest ? refusal.allFaults : () => faultOf(refusal);
  return { status, type, code, message, param, requestId, retryAfterSeconds, faults };
}

function faultOf({ param, message }: Refusal): readonly FieldFault[] {
  return param === null ? [] : [{ field: param, description: message }];
}

const connectCodes = {
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  not_found: Code.NotFound,
  aborted: Code.Aborted,
  failed_precondition: Code.FailedPrecondition,
  invalid_argument: Code.InvalidArgument,
  resource_exhausted: Code.ResourceExhausted,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  unimplemented: Code.Unimplemented,
} as const satisfies Record<RefusalConnectCode, Code>;

/**
 * Returns the same error for Connect and gRPC: the code of the table, its details, and
 * `Retry-After` if there is one.
 */
export function connectErrorOf(report: ErrorReport): ConnectError {
  const { code, message, retryAfterSeconds } = report;
  return new ConnectError(
    message,
    connectCodes[refusals[code].connect],
    retryAfterSeconds === null ? {} : { "Retry-After": String(retryAfterSeconds) },
    errorDetails(report),
  );
}
