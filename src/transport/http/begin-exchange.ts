/** The state of a request at its arrival. */
import type { Exchange, HttpRequest } from "../rest/exchange.ts";
import { credentialsOf } from "./credentials.ts";
import { newRequestId } from "./request-id.ts";

/** Returns the state of a new request, with a new id. Nothing of its body is read. */
export function beginExchange(
  request: HttpRequest,
  awaitsContinue: boolean,
  holdBody: Exchange["holdBody"],
): Exchange {
  const url = request.url ?? "";
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  return {
    requestId: newRequestId(),
    path: path.startsWith("/api/v1/") ? path.slice("/api".length) : path,
    query: mark === -1 ? "" : url.slice(mark + 1),
    credentials: credentialsOf(request),
    awaitsContinue,
    holdBody,
    startedMs: performance.now(),
    operation: null,
    protocol: null,
    organisationId: null,
    apiKeyId: null,
    traceId: null,
    code: null,
    abort: null,
  };
}
