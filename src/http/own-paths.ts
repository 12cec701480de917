/**
 * The paths that belong to the port itself and need no key: the OpenAPI document, health, readiness and metrics. They are
 * never counted against a rate.
 */
import type { Exchange, HttpRequest, HttpResponse } from "../gateway/exchange.ts";
import { responseHeaders } from "../gateway/handler.ts";
import { respond } from "../gateway/respond.ts";

/** One thing the process stands on: `check` rejects where it is not there. */
export interface HealthCheck {
  /** Without it nothing can be answered; without the others accepted work waits, and the process still serves. */
  readonly required: boolean;
  readonly check: () => Promise<unknown>;
}

/** What the port shows of itself. */
export interface OwnPaths {
  /**
   * The document and its entity tag, quotes included; null where the port has none. Its bytes are
   * the same object in every answer: those that nobody reads cost no memory.
   */
  readonly openapi: { readonly body: Buffer; readonly etag: string } | null;
  /** By name (`database`, `temporal`): each is told apart. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  /** What else `GET` finds here, by path. */
  readonly pages?: ReadonlyMap<string, Answer>;
  /** What `POST` finds here, by path. */
  readonly doors?: ReadonlyMap<string, Answer>;
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Answers a request; it never rejects. */
export type Answer = (request: HttpRequest, response: HttpResponse, exchange: Exchange) => Promise<void> | void;

/** A check that has not answered by then has failed: probes themselves wait 1 to 5 s. */
const checkMs = 2_000;

/** The answers by path; only `GET` has them. `isDraining` makes the readiness negative before the port closes. */
export function ownPaths(parts: OwnPaths, isDraining: () => boolean): ReadonlyMap<string, Answer> {
  return new Map<string, Answer>([
    ...(parts.openapi === null ? [] : [["/v1/openapi.json", openapiAnswer(parts.openapi)] as const]),
    ["/healthz", (request, response, exchange) => json(request, response, exchange, 200, { status: "ok" })],
    ["/readyz", readinessAnswer(parts.checks, isDraining)],
    ["/metrics", metricsAnswer(parts.metrics)],
    ...(parts.pages ?? []),
  ]);
}

function json(request: HttpRequest, response: HttpResponse, exchange: Exchange, status: number, value: object): void {
  respond(request, response, status, responseHeaders(exchange), JSON.stringify(value));
}

function openapiAnswer({ body, etag }: NonNullable<OwnPaths["openapi"]>): Answer {
  return (request, response, exchange) => {
    const headers = ["Request-Id", exchange.requestId, "X-Content-Type-Options", "nosniff", "ETag", etag];
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
  return ifNoneMatch.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

function readinessAnswer(checks: OwnPaths["checks"], isDraining: () => boolean): Answer {
  return async (request, response, exchange) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, { required, check }]) => ({ name, required, ok: await passes(check) })),
    );
    const ready = !isDraining() && results.every(({ ok, required }) => ok || !required);
    const told = Object.fromEntries(results.map(({ name, ok }) => [name, ok ? "ok" : "failed"]));
    const status = isDraining() ? "stopping" : ready ? "ready" : "not_ready";
    json(request, response, exchange, ready ? 200 : 503, { status, checks: told });
  };
}

/** Whether the check succeeds in time; why not is the business of the part's own log, not of a public answer. */
async function passes(check: HealthCheck["check"]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, checkMs, false);
  check().then(
    () => resolve(true),
    () => resolve(false),
  );
  const ok = await promise;
  clearTimeout(timer);
  return ok;
}

function metricsAnswer(metrics: OwnPaths["metrics"]): Answer {
  return async (request, response, exchange) => {
    const { contentType, text } = await metrics();
    const headers = ["Request-Id", exchange.requestId, "Content-Type", contentType, "Cache-Control", "no-store"];
    respond(request, response, 200, headers, text);
  };
}
