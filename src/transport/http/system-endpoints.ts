/**
 * The system endpoints, which need no key: the OpenAPI document, health, readiness and, on a port
 * that is not public, metrics. No rate limit counts them (REQUEST-3).
 */
import type { Exchange, HttpRequest, HttpResponse } from "../rest/exchange.ts";
import { responseHeaders } from "../rest/handler.ts";
import { respond } from "../rest/respond.ts";
import type { Readiness } from "./readiness.ts";

/** The system endpoints of a port and their sources. */
export interface SystemEndpoints {
  /**
   * The document and its entity tag with quotes. Null if the port has no document. Every answer
   * shares the same bytes, so unread answers cost no memory.
   */
  readonly openapi: { readonly body: Buffer; readonly etag: string } | null;
  readonly readiness: Pick<Readiness, "report">;
  /** Further answers to `GET`, by path. */
  readonly pages?: ReadonlyMap<string, Answer>;
  /** Answers to `POST`, by path. */
  readonly ledgerEndpoints?: ReadonlyMap<string, Answer>;
  /** Returns the metrics in the text format of Prometheus. Null if this port does not show them. */
  readonly metrics: (() => Promise<{ readonly contentType: string; readonly text: string }>) | null;
}

/** Answers a request. It never rejects. */
export type Answer = (
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
) => Promise<void> | void;

/** Returns the answers to `GET` by path. */
export function systemEndpoints(parts: SystemEndpoints): ReadonlyMap<string, Answer> {
  return new Map<string, Answer>([
    ...(parts.openapi === null
      ? []
      : [["/v1/openapi.json", openapiAnswer(parts.openapi)] as const]),
    [
      "/healthz",
      (request, response, exchange) => json(request, response, exchange, 200, { status: "ok" }),
    ],
    ["/readyz", readinessAnswer(parts.readiness)],
    ...(parts.metrics === null ? [] : [["/metrics", metricsAnswer(parts.metrics)] as const]),
    ...(parts.pages ?? []),
  ]);
}

function json(
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
  status: number,
  value: object,
): void {
  respond(request, response, status, responseHeaders(exchange), JSON.stringify(value));
}

function openapiAnswer({ body, etag }: NonNullable<SystemEndpoints["openapi"]>): Answer {
  return (request, response, exchange) => {
    const headers = [
      "Request-Id",
      exchange.requestId,
      "X-Content-Type-Options",
      "nosniff",
      "ETag",
      etag,
    ];
    headers.push("Cache-Control", "public, no-cache");
    if (matches(request.headers["if-none-match"], etag)) {
      response.writeHead(304, headers).end();
      return;
    }
    headers.push("Content-Type", "application/json");
    respond(request, response, 200, headers, body);
  };
}

/** The weak comparison of RFC 9110, 13.1.2. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(",")
    .some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

function readinessAnswer(readiness: SystemEndpoints["readiness"]): Answer {
  return async (request, response, exchange) => {
    const report = await readiness.report();
    json(request, response, exchange, report.status === "ready" ? 200 : 503, report);
  };
}

function metricsAnswer(metrics: NonNullable<SystemEndpoints["metrics"]>): Answer {
  return async (request, response, exchange) => {
    const { contentType, text } = await metrics();
    const headers = [
      "Request-Id",
      exchange.requestId,
      "Content-Type",
      contentType,
      "Cache-Control",
      "no-store",
    ];
    respond(request, response, 200, headers, text);
  };
}
