/**
 * Answers `GET` with a public file that changes only with the version or the settings. Clients ask
 * each time whether it has changed, by its entity tag. REQUEST-3.
 */
import { createHash } from "node:crypto";
import { extname } from "node:path";
import { type HeaderFields, respond } from "../rest/respond.ts";
import type { HttpAnswer } from "./system-endpoints.ts";

/** A file. Every answer shares the same bytes, so unread answers cost no memory. */
interface PublishedFile {
  readonly body: Buffer;
  readonly contentType: string;
  /** Further header fields. */
  readonly headers?: HeaderFields;
  /** The value of `Cache-Control`, if not every use asks whether the file has changed. */
  readonly caching?: string;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};

/** Returns the content type of a file by its name. */
export function contentTypeOf(name: string): string {
  return contentTypes[extname(name)] ?? "application/octet-stream";
}

/**
 * Returns the answer with the file, and a hash of its bytes as a strong entity tag. It is 304
 * without a body if the client has the same bytes.
 */
export function publishedFile(file: PublishedFile): HttpAnswer {
  const { body, contentType, headers: further, caching = "public, no-cache" } = file;
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
  return (request, response, exchange) => {
    const headers = {
      "Request-Id": exchange.requestId,
      "X-Content-Type-Options": "nosniff",
      ETag: etag,
      "Cache-Control": caching,
      ...further,
    };
    if (matches(request.headers["if-none-match"], etag)) {
      response.writeHead(304, headers).end();
      return;
    }
    respond(request, response, 200, { ...headers, "Content-Type": contentType }, body);
  };
}

/** The weak comparison of RFC 9110, 13.1.2. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(",")
    .some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
