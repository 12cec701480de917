/** Calls of the admin API in tests: answers, refusals, and the newest audit entry. */
import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Answered, RequestOptions, TestSystem } from "../../support/system.ts";

/** Credentials of a tenant in the demo ledger, as `ConnectLedger` takes them. */
export interface Tenant {
  readonly kind: "xero";
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly baseUrl: string;
  readonly identityUrl: string;
}

/** Calls by one operator. */
export interface AdminAsk {
  /** The answer of a call that succeeds. */
  done(method: string, body?: object, asked?: RequestOptions): Promise<Answered["json"]>;
  /**
   * Code and param of the refusal of a call, such as `plan_in_use` or `invalid_parameter price`.
   */
  refused(method: string, body?: object, asked?: RequestOptions): Promise<string>;
  /** The answer of a call, whatever it is. */
  ask(method: string, body?: object): Promise<Answered>;
  /** The newest entry of the audit log. */
  lastEntry(): Promise<Answered["json"]>;
}

/** Calls with a token. */
export function askWith(system: TestSystem, key: string): AdminAsk {
  const call = (method: string, body: object, asked: RequestOptions) =>
    system.askAdmin(method, { key, body, ...asked });
  const done: AdminAsk["done"] = async (method, body = {}, asked = {}) => {
    const answer = await call(method, body, asked);
    if (answer.status === 500) console.log(system.api.output().slice(-3_000));
    expect(answer.status, `${method}: ${answer.text}`).toBe(200);
    return answer.json;
  };
  return {
    done,
    ask: (method, body = {}) => call(method, body, {}),
    refused: async (method, body = {}, asked = {}) => codeOf(await call(method, body, asked)),
    lastEntry: async () => (await done("AuditService/ListAuditEntries", { limit: 1 })).data[0],
  };
}

/** Code and param of a refusal. */
export function codeOf(answer: Answered): string {
  const detail = answer.json?.details?.[0]?.debug;
  expect(detail?.requestId, answer.text).toBe(answer.headers.get("request-id"));
  return detail.param === undefined ? detail.code : `${detail.code} ${detail.param}`;
}

/** A new tenant of the demo ledger. */
export async function createTenant(system: TestSystem): Promise<Tenant> {
  const tenantId = randomUUID();
  const clientId = `demo-${tenantId}`;
  const clientSecret = randomBytes(24).toString("base64url");
  const tenant = {
    tenantId,
    name: "Own ledger",
    currency: "NZD",
    timezone: "Pacific/Auckland",
    clientId,
    clientSecret,
  };
  const answer = await fetch(`${system.demoUrl}/demo/tenants`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(tenant),
  });
  expect(answer.ok).toBe(true);
  const [baseUrl, identityUrl] = [
    `${system.demoUrl}/api.xro/2.0`,
    `${system.demoUrl}/connect/token`,
  ];
  return { kind: "xero", tenantId, clientId, clientSecret, baseUrl, identityUrl };
}

/** Creates contacts in a tenant, without an e-mail address unless they have one. */
export async function createLedgerContacts(
  tenant: Tenant,
  contacts: readonly { readonly name: string; readonly code?: string; readonly email?: string }[],
): Promise<void> {
  const credentials = Buffer.from(`${tenant.clientId}:${tenant.clientSecret}`).toString("base64");
  const token = await fetch(tenant.identityUrl, {
    method: "POST",
    headers: {
      Authorization: `Basic ${credentials}`,
      "Content-Type": "application/x-www-form-urlencoded",
    },
    body: "grant_type=client_credentials&scope=accounting.contacts",
  });
  const { access_token: accessToken } = (await token.json()) as { access_token: string };
  const created = await fetch(`${tenant.baseUrl}/Contacts`, {
    method: "PUT",
    headers: {
      Authorization: `Bearer ${accessToken}`,
      "Content-Type": "application/json",
      Accept: "application/json",
      "xero-tenant-id": tenant.tenantId,
    },
    body: JSON.stringify({
      Contacts: contacts.map(({ name, code, email }) => ({
        Name: name,
        ContactNumber: code,
        EmailAddress: email,
      })),
    }),
  });
  expect(created.ok, await created.text()).toBe(true);
}
