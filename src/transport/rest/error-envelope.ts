/** The body of every failed request. Spec: Errors. */

import type { Told } from "../rpc/refusals.ts";

/** What stands in the body; status and `Retry-After` are told outside of it. */
export type EnvelopeMembers = Pick<Told, "type" | "code" | "message" | "param" | "requestId">;

/** The JSON text `{"error":{type, code, message, param?, request_id}}`. */
export function errorEnvelope(error: EnvelopeMembers): string {
  const { type, code, message, requestId } = error;
  const param = error.param ?? undefined;
  return JSON.stringify({ error: { type, code, message, param, request_id: requestId } });
}
