/**
 * The identity side: it exchanges client credentials, a code or a refresh token for an access
 * token, and resolves a token. Access tokens are signed, not stored, so they survive a restart.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type DemoAnswer, jsonAnswer, notFoundAnswer } from "../api/answers.ts";
import { type DemoTenant, hashOfSecret, type TenantBook } from "../tenants.ts";
import type { AppBook, DemoApp, IssuedTokens } from "./apps.ts";

// The same lifetime as Xero's (XERO-12).
const tokenLifeMs = 30 * 60_000;

const tokenPattern = /^Bearer demo\.([0-9a-f-]{36})\.(\d{13,15})\.([\w-]{43})$/i;

/** The owner of a bearer token. `reason` is the text of Xero's gateway. */
type Bearer =
  | { readonly kind: "known"; readonly tenant: DemoTenant }
  | {
      readonly kind: "app";
      readonly app: DemoApp;
      readonly eventId: string;
      readonly tenant: DemoTenant | null;
    }
  | { readonly kind: "unknown"; readonly reason: string };

/** Answers `POST /connect/token`: a token for the client of the Basic header. */
export async function tokenAnswer(
  book: TenantBook,
  apps: AppBook,
  authorization: string,
  body: string,
): Promise<DemoAnswer> {
  const form = new URLSearchParams(body);
  const grant = form.get("grant_type") ?? "";
  if (grant === "authorization_code" || grant === "refresh_token")
    return appTokenAnswer(apps, authorization, form);
  if (form.get("grant_type") !== "client_credentials")
    return jsonAnswer(400, { error: "unsupported_grant_type" });
  const [clientId, secretHash] = basicOf(authorization);
  const tenant = await book.byClient(clientId);
  if (!tenant || !isEqual(secretHash, tenant.secretHash)) {
    return jsonAnswer(400, { error: "invalid_client" });
  }
  return jsonAnswer(200, {
    access_token: tokenOf(tenant, Date.now() + tokenLifeMs),
    expires_in: tokenLifeMs / 1_000,
    token_type: "Bearer",
    scope: form.get("scope") ?? "",
  });
}

async function appTokenAnswer(
  apps: AppBook,
  authorization: string,
  form: URLSearchParams,
): Promise<DemoAnswer> {
  const [clientId, secretHash] = basicOf(authorization);
  const app = await apps.byClient(clientId);
  if (!app || !isEqual(secretHash, app.secretHash))
    return jsonAnswer(400, { error: "invalid_client" });
  const issued = await grantOf(apps, app, form);
  if (!issued) return jsonAnswer(400, { error: "invalid_grant" });
  return jsonAnswer(200, {
    access_token: issued.accessToken,
    refresh_token: issued.refreshToken,
    expires_in: app.accessSeconds,
    token_type: "Bearer",
  });
}

function grantOf(apps: AppBook, app: DemoApp, form: URLSearchParams): Promise<IssuedTokens> {
  if (form.get("grant_type") === "refresh_token")
    return apps.refresh(app, form.get("refresh_token") ?? "");
  return apps.exchange(
    app,
    form.get("code") ?? "",
    form.get("redirect_uri") ?? "",
    form.get("code_verifier"),
  );
}

/** Returns the client id of a Basic header, and the hash of its secret. */
function basicOf(authorization: string): readonly [string, string] {
  const credentials = Buffer.from(
    /^Basic (.+)$/i.exec(authorization)?.[1] ?? "",
    "base64",
  ).toString("utf8");
  const cut = credentials.indexOf(":");
  return [credentials.slice(0, Math.max(0, cut)), hashOfSecret(credentials.slice(cut + 1))];
}

/**
 * Returns the organisation of an Authorization header. An app's token is for the named
 * organisation, if the app is connected to it.
 */
export async function readBearer(
  book: TenantBook,
  apps: AppBook,
  authorization: string,
  named: string,
): Promise<Bearer> {
  const access = await apps.readAccess(authorization.slice("Bearer ".length));
  if (access === "expired") return { kind: "unknown", reason: "TokenExpired" };
  if (access !== null) {
    const { app, eventId } = access;
    const isConnected = (await apps.connections(app)).some(
      ({ tenantId }) => tenantId === named.toLowerCase(),
    );
    const tenant = isConnected ? await book.byId(named.toLowerCase()) : null;
    // An app has separate idempotency keys and limits.
    return { kind: "app", app, eventId, tenant: tenant && { ...tenant, clientId: app.clientId } };
  }
  const match = tokenPattern.exec(authorization);
  const [, tenantId = "", expiry = ""] = match ?? [];
  const tenant = match ? await book.byId(tenantId) : null;
  if (
    !tenant ||
    !isEqual(`Bearer ${tokenOf(tenant, Number(expiry))}`, `Bearer ${authorization.slice(7)}`)
  ) {
    return { kind: "unknown", reason: "AuthenticationUnsuccessful" };
  }
  if (Number(expiry) <= Date.now()) return { kind: "unknown", reason: "TokenExpired" };
  return { kind: "known", tenant };
}

/** Answers `GET /connections`: a custom connection has one organisation. */
export function connectionsAnswer(tenant: DemoTenant): DemoAnswer {
  const at = tenant.createdAt.toISOString();
  const connection = {
    tenantId: tenant.tenantId,
    tenantType: "ORGANISATION",
    tenantName: tenant.name,
  };
  return jsonAnswer(200, [
    { id: tenant.tenantId, ...connection, createdDateUtc: at, updatedDateUtc: at },
  ]);
}

/**
 * Answers `GET /connections` of an app, all or those of one consent, and
 * `DELETE /connections/{id}`.
 */
export async function appConnectionsAnswer(
  apps: AppBook,
  app: DemoApp,
  request: { readonly method: string; readonly url: URL },
): Promise<DemoAnswer> {
  const id = /^\/connections\/([^/]+)$/.exec(request.url.pathname)?.[1];
  if (request.method === "DELETE" && id !== undefined) {
    const isRemoved = await apps.removeConnection(app, id);
    return isRemoved ? { status: 204, headers: {}, body: "" } : notFoundAnswer();
  }
  if (request.method !== "GET" || id !== undefined) return notFoundAnswer();
  const event = request.url.searchParams.get("authEventId");
  const all = (await apps.connections(app)).filter(
    ({ eventId }) => event === null || eventId === event,
  );
  const connections = all.map(({ connectionId, tenantId, tenantName, eventId, createdAt }) => {
    const dates = {
      createdDateUtc: createdAt.toISOString(),
      updatedDateUtc: createdAt.toISOString(),
    };
    return {
      id: connectionId,
      authEventId: eventId,
      tenantId,
      tenantType: "ORGANISATION",
      tenantName,
      ...dates,
    };
  });
  return jsonAnswer(200, connections);
}

// Signed with the hash of the secret. A new secret invalidates the old one's tokens.
function tokenOf(tenant: DemoTenant, expiresAt: number): string {
  const content = `${tenant.tenantId}.${expiresAt}`;
  const signature = createHmac("sha256", tenant.secretHash).update(content).digest("base64url");
  return `demo.${content}.${signature}`;
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
