/**
 * What the head of a request says: the form of an HTTP/1.1 request, and the state of its exchange
 * at its arrival. Nothing of the body is read.
 */
import { newId } from "../../store/database/ids.ts";
import type { Exchange, HttpRequest } from "../rest/exchange.ts";
import type { GateHeaders, HeaderValue } from "../rpc/gate/gate.ts";

/** Returns the state of a new request, with a new id. */
export function beginExchange(
  request: HttpRequest,
  awaitsContinue: boolean,
  holdBody: Exchange["holdBody"],
): Exchange {
  const url = request.url ?? "";
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  return {
    requestId: newId(),
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

/**
 * Returns `Authorization` and `Idempotency-Key`: the text if sent once, all texts if repeated, null
 * if absent. Node's own view keeps the first `Authorization` and joins the other header. REQUEST-1,
 * IDEMPOTENCY-1.
 */
export function credentialsOf({ rawHeaders }: HttpRequest): GateHeaders {
  return {
    authorization: headerOf(rawHeaders, "authorization"),
    idempotencyKey: headerOf(rawHeaders, "idempotency-key"),
    other: (name) => headerOf(rawHeaders, name),
  };
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

/**
 * RFC 9112, 3.2: an HTTP/1.1 request names one host, and no request names two. Section 6.1: chunks
 * in HTTP/1.0 are a sign of a faulty relay, which may see the end of the request elsewhere. Over
 * HTTP/2 the library refuses a second host.
 */
export function isWellFormed({ httpVersion, headers, rawHeaders }: HttpRequest): boolean {
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) return false;
  if (headers.host === undefined) return httpVersion !== "1.1";
  return typeof headerOf(rawHeaders, "host") === "string";
}

/**
 * The Connect library makes an address of the host, and throws if it is none, or absent (HTTP/1.0).
 * The host decides nothing here.
 */
export function replaceHost({ headers, stream }: HttpRequest): void {
  headers[stream === undefined ? "host" : ":authority"] = "localhost";
}

const schemeAndAuthority = /^https?:\/\/[^/?#]+/i;

/**
 * RFC 9112, 3.2.2: a server must accept the absolute form. Only the path is kept, because scheme
 * and host decide nothing here.
 */
export function takeOriginForm(request: HttpRequest): void {
  const { url } = request;
  if (url === undefined || url.startsWith("/") || request.stream !== undefined) return;
  const rest = url.replace(schemeAndAuthority, "");
  request.url = rest === "" || rest.startsWith("?") ? `/${rest}` : rest;
}
