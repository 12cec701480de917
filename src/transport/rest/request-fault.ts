/**
 * The faults that the transport itself finds: a request that does not fit the contract. This layer
 * must not import the domain's table of refusals, so an injected function turns a fault into a
 * refusal.
 */

/** The codes of the transport's own faults (REQUEST-2, REQUEST-5, REQUEST-7, LIMIT-4). */
type RequestFaultCode =
  | "invalid_parameter"
  | "request_too_large"
  | "temporarily_unavailable"
  | "unknown_endpoint";

/**
 * A request that cannot be read. `param` is the path of the fault, null if the whole request is at
 * fault.
 */
export class RequestFault extends Error {
  override readonly name = "RequestFault";
  readonly code: RequestFaultCode;
  readonly param: string | null;
  /** The value of the header `Retry-After`, or null for none. */
  readonly retryAfterSeconds: number | null;
  /** Finds every fault of a JSON body, this one first. Reads the body once more. */
  allFaults: () => readonly RequestFault[] = () => [this];

  constructor(
    code: RequestFaultCode,
    message: string,
    param: string | null = null,
    retryAfterSeconds: number | null = null,
  ) {
    super(message);
    this.code = code;
    this.param = param;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
