/**
 * Translates refusals of the Connect library (an unreadable or too large body, an unknown
 * compression) into the service's refusals. They have the same codes and error detail, so that
 * clients see one kind of error (REQUEST-13).
 */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { Refusal } from "../../../domain/refusal.ts";
import { connectErrorOf, type ErrorReport } from "../refusals.ts";

/**
 * Rewrites the library's own error of this call, if there is one. In each of its protocols the
 * library aborts the call's signal with the error before it writes the error. The error is changed
 * in place at that point. `readable` says whether the request had been read by then. The last
 * parameter receives the error to report.
 */
export function reportLibraryErrors(
  context: HandlerContext,
  readable: () => boolean,
  reportError: (error: unknown) => ErrorReport,
): void {
  context.signal.addEventListener("abort", () => {
    const error: unknown = context.signal.reason;
    // The service's errors have a detail. A call that its client aborted or that exceeded its own
    // deadline is no fault of the request.
    if (!(error instanceof ConnectError) || error.details.length > 0 || isOver(error)) return;
    const { code, message, rawMessage, details, metadata } = connectErrorOf(
      reportError(readable() ? error : refusalOf(error)),
    );
    Object.assign(error, { code, message, rawMessage, details, metadata });
  });
}

function isOver(error: ConnectError): boolean {
  return error.code === Code.Canceled || error.code === Code.DeadlineExceeded;
}

/** Returns the refusal of a request that the library could not read. JSON was read before. */
function refusalOf(error: ConnectError): Refusal {
  if (error.code === Code.ResourceExhausted)
    return new Refusal("request_too_large", "The request is larger than 1 MiB");
  return new Refusal("invalid_parameter", `The request cannot be read: ${error.rawMessage}`);
}
