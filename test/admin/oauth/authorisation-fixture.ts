/** A system whose organisations connect to the demo ledger by consent, and its secrets. */
import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import { expect } from "vitest";
import { createAgent } from "../../../src/ledger/port/http/exchange.ts";
import { addressesAt } from "../../../src/ledger/xero/auth/app.ts";
import { createSharedTokenSource } from "../../../src/ledger/xero/auth/authorised-tokens.ts";
import type { TokenSource } from "../../../src/ledger/xero/auth/tokens.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createLedgerTokens } from "../../../src/store/ledger-connection/oauth-tokens.ts";
import { testPool } from "../../support/pool.ts";
import { startSystem, type TestSystem } from "../../support/system.ts";
import { type AdminAsk, askWith, createTenant, type Tenant } from "../services/request.ts";
import { askDemo, comeBack, tickTenants } from "./browser.ts";

/** The service under test. */
export const service = "LedgerConnectionService";

/** The encryption key of the system. */
export const key = randomBytes(32);

/** The app to which people consent. */
export const app = { clientId: "billing-app", clientSecret: `app-secret-${randomUUID()}` };

/** States, codes, tokens, and the app's secret. They are stored encrypted only. ADMIN-3 */
const secrets = new Set([app.clientSecret]);

let agent: ReturnType<typeof createAgent>;
let system: TestSystem;
let owner: AdminAsk;
let pools: readonly pg.Pool[];

/** A started system, an owner, pools of three processes, and the callback's address. */
export interface AuthorisationFixture {
  readonly system: TestSystem;
  readonly owner: AdminAsk;
  readonly pools: readonly pg.Pool[];
  readonly callback: string;
}

/** Starts the system with an app in the demo ledger. */
export async function startAuthorisationFixture(): Promise<AuthorisationFixture> {
  // Made here and not with the module: the files that share it in one process each close theirs.
  agent = createAgent({});
  // Its whole output is searched for secrets.
  system = await startSystem({ without: ["api", "worker"], areSeparate: true });
  await system.api.start({
    SECRET_KEY: key.toString("base64"),
    XERO_CLIENT_ID: app.clientId,
    XERO_CLIENT_SECRET: app.clientSecret,
    XERO_URL: system.demoUrl,
    ...{ LOG_LEVEL: "trace", LEDGER_CALL_SECONDS: "20" },
  });
  owner = askWith(system, await system.operator("owner", "Olga"));
  pools = [1, 2, 3].map(() => testPool(system.databaseUrl, 3));
  const callback = `http://localhost:${new URL(system.adminUrl).port}/ledger/xero/callback`;
  await demo("apps", { ...app, name: "Billing", redirectUrls: [callback] });
  return { system, owner, pools, callback };
}

/** Stops the system. */
export async function stopAuthorisationFixture(): Promise<void> {
  await agent?.close();
  await Promise.all((pools ?? []).map((pool) => pool.end()));
  await system?.stop();
}

/** Asks the demo ledger. */
export const demo = (path: string, body?: object) => askDemo(system.demoUrl, path, body);

/** The number of refreshes of the app's tokens. */
export const refreshes = async () => (await demo(`apps/${app.clientId}/refreshes`)).refreshes;

/** Creates an organisation and returns its id. */
export async function newOrganisation(): Promise<string> {
  const settings = { name: "Consenting", timezone: "Pacific/Auckland", defaultCurrency: "NZD" };
  return (await owner.done("OrganisationService/CreateOrganisation", settings)).organisation.id;
}

/** Begins an authorisation and returns the address of the consent page. */
export async function begin(organisation: string, by = owner): Promise<string> {
  const { url } = await by.done(`${service}/BeginLedgerAuthorisation`, { organisation });
  secrets.add(new URL(url).searchParams.get("state") ?? "");
  return url;
}

/** Consents to the tenants and returns the address of the callback. */
export async function consent(url: string, tenants: readonly Tenant[]): Promise<string> {
  const back = await tickTenants(url, tenants);
  const code = new URL(back).searchParams.get("code");
  if (code !== null) secrets.add(code);
  return back;
}

/** The status of the organisation's authorisation, without its prefix. */
export const statusOf = async (organisation: string) =>
  (await owner.done(`${service}/GetLedgerAuthorisation`, { organisation })).status.replace(
    /^.*STATUS_/,
    "",
  );

/** The organisation's connection. */
export const connectionOf = async (organisation: string) =>
  (await owner.done(`${service}/GetLedgerConnection`, { organisation })).connection;

/** Creates an organisation that is connected by consent to a new tenant. */
export async function connected(): Promise<{
  readonly organisation: string;
  readonly tenant: Tenant;
}> {
  const organisation = await newOrganisation();
  const tenant = await createTenant(system);
  expect((await comeBack(await consent(await begin(organisation), [tenant])))[0]).toBe(200);
  return { organisation, tenant };
}

/** A source of tokens as another process has it. */
export function source(
  organisation: string,
  pool: pg.Pool = system.pool,
  encryption = createEncryption(key),
): TokenSource {
  const client = { ...app, ...addressesAt(system.demoUrl) };
  const tokens = createLedgerTokens(pool, encryption, organisation);
  return createSharedTokenSource(agent, { app: client, tokens });
}

/** The token of the source. It fails unless there is one. */
export async function tokenOf(from: TokenSource, rejected: string | null = null): Promise<string> {
  const answer = await from.token(rejected, AbortSignal.timeout(20_000));
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  secrets.add(answer.value);
  return answer.value;
}

/** Expires the organisation's access token. */
export const expireToken = (organisation: string) =>
  system.pool.query(
    "UPDATE ledger_authorisations SET fresh_until = now() WHERE organisation_id = $1",
    [organisation],
  );

/** Expects that no secret stands in a log, in the audit log, or unencrypted in a table. */
export async function expectNoSecretStored(): Promise<void> {
  const tables = [
    "audit_log",
    "ledger_connections",
    "ledger_authorisations",
    "ledger_consents",
    "idempotency_keys",
  ];
  const rows = await Promise.all(
    tables.map((table) =>
      system.pool.query(`SELECT t::text AS text FROM ${pg.escapeIdentifier(table)} t`),
    ),
  );
  const stored = rows.flatMap(({ rows: all }) => all.map(({ text }) => text as string)).join("\n");
  const hex = (secret: string) => Buffer.from(secret).toString("hex");
  expect(secrets.size).toBeGreaterThan(10);
  expect(system.api.output()).toContain("BeginLedgerAuthorisation");
  for (const secret of secrets) {
    const isPublished = [secret, hex(secret)].some(
      (form) => stored.includes(form) || system.api.output().includes(form),
    );
    expect([secret.slice(0, 6), isPublished]).toEqual([secret.slice(0, 6), false]);
  }
}
