/** The body of every failed request (REQUEST-15). */

import type { ErrorReport } from "../rpc/refusals.ts";

/** The members of the body. Status and `Retry-After` are sent outside it. */
type EnvelopeMembers = Pick<ErrorReport, "type" | "code" | "message" | "param" | "requestId">;

/** Returns the JSON text `{"error":{type, code, message, param?, request_id}}`. */
export function errorEnvelope(error: EnvelopeMembers): string {
  const { type, code, message, requestId } = error;
  const param = error.param ?? undefined;
  return JSON.stringify({ error: { type, code, message, param, request_id: requestId } });
}
