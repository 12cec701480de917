/**
 * Reads the headers of the gate from the raw request, because Node's own view hides a repeated
 * header.
 */
import type { HttpRequest } from "../rest/exchange.ts";
import type { GateHeaders } from "../rpc/gate/gate.ts";
import type { HeaderValue } from "../rpc/gate/gate-headers.ts";

/**
 * Returns `Authorization` and `Idempotency-Key`: the text if sent once, all texts if repeated, null
 * if absent. Node itself keeps the first `Authorization` and joins the other header. REQUEST-1,
 * IDEMPOTENCY-1.
 */
export function credentialsOf({ rawHeaders }: HttpRequest): GateHeaders {
  return {
    authorization: headerOf(rawHeaders, "authorization"),
    idempotencyKey: headerOf(rawHeaders, "idempotency-key"),
    other: (name) => headerOf(rawHeaders, name),
  };
}

/** Whether a header was sent more than once. `name` is in lower case. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  return Array.isArray(headerOf(rawHeaders, name));
}

/** Names and values alternate. For most names the length alone rules out a match. */
function headerOf(rawHeaders: readonly string[], wanted: string): HeaderValue {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === wanted.length && name.toLowerCase() === wanted)
      values.push(rawHeaders[index + 1] ?? "");
  }
  return values.length > 1 ? values : (values[0] ?? null);
}
