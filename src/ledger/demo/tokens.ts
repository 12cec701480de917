/**
 * The identity side: client credentials in, access token out, and who a token is.
 * Tokens are signed rather than stored, so they outlive a restart. Facts: facts-ledger section 1.10.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type DemoAnswer, jsonAnswer } from "./answers.ts";
import { hashOfSecret, type Tenant, type TenantBook } from "./tenants.ts";

// As long as Xero's.
const tokenLifeMs = 30 * 60_000;

const tokenPattern = /^Bearer demo\.([0-9a-f-]{36})\.(\d{13,15})\.([\w-]{43})$/i;

/** Who a bearer token stands for; `reason` is what Xero's gateway would say. */
export type Bearer =
  | { readonly kind: "known"; readonly tenant: Tenant }
  | { readonly kind: "unknown"; readonly reason: string };

/** Answers `POST /connect/token`: a token for the client of the Basic header. */
export async function tokenAnswer(book: TenantBook, authorization: string, body: string): Promise<DemoAnswer> {
  const form = new URLSearchParams(body);
  if (form.get("grant_type") !== "client_credentials") return jsonAnswer(400, { error: "unsupported_grant_type" });
  const credentials = Buffer.from(/^Basic (.+)$/i.exec(authorization)?.[1] ?? "", "base64").toString("utf8");
  const cut = credentials.indexOf(":");
  const tenant = cut > 0 ? await book.byClient(credentials.slice(0, cut)) : null;
  if (!tenant || !isEqual(hashOfSecret(credentials.slice(cut + 1)), tenant.secretHash)) {
    return jsonAnswer(400, { error: "invalid_client" });
  }
  return jsonAnswer(200, {
    access_token: tokenOf(tenant, Date.now() + tokenLifeMs),
    expires_in: tokenLifeMs / 1_000,
    token_type: "Bearer",
    scope: form.get("scope") ?? "",
  });
}

/** The organisation that an Authorization header stands for. */
export async function readBearer(book: TenantBook, authorization: string): Promise<Bearer> {
  const match = tokenPattern.exec(authorization);
  const [, tenantId = "", expiry = ""] = match ?? [];
  const tenant = match ? await book.byId(tenantId) : null;
  if (!tenant || !isEqual(`Bearer ${tokenOf(tenant, Number(expiry))}`, `Bearer ${authorization.slice(7)}`)) {
    return { kind: "unknown", reason: "AuthenticationUnsuccessful" };
  }
  if (Number(expiry) <= Date.now()) return { kind: "unknown", reason: "TokenExpired" };
  return { kind: "known", tenant };
}

/** Answers `GET /connections`: a custom connection has one organisation. */
export function connectionsAnswer(tenant: Tenant): DemoAnswer {
  const at = tenant.createdAt.toISOString();
  const connection = { tenantId: tenant.tenantId, tenantType: "ORGANISATION", tenantName: tenant.name };
  return jsonAnswer(200, [{ id: tenant.tenantId, ...connection, createdDateUtc: at, updatedDateUtc: at }]);
}

// Signed with the hash of the secret: a new secret ends the tokens of the old one.
function tokenOf(tenant: Tenant, expiresAt: number): string {
  const content = `${tenant.tenantId}.${expiresAt}`;
  return `demo.${content}.${createHmac("sha256", tenant.secretHash).update(content).digest("base64url")}`;
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
