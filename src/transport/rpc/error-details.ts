/**
 * The details of an error over Connect and gRPC: the members of the REST envelope, and those of
 * `google.rpc` that clients of every language know (REQUEST-13, REQUEST-17).
 */
import type { ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../../gen/proto/billing/v1/common_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/proto/google/rpc/error_details_pb.ts";
import type { FieldFault } from "./invalid-request.ts";
import type { ErrorReport } from "./refusals.ts";

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

/** Returns the details: the service's own first, since clients of earlier versions read only it. */
export function errorDetails(report: ErrorReport): Details {
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
