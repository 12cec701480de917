/** Takes the two headers that the gate judges from a request as it came: Node's own view of them hides a repeat. */
import type { HttpRequest } from "../rest/exchange.ts";
import type { GateHeaders } from "../rpc/gate.ts";
import type { HeaderValue } from "../rpc/gate-headers.ts";

/**
 * `Authorization` and `Idempotency-Key`: the text where sent once, all of them where repeated (Node keeps the first
 * `Authorization` and joins the other), null where absent. decisions §1, steps 2 and 5.
 */
export function credentialsOf({ rawHeaders }: HttpRequest): GateHeaders {
  return {
    authorization: headerOf(rawHeaders, "authorization"),
    idempotencyKey: headerOf(rawHeaders, "idempotency-key"),
  };
}

/** Whether a header was sent more than once. `name` is in lower case. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  return Array.isArray(headerOf(rawHeaders, name));
}

/** Names and values stand in turn; of most names the length alone tells that they are another. */
function headerOf(rawHeaders: readonly string[], wanted: string): HeaderValue {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === wanted.length && name.toLowerCase() === wanted) values.push(rawHeaders[index + 1] ?? "");
  }
  return values.length > 1 ? values : (values[0] ?? null);
}
