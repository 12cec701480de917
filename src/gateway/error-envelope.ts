/** The body of every failed request. Spec: Errors. */

/** An error as it is told, whatever the protocol. */
export interface ToldError {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** The path of the field at fault; the member is absent where it is null. */
  readonly param: string | null;
  readonly requestId: string;
  /** Becomes the header `Retry-After`; null for none. */
  readonly retryAfterSeconds: number | null;
}

/** The JSON text `{"error":{type, code, message, param?, request_id}}`. */
export function errorEnvelope(error: ToldError): string {
  const { type, code, message, requestId } = error;
  const param = error.param ?? undefined;
  return JSON.stringify({ error: { type, code, message, param, request_id: requestId } });
}
