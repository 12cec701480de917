/**
 * What the Connect library refuses by itself (a body that cannot be read, too large, an unknown compression) told like our own
 * refusals: same codes, same error detail, so that clients meet one kind of error. decisions §1, step 6.
 */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { Refusal } from "../../domain/refusal.ts";
import { connectErrorOf, type Told } from "./refusals.ts";

/**
 * Retells the library's own error of this call, if it comes to one. The library aborts the call's signal with the error before
 * it writes it, in each of its protocols: that is where it is reworked in place. `readable` says whether the request had been
 * read by then; `tell` is given what to tell.
 */
export function retellLibraryErrors(
  context: HandlerContext,
  readable: () => boolean,
  tell: (error: unknown) => Told,
): void {
  context.signal.addEventListener("abort", () => {
    const error: unknown = context.signal.reason;
    // Ours have a detail; a call that its client broke off or that ran out of its own time is no fault of the request.
    if (!(error instanceof ConnectError) || error.details.length > 0 || isOver(error)) return;
    const { code, message, rawMessage, details, metadata } = connectErrorOf(
      tell(readable() ? error : refusalOf(error)),
    );
    Object.assign(error, { code, message, rawMessage, details, metadata });
  });
}

function isOver(error: ConnectError): boolean {
  return error.code === Code.Canceled || error.code === Code.DeadlineExceeded;
}

/** The refusal of a request that the library could not read; `param` names the field as far as the library says it. */
function refusalOf(error: ConnectError): Refusal {
  if (error.code === Code.ResourceExhausted) {
    return new Refusal("request_too_large", "The request is larger than 1 MiB");
  }
  const message = `The request cannot be read: ${error.rawMessage}`;
  return new Refusal("invalid_parameter", message, fieldOf(error));
}

/** protobuf's JSON reader names an unknown or repeated member in its message, and a field of a wrong type in its cause. */
function fieldOf(error: ConnectError): string | null {
  const named = /(?:key "([^"]+)" is unknown|duplicate object key "([^"]+)")/.exec(error.rawMessage);
  if (named !== null) return named[1] ?? named[2] ?? null;
  const { cause } = error;
  const inner = cause instanceof Error ? cause.cause : undefined;
  for (const one of [cause, inner]) {
    if (one instanceof Error && "field" in one && typeof one.field === "function") return String(one.field().name);
  }
  return null;
}
