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
import { ErrorDetailSchema } from "../../gen/proto/billing/v1/common_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/proto/google/rpc/error_details_pb.ts";
import { isDatabaseUnreachable } from "../../store/database/errors.ts";
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
  return unavailable("The service cannot answer right now and did nothing; please retry", cause);
}

/**
 * Returns the refusal of a write whose database was lost midway. The cause is logged (REQUEST-14).
 */
export function unknownOutcome(cause: unknown): Refusal {
  const message =
    "The service lost its database, and the request may have been done or not; " +
    "please retry it unchanged";
  return unavailable(message, cause);
}

/** Returns the refusal of the body that would be one too many. A client may repeat it (LIMIT-4). */
export function tooManyUnfinished(): Refusal {
  return unavailable("Too many request bodies are unfinished; please retry");
}

function unavailable(message: string, cause?: unknown): Refusal {
  const refusal = new Refusal("temporarily_unavailable", message, null, 1);
  return cause === undefined ? refusal : Object.assign(refusal, { cause });
}

/** Returns the answer. If the database was lost, throws this refusal in place of its error. */
export async function answered<T>(
  answer: Promise<T>,
  refusal: (cause: unknown) => Refusal = temporarilyUnavailable,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isDatabaseUnreachable(error) ? refusal(error) : error;
  }
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

type Details = NonNullable<ConstructorParameters<typeof ConnectError>[3]>;

/** Who defines the reasons. */
const domain = "billing.v1";

/**
 * The bytes of faults in one error. gRPC sends details as a header field, of which many clients
 * take 8 KiB.
 */
const maxFaultBytes = 4_500;

/** What a fault takes in addition to its texts. */
const bytesOfEach = 8;

/**
 * Returns the details of an error over Connect and gRPC: the members of the REST envelope first,
 * and those of `google.rpc` that clients of every language know (REQUEST-13, REQUEST-17).
 */
function errorDetails(report: ErrorReport): Details {
  const { type, code, message, requestId, param, retryAfterSeconds } = report;
  const reason = code.toUpperCase();
  const field = param === null ? {} : { param };
  const metadata = { request_id: requestId, ...field };
  const faults = withinLimit(report.faults(), reason);
  return [
    { desc: ErrorDetailSchema, value: { type, code, message, requestId, ...field } },
    { desc: ErrorInfoSchema, value: { reason, domain, metadata } },
    ...(faults.length === 0
      ? []
      : [
          {
            desc: BadRequestSchema,
            value: { fieldViolations: faults.map((fault) => ({ ...fault, reason })) },
          },
        ]),
    ...(retryAfterSeconds === null
      ? []
      : [{ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retryAfterSeconds) } } }]),
  ];
}

/** Returns the first faults, as many as fit. */
function withinLimit(faults: readonly FieldFault[], reason: string): readonly FieldFault[] {
  let bytes = 0;
  return faults.filter(({ field, description }) => {
    bytes += Buffer.byteLength(field + description + reason) + bytesOfEach;
    return bytes <= maxFaultBytes;
  });
}
