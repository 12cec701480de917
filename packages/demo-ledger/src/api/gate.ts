/**
 * The order of one request's handling: identity, page, admin, or the accounting API behind token,
 * tenant, limits and faults.
 */
import type pg from "pg";
import { type AdminDependencies, answerAdmin } from "../admin.ts";
import { answerOfFault, type Fault, type FaultBook } from "../faults.ts";
import type { AppBook, DemoApp } from "../oauth/apps.ts";
import { consentAnswer } from "../oauth/consent.ts";
import {
  appConnectionsAnswer,
  connectionsAnswer,
  readBearer,
  tokenAnswer,
} from "../oauth/tokens.ts";
import { isOwnHost, type PageAnswer, pageAnswer } from "../page.ts";
import type { DemoTenant, TenantBook } from "../tenants.ts";
import {
  type DemoAnswer,
  forbiddenAnswer,
  jsonAnswer,
  notFoundAnswer,
  unauthorisedAnswer,
} from "./answers.ts";
import type { ApiRequest } from "./api-request.ts";
import { keyedWrite } from "./keyed-write.ts";
import type { LimitBook } from "./limits.ts";
import { answerApi } from "./routes.ts";

/** Everything that a request can use. `wait` is the pause of a slow fault. */
export interface DemoParts {
  readonly pool: pg.Pool;
  readonly tenants: TenantBook;
  readonly apps: AppBook;
  readonly limits: LimitBook;
  readonly faults: FaultBook | null;
  readonly highVolume: number;
  readonly wait: (delayMs: number) => Promise<void>;
}

/** A request with its whole body. Header names are in lower case. */
export interface DemoRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The result of a request: an answer, a cut connection, or silence. */
export type DemoOutcome =
  | { readonly kind: "answer"; readonly answer: DemoAnswer | PageAnswer }
  | { readonly kind: "cut" }
  | { readonly kind: "silence" };

const apiBase = "/api.xro/2.0/";

const foreignHostAnswer = jsonAnswer(403, {
  error: "Ask for this by the address of the demo ledger or by localhost.",
});

/** Handles one request. Throws only for an internal error, which the server answers with 500. */
export async function handle(parts: DemoParts, request: DemoRequest): Promise<DemoOutcome> {
  const { pathname } = request.url;
  const page = request.method === "GET" ? await pageAnswer(pathname) : null;
  if (page || pathname.startsWith("/demo/")) {
    if (!isOwnHost(request.headers.host ?? "")) return answered(foreignHostAnswer);
    return answered(page ?? (await admin(parts, request)));
  }
  if (pathname === "/connect/token" && request.method === "POST") return identity(parts, request);
  if (pathname === "/identity/connect/authorize") {
    const { method, url, text } = request;
    return answered(await consentAnswer(parts.pool, parts.apps, method, url.searchParams, text));
  }
  const isApi = pathname.startsWith(apiBase);
  if (!isApi && !/^\/connections(\/|$)/.test(pathname)) return answered(notFoundAnswer());
  const named = request.headers["xero-tenant-id"] ?? "";
  const bearer = await readBearer(
    parts.tenants,
    parts.apps,
    request.headers.authorization ?? "",
    named,
  );
  if (bearer.kind === "unknown") return answered(unauthorisedAnswer(bearer.reason));
  if (bearer.kind === "app") {
    if (!isApi) return connections(parts, request, bearer.app);
    return bearer.tenant ? api(parts, request, bearer.tenant) : answered(forbiddenAnswer());
  }
  if (!isApi && (pathname !== "/connections" || request.method !== "GET"))
    return answered(notFoundAnswer());
  return isApi ? api(parts, request, bearer.tenant) : answered(connectionsAnswer(bearer.tenant));
}

async function identity(parts: DemoParts, request: DemoRequest): Promise<DemoOutcome> {
  const fault = parts.faults?.take(null, lineOf(request), request.text) ?? null;
  return withFault(parts, fault, async () =>
    fault?.kind === "status"
      ? answerOfFault(fault)
      : tokenAnswer(parts.tenants, parts.apps, request.headers.authorization ?? "", request.text),
  );
}

async function connections(
  parts: DemoParts,
  request: DemoRequest,
  app: DemoApp,
): Promise<DemoOutcome> {
  const fault = parts.faults?.take(null, lineOf(request), request.text) ?? null;
  return withFault(parts, fault, async () =>
    fault?.kind === "status"
      ? answerOfFault(fault)
      : appConnectionsAnswer(parts.apps, app, request),
  );
}

function admin(parts: AdminDependencies, request: DemoRequest): Promise<DemoAnswer> {
  return answerAdmin(parts, {
    method: request.method,
    segments: segmentsOf(request.url.pathname, "/demo/"),
    contentType: request.headers["content-type"] ?? "",
    text: request.text,
  });
}

async function api(
  parts: DemoParts,
  request: DemoRequest,
  tenant: DemoTenant,
): Promise<DemoOutcome> {
  // A custom connection may omit the header.
  const named = request.headers["xero-tenant-id"] ?? "";
  if (named !== "" && named.toLowerCase() !== tenant.tenantId) return answered(forbiddenAnswer());
  // Limits come before idempotency, as in Xero.
  const entry = parts.limits.enter(tenant.tenantId, tenant.clientId);
  if (entry.kind === "turned_away") return answered(entry.answer);
  try {
    const fault = parts.faults?.take(tenant.tenantId, lineOf(request), request.text) ?? null;
    const outcome = await withFault(parts, fault, () => doApi(parts, request, tenant, fault));
    if (outcome.kind !== "answer") return outcome;
    return answered({
      ...outcome.answer,
      headers: { ...entry.headers, ...outcome.answer.headers },
    });
  } finally {
    entry.leave();
  }
}

function doApi(
  parts: DemoParts,
  request: DemoRequest,
  tenant: DemoTenant,
  fault: Fault | null,
): Promise<DemoAnswer> {
  const { method, url, text } = request;
  const writeKey = {
    key: request.headers["idempotency-key"] ?? "",
    url: `${url.pathname}${url.search}`,
  };
  if (fault?.kind === "status") return statusAnswer(parts, fault, tenant, request, writeKey);
  const apiRequest: ApiRequest = {
    pool: parts.pool,
    tenant,
    method,
    segments: segmentsOf(url.pathname, apiBase),
    query: url.searchParams,
    modifiedSince: request.headers["if-modified-since"] ?? "",
    text,
    highVolume: parts.highVolume,
    refusalOf: (...names) => refusalOf(fault, names),
  };
  return answerApi(apiRequest, writeKey);
}

// Xero also stores internal errors under an idempotency key (XERO-2).
async function statusAnswer(
  parts: DemoParts,
  fault: Fault,
  tenant: DemoTenant,
  { method, text }: DemoRequest,
  { key, url }: { readonly key: string; readonly url: string },
): Promise<DemoAnswer> {
  const answer = answerOfFault(fault);
  if (key === "" || fault.status !== 500) return answer;
  return keyedWrite(
    parts.pool,
    { clientId: tenant.clientId, key, method, url, body: text },
    async () => answer,
  );
}

function refusalOf(fault: Fault | null, names: readonly string[]): readonly string[] {
  if (fault?.kind !== "refuse") return [];
  return fault.element === null || names.includes(fault.element) ? fault.messages : [];
}

async function withFault(
  parts: DemoParts,
  fault: Fault | null,
  work: () => Promise<DemoAnswer>,
): Promise<DemoOutcome> {
  switch (fault?.kind) {
    case "drop_before":
      return { kind: "cut" };
    case "hang":
      return { kind: "silence" };
    case "rate_limit":
      return answered(answerOfFault(fault));
    case "slow_before":
      await parts.wait(fault.delayMs);
      return answered(await work());
    case "slow_after": {
      const answer = await work();
      await parts.wait(fault.delayMs);
      return answered(answer);
    }
    case "drop_after":
      await work();
      return { kind: "cut" };
    default:
      return answered(await work());
  }
}

/** Returns the answer to an internal error of the demo ledger. */
export function failedAnswer(): DemoAnswer {
  return jsonAnswer(500, {
    Title: "An error occurred",
    Status: 500,
    Detail: "The demo ledger failed; see its log.",
  });
}

function answered(answer: DemoAnswer | PageAnswer): DemoOutcome {
  return { kind: "answer", answer };
}

function lineOf(request: DemoRequest): string {
  return `${request.method} ${request.url.pathname}${request.url.search}`;
}

// A path with invalid percent encoding has no segments.
function segmentsOf(pathname: string, base: string): readonly string[] {
  try {
    return pathname.slice(base.length).split("/").map(decodeURIComponent);
  } catch {
    return [];
  }
}
