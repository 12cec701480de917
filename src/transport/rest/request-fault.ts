/**
 * What the gateway itself refuses: a request that cannot be read as one of the contract. The room must not know the
 * domain's table of refusals, so the handler turns a fault into a refusal by a function that it is given.
 */

/** The codes that the gateway answers by itself. decisions §1, steps 1 and 6. */
export type RequestFaultCode = "invalid_parameter" | "request_too_large" | "unknown_endpoint";

/** A request that cannot be read; `param` is the path of what is at fault, null where the whole request is. */
export class RequestFault extends Error {
  override readonly name = "RequestFault";
  readonly code: RequestFaultCode;
  readonly param: string | null;

  constructor(code: RequestFaultCode, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}
