/** The form of an HTTP/1.1 request: its host, its transfer coding and its target. */
import type { HttpRequest } from "../rest/exchange.ts";
import { isRepeated } from "./credentials.ts";

/**
 * RFC 9112, 3.2: an HTTP/1.1 request names one host, and no request names two. Section 6.1: chunks
 * in HTTP/1.0 are a sign of a faulty relay, which may see the end of the request elsewhere. Over
 * HTTP/2 the library refuses a second host.
 */
export function isWellFormed({ httpVersion, headers, rawHeaders }: HttpRequest): boolean {
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) return false;
  if (headers.host === undefined) return httpVersion !== "1.1";
  return !isRepeated(rawHeaders, "host");
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
