/**
 * The system endpoints, which need no key: health, readiness, published files and, on a port that
 * is not public, metrics. No rate limit counts them (REQUEST-3).
 */
import type { Exchange, HttpRequest, HttpResponse } from "../rest/exchange.ts";
import { respond, responseHeaders } from "../rest/respond.ts";
import type { Readiness } from "./readiness.ts";

/** The system endpoints of a port and their sources. */
export interface SystemEndpoints {
  readonly readiness: Pick<Readiness, "report">;
  /** Further answers to `GET`, by path. */
  readonly pages?: ReadonlyMap<string, HttpAnswer>;
  /** Answers to `POST`, by path. */
  readonly ledgerEndpoints?: ReadonlyMap<string, HttpAnswer>;
  /** Returns the metrics in the text format of Prometheus. Null if this port does not show them. */
  readonly metrics: (() => Promise<{ readonly contentType: string; readonly text: string }>) | null;
}

/** Answers a request. It never rejects. */
export type HttpAnswer = (
  request: HttpRequest,
  response: HttpResponse,
  exchange: Exchange,
) => Promise<void> | void;

/** Returns the answers to `GET` by path. */
export function systemEndpoints(parts: SystemEndpoints): ReadonlyMap<string, HttpAnswer> {
  return new Map<string, HttpAnswer>([
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

function readinessAnswer(readiness: SystemEndpoints["readiness"]): HttpAnswer {
  return async (request, response, exchange) => {
    const report = await readiness.report();
    json(request, response, exchange, report.status === "ready" ? 200 : 503, report);
  };
}

function metricsAnswer(metrics: NonNullable<SystemEndpoints["metrics"]>): HttpAnswer {
  return async (request, response, exchange) => {
    const { contentType, text } = await metrics();
    respond(request, response, 200, responseHeaders(exchange, contentType), text);
  };
}
