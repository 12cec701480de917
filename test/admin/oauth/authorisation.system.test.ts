/** Connecting by a person's consent, over the wire and at the browser's callback: states, tenants, tokens shared by processes, ends. */
import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addressesAt } from "../../../src/ledger/xero/auth/app.ts";
import { createSharedTokenSource } from "../../../src/ledger/xero/auth/authorised-tokens.ts";
import type { TokenSource } from "../../../src/ledger/xero/auth/tokens.ts";
import { createAgent } from "../../../src/ledger/xero/wire/exchange.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { readConnection } from "../../../src/store/ledger-connection/connections.ts";
import { deleteExpiredConsents } from "../../../src/store/ledger-connection/delete-expired-authorisations.ts";
import { createLedgerTokens } from "../../../src/store/ledger-connection/oauth-tokens.ts";
import { startSystem, type TestSystem } from "../../support/system.ts";
import { type AdminAsk, askWith, codeOf, createTenant, type Tenant } from "../services/request.ts";
import { askDemo, comeBack, tickTenants } from "./browser.ts";

const service = "LedgerConnectionService";
const key = randomBytes(32);
const app = { clientId: "billing-app", clientSecret: `app-secret-${randomUUID()}` };
const agent = createAgent({});
/** Everything that may stand nowhere but encrypted: states, codes, tokens, and the app's secret. */
const secrets = new Set([app.clientSecret]);

let system: TestSystem;
let owner: AdminAsk;
let pools: readonly pg.Pool[];
let callback: string;

beforeAll(async () => {
  system = await startSystem({ without: ["api", "worker"] });
  await system.api.start({
    SECRET_KEY: key.toString("base64"),
    XERO_CLIENT_ID: app.clientId,
    XERO_CLIENT_SECRET: app.clientSecret,
    XERO_URL: system.demoUrl,
    ...{ LOG_LEVEL: "trace", LEDGER_CALL_SECONDS: "20" },
  });
  owner = askWith(system, await system.operator("owner", "Olga"));
  pools = [1, 2, 3].map(() => new pg.Pool({ connectionString: system.databaseUrl, max: 3 }));
  callback = `http://localhost:${new URL(system.adminUrl).port}/ledger/xero/callback`;
  await demo("apps", { ...app, name: "Billing", redirectUrls: [callback] });
});

afterAll(async () => {
  await agent.close();
  await Promise.all((pools ?? []).map((pool) => pool.end()));
  await system?.stop();
});

const demo = (path: string, body?: object) => askDemo(system.demoUrl, path, body);
const refreshes = async () => (await demo(`apps/${app.clientId}/refreshes`)).refreshes;

async function newOrganisation(): Promise<string> {
  const settings = { name: "Consenting", timezone: "Pacific/Auckland", defaultCurrency: "NZD" };
  return (await owner.done("OrganisationService/CreateOrganisation", settings)).organisation.id;
}

async function begin(organisation: string, by = owner): Promise<string> {
  const { url } = await by.done(`${service}/BeginLedgerAuthorisation`, { organisation });
  secrets.add(new URL(url).searchParams.get("state") ?? "");
  return url;
}

async function consent(url: string, tenants: readonly Tenant[]): Promise<string> {
  const back = await tickTenants(url, tenants);
  const code = new URL(back).searchParams.get("code");
  if (code !== null) secrets.add(code);
  return back;
}

const statusOf = async (organisation: string) =>
  (await owner.done(`${service}/GetLedgerAuthorisation`, { organisation })).status.replace(
    /^.*STATUS_/,
    "",
  );
const connectionOf = async (organisation: string) =>
  (await owner.done(`${service}/GetLedgerConnection`, { organisation })).connection;

/** An organisation that is connected by consent to a tenant of its own. */
async function connected(): Promise<{ readonly organisation: string; readonly tenant: Tenant }> {
  const organisation = await newOrganisation();
  const tenant = await createTenant(system);
  expect((await comeBack(await consent(await begin(organisation), [tenant])))[0]).toBe(200);
  return { organisation, tenant };
}

/** A source of tokens as another process has it. */
function source(
  organisation: string,
  pool: pg.Pool = system.pool,
  encryption = createEncryption(key),
): TokenSource {
  const client = { ...app, ...addressesAt(system.demoUrl) };
  const tokens = createLedgerTokens(pool, encryption, organisation);
  return createSharedTokenSource(agent, { app: client, tokens });
}

async function tokenOf(from: TokenSource, rejected: string | null = null): Promise<string> {
  const answer = await from.token(rejected, AbortSignal.timeout(20_000));
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  secrets.add(answer.value);
  return answer.value;
}

const makeStale = (organisation: string) =>
  system.pool.query(
    "UPDATE ledger_authorisations SET fresh_until = now() WHERE organisation_id = $1",
    [organisation],
  );

describe("a consent", () => {
  test("connects the organisation, is in the audit log by who asked for it, and its state is good once", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(system);
    expect(await owner.refused(`${service}/GetLedgerAuthorisation`, { organisation })).toBe(
      "invalid_state",
    );
    const url = await begin(organisation);
    expect(await statusOf(organisation)).toBe("PENDING");
    expect(await (await fetch(url)).text()).toContain(tenant.tenantId);
    const back = await consent(url, [tenant]);
    const pages = await Promise.all([comeBack(back), comeBack(back)]);
    expect(pages.map(([status]) => status).sort()).toEqual([200, 400]);
    expect(await connectionOf(organisation)).toMatchObject({
      tenantId: tenant.tenantId,
      clientId: app.clientId,
      grant: "LEDGER_GRANT_AUTHORISATION",
    });
    expect(await owner.lastEntry()).toMatchObject({
      operatorName: "Olga",
      operation: "GET /ledger/xero/callback",
      organisation,
      after: { grant_kind: "authorisation", tenant_id: tenant.tenantId },
    });
    expect(await owner.done(`${service}/CheckLedgerConnection`, { organisation })).toMatchObject({
      ok: true,
      ledger: { id: tenant.tenantId },
    });
    expect((await comeBack(back))[0]).toBe(400);
    expect(await statusOf(organisation)).toBe("CONNECTED");
  });

  test("is worth nothing where its state is unknown, old, asked for anew, or not its own code's", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(system);
    const unknown = await comeBack(`${callback}?state=${randomUUID()}&code=x`);
    expect(unknown).toEqual([400, expect.stringContaining("begin anew")]);
    const first = await consent(await begin(organisation), [tenant]);
    const second = await begin(organisation);
    expect((await comeBack(first))[0]).toBe(400);
    await system.pool.query(
      "UPDATE ledger_consents SET expires_at = now() WHERE organisation_id = $1",
      [organisation],
    );
    expect((await comeBack(await consent(second, [tenant])))[0]).toBe(400);
    expect(await statusOf(organisation)).toBe("EXPIRED");
    // Another organisation's code with this one's state: the verifier is not that code's.
    const [mine, others] = [await begin(organisation), await begin(await newOrganisation())];
    const mixed = new URL(await consent(mine, [tenant]));
    mixed.searchParams.set(
      "code",
      new URL(await consent(others, [tenant])).searchParams.get("code") ?? "",
    );
    expect((await comeBack(mixed.href))[0]).toBe(400);
    expect(await statusOf(organisation)).toBe("FAILED");
    // What cannot be opened here is told as well.
    const encrypted = await consent(await begin(organisation), [tenant]);
    await system.pool.query(
      "UPDATE ledger_consents SET encryption_key_id = 'x' WHERE organisation_id = $1",
      [organisation],
    );
    expect((await fetch(encrypted)).status).toBe(500);
    expect(await statusOf(organisation)).toBe("FAILED");
    const denied = await comeBack(await consent(await begin(organisation), []));
    expect(denied).toEqual([400, expect.stringContaining("access_denied")]);
    expect(await owner.refused(`${service}/GetLedgerConnection`, { organisation })).toBe(
      "ledger_not_connected",
    );
  });

  test("of an operator who may no longer connect ledgers, or whose token ended, connects nothing", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(system);
    const ends = {
      Left: "UPDATE operators SET active = false WHERE name = $1",
      Demoted: "UPDATE operators SET role = 'admin' WHERE name = $1",
      Leaked:
        "UPDATE operator_tokens t SET revoked_at = now() FROM operators o WHERE o.id = t.operator_id AND o.name = $1",
      Lapsed:
        "UPDATE operator_tokens t SET expires_at = now() FROM operators o WHERE o.id = t.operator_id AND o.name = $1",
    };
    for (const [name, text] of Object.entries(ends)) {
      const by = askWith(system, await system.operator("owner", name));
      const back = await consent(await begin(organisation, by), [tenant]);
      await system.pool.query(text, [name]);
      expect([name, (await comeBack(back))[0]]).toEqual([name, 400]);
    }
    expect(await owner.refused(`${service}/GetLedgerConnection`, { organisation })).toBe(
      "ledger_not_connected",
    );
    const admin = askWith(system, await system.operator("admin"));
    expect(await admin.refused(`${service}/BeginLedgerAuthorisation`, { organisation })).toBe(
      "insufficient_role",
    );
  });

  test("for several tenants waits for a choice, by who asked and for what was consented to", async () => {
    const organisation = await newOrganisation();
    const tenants = [await createTenant(system), await createTenant(system)];
    const [status, html] = await comeBack(await consent(await begin(organisation), tenants));
    expect([status, html]).toEqual([200, expect.stringContaining(tenants[1]?.tenantId ?? "none")]);
    expect(await statusOf(organisation)).toBe("CHOOSE");
    const choose = `${service}/ChooseLedgerTenant`;
    const meant = { organisation, tenantId: tenants[1]?.tenantId };
    const other = askWith(system, await system.operator("owner", "Other"));
    expect(await other.refused(choose, meant)).toBe("invalid_state");
    expect(await owner.refused(choose, { ...meant, tenantId: randomUUID() })).toBe(
      "invalid_state tenant_id",
    );
    expect(await owner.refused(choose, { ...meant, organisation: await newOrganisation() })).toBe(
      "invalid_state",
    );
    expect(await deleteExpiredConsents(system.pool, 10)).toBe(0);
    expect((await owner.done(choose, meant)).connection.tenantId).toBe(tenants[1]?.tenantId);
    expect(await owner.refused(choose, meant)).toBe("invalid_state");
    expect(await owner.done(`${service}/CheckLedgerConnection`, { organisation })).toMatchObject({
      ok: true,
    });
  });

  test("renews what stands already where the ledger lists nothing anew, and connects nothing else without a choice", async () => {
    const { organisation, tenant } = await connected();
    // So that the connection is of an earlier consent, as it stays where it stands.
    const earlier =
      "UPDATE demo_ledger.app_connections SET event_id = gen_random_uuid() WHERE tenant_id = $1";
    const standing = () => system.pool.query(earlier, [tenant.tenantId]);
    const again = await consent(await begin(organisation), [tenant]);
    await standing();
    expect(await comeBack(again)).toEqual([
      200,
      expect.stringContaining("You can close this page"),
    ]);
    expect(await connectionOf(organisation)).toMatchObject({ tenantId: tenant.tenantId });
    const fresh = await newOrganisation();
    const first = await consent(await begin(fresh), [tenant]);
    await standing();
    expect(await comeBack(first)).toEqual([200, expect.stringContaining(tenant.tenantId)]);
    expect(await statusOf(fresh)).toBe("CHOOSE");
    expect(await owner.refused(`${service}/GetLedgerConnection`, { organisation: fresh })).toBe(
      "ledger_not_connected",
    );
  });

  test("whose choice nobody makes in time is forgotten with its tokens", async () => {
    const organisation = await newOrganisation();
    await comeBack(
      await consent(await begin(organisation), [
        await createTenant(system),
        await createTenant(system),
      ]),
    );
    await system.pool.query(
      "UPDATE ledger_consents SET expires_at = now() WHERE organisation_id = $1",
      [organisation],
    );
    expect(await statusOf(organisation)).toBe("EXPIRED");
    expect(await deleteExpiredConsents(system.pool, 10)).toBe(1);
    expect(await statusOf(organisation)).toBe("FAILED");
  });

  test("cannot lead to another tenant than the customers are of, and takes a custom connection's place on theirs", async () => {
    const { organisationId: organisation, tenantId } = await system.organisation();
    const elsewhere = await comeBack(
      await consent(await begin(organisation), [await createTenant(system)]),
    );
    expect(elsewhere).toEqual([400, expect.stringContaining("tenant they are of")]);
    expect(await connectionOf(organisation)).toMatchObject({
      grant: "LEDGER_GRANT_CUSTOM",
      tenantId,
    });
    const both = [await createTenant(system), { ...(await createTenant(system)), tenantId }];
    expect((await comeBack(await consent(await begin(organisation), both)))[0]).toBe(200);
    expect(await connectionOf(organisation)).toMatchObject({
      grant: "LEDGER_GRANT_AUTHORISATION",
      tenantId,
    });
  });
});

describe("the tokens", () => {
  test("are refreshed once by however many calls of three processes meet the end of one, and by a rejected one", async () => {
    const { organisation } = await connected();
    const sources = pools.map((pool) => source(organisation, pool));
    const old = await tokenOf(source(organisation));
    const before = await refreshes();
    await makeStale(organisation);
    const calls = Array.from({ length: 20 }, (_, index) => sources[index % 3]).flatMap(
      (each) => each ?? [],
    );
    const tokens = new Set(await Promise.all(calls.map((each) => tokenOf(each))));
    expect(await refreshes()).toBe(before + 1);
    expect([tokens.size, tokens.has(old)]).toEqual([1, false]);
    const [rejected = ""] = tokens;
    const others = new Set(await Promise.all(calls.map((each) => tokenOf(each, rejected))));
    expect([others.size, others.has(rejected), await refreshes()]).toEqual([1, false, before + 2]);
  });

  test("survive an answer that was lost, and a process that died while it refreshed", async () => {
    const { organisation } = await connected();
    await makeStale(organisation);
    await system.fault({ match: "POST /connect/token", kind: "drop_after" });
    const before = await refreshes();
    const lost = await source(organisation).token(null, AbortSignal.timeout(20_000));
    expect(lost).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
    await tokenOf(source(organisation));
    expect(await refreshes()).toBe(before + 2);
    await makeStale(organisation);
    const keeper = createLedgerTokens(system.pool, createEncryption(key), organisation);
    const { generation } = (await keeper.read()) ?? { generation: "" };
    const dead = await keeper.take(generation, 60_000);
    const late = { accessToken: "late", refreshToken: "late", used: "late", freshMs: 1 };
    expect(await keeper.take(generation, 60_000)).toBeNull();
    const over = "UPDATE ledger_authorisations SET lease_until = now() WHERE organisation_id = $1";
    await system.pool.query(over, [organisation]);
    await tokenOf(source(organisation));
    expect(await keeper.save(dead?.leaseId ?? "", late)).toBe(false);
    await keeper.disconnect(dead?.leaseId ?? "");
    expect((await connectionOf(organisation)).disconnectedAt).toBeUndefined();
  });

  test("open with an earlier encryption key, are encrypted with the new one at the next refresh, and never without", async () => {
    const { organisation } = await connected();
    const next = randomBytes(32);
    expect(
      await source(organisation, system.pool, createEncryption(next)).token(
        null,
        AbortSignal.timeout(20_000),
      ),
    ).toMatchObject({ kind: "unavailable", cause: expect.stringContaining("encrypted with key") });
    const rotated = createEncryption(next, [key]);
    await tokenOf(source(organisation, system.pool, rotated));
    await makeStale(organisation);
    await tokenOf(source(organisation, system.pool, rotated));
    await tokenOf(source(organisation, system.pool, createEncryption(next)));
  });

  test("that the ledger takes no more disconnect the organisation, which is told and pauses all its work", async () => {
    const { organisation, tenant } = await connected();
    await demo(`apps/${app.clientId}/revoke`, {});
    await makeStale(organisation);
    expect(await source(organisation).token(null, AbortSignal.timeout(20_000))).toMatchObject({
      kind: "unauthorised",
      why: "disconnected",
    });
    const told = await connectionOf(organisation);
    expect(told).toMatchObject({
      tenantId: tenant.tenantId,
      disconnectedReason: expect.stringContaining("invalid_grant"),
    });
    const check = await owner.done(`${service}/CheckLedgerConnection`, { organisation });
    expect([check.ok, check.problem]).toEqual([
      undefined,
      expect.stringContaining("authorise the connection again"),
    ]);
    const state = await readConnection(system.pool, createEncryption(key), organisation);
    expect([state?.isDisconnected, (state?.pausedMs ?? 0) > 0]).toEqual([true, true]);
    expect((await comeBack(await consent(await begin(organisation), [tenant])))[0]).toBe(200);
    // By this every process knows that its token is that of another consent.
    const anew = await readConnection(system.pool, createEncryption(key), organisation);
    expect(anew?.connection.consentedAt).toMatch(/^\d+\.\d+$/);
    expect(anew?.connection.consentedAt).not.toBe(state?.connection.consentedAt);
    expect((await connectionOf(organisation)).disconnectedAt).toBeUndefined();
    expect(await owner.done(`${service}/CheckLedgerConnection`, { organisation })).toMatchObject({
      ok: true,
    });
  });
});

describe("a disconnection", () => {
  const disconnect = `${service}/DisconnectLedger`;
  const inLedger = (tenant: Tenant) =>
    system.pool.query("SELECT 1 FROM demo_ledger.app_connections WHERE tenant_id = $1", [
      tenant.tenantId,
    ]);

  test("ends the connection in the ledger first, deletes the tokens, keeps the tenant, and is one only once", async () => {
    const { organisation, tenant } = await connected();
    await makeStale(organisation);
    await system.fault({ match: "POST /connect/token", kind: "status", status: 503, times: 5 });
    expect(await owner.refused(disconnect, { organisation })).toBe("ledger_unavailable");
    await system.clearFaults();
    expect((await inLedger(tenant)).rowCount).toBe(1);
    const ended = await owner.done(disconnect, { organisation });
    expect(ended).toMatchObject({
      endedInLedger: true,
      connection: { tenantId: tenant.tenantId, disconnectedReason: "Disconnected by an owner." },
    });
    expect((await inLedger(tenant)).rowCount).toBe(0);
    expect((await owner.lastEntry()).operation).toBe(`billing.admin.v1.${disconnect}`);
    const again = await owner.done(disconnect, { organisation });
    expect([again.endedInLedger, again.connection]).toEqual([undefined, ended.connection]);
    const { rows } = await system.pool.query(
      "SELECT 1 FROM ledger_authorisations WHERE organisation_id = $1",
      [organisation],
    );
    expect(rows).toEqual([]);
    expect(await owner.refused(disconnect, { organisation: await newOrganisation() })).toBe(
      "ledger_not_connected",
    );
  });

  test("is refused by whatever does not say that the ledger has ended it already, and the tokens are kept", async () => {
    const { organisation, tenant } = await connected();
    const refusedBy = async (fault: object) => {
      await system.fault({ kind: "status", ...fault });
      const answer = await owner.ask(disconnect, { organisation });
      await system.clearFaults();
      expect(codeOf(answer)).toBe("ledger_refused");
      expect(answer.json.message).toContain("skip_ledger");
      expect((await connectionOf(organisation)).disconnectedAt).toBeUndefined();
    };
    await refusedBy({
      match: "DELETE /connections/",
      status: 403,
      body: '{"Detail":"AuthenticationUnsuccessful"}',
    });
    await makeStale(organisation);
    await refusedBy({
      match: "POST /connect/token",
      status: 400,
      body: '{"error":"invalid_client"}',
    });
    await refusedBy({ match: "POST /connect/token", status: 404 });
    // Tokens of another app: ours shown with them would end them.
    const ofApp = "UPDATE ledger_connections SET client_id = $2 WHERE organisation_id = $1";
    await system.pool.query(ofApp, [organisation, "other"]);
    const before = await refreshes();
    await refusedBy({ match: "nothing" });
    expect([await refreshes(), (await inLedger(tenant)).rowCount]).toEqual([before, 1]);
    await system.pool.query(ofApp, [organisation, app.clientId]);
    await tokenOf(source(organisation));
    await makeStale(organisation);
    await demo(`apps/${app.clientId}/revoke`, {});
    const ended = await owner.done(disconnect, { organisation });
    expect([ended.endedInLedger, ended.connection.disconnectedReason]).toEqual([
      undefined,
      expect.stringContaining("invalid_grant"),
    ]);
  });

  test("of a custom connection deletes its secret, and the same tenant can be connected again", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(system);
    await owner.done(`${service}/ConnectLedger`, { organisation, ...tenant });
    expect(await owner.done(`${service}/CheckLedgerConnection`, { organisation })).toMatchObject({
      ok: true,
    });
    expect((await owner.done(disconnect, { organisation })).endedInLedger).toBeUndefined();
    expect(
      (await owner.done(`${service}/CheckLedgerConnection`, { organisation })).ok,
    ).toBeUndefined();
    await owner.done(`${service}/ConnectLedger`, { organisation, ...tenant });
    expect(await owner.done(`${service}/CheckLedgerConnection`, { organisation })).toMatchObject({
      ok: true,
    });
  });
});

test("no state, code, token or secret stands in a log, in the audit log, or unencrypted in a table", async () => {
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
  const kept = rows.flatMap(({ rows: all }) => all.map(({ text }) => text as string)).join("\n");
  const hex = (secret: string) => Buffer.from(secret).toString("hex");
  expect(secrets.size).toBeGreaterThan(20);
  expect(system.api.output()).toContain("/ledger/xero/callback");
  for (const secret of secrets) {
    const isPublished = [secret, hex(secret)].some(
      (form) => kept.includes(form) || system.api.output().includes(form),
    );
    expect([secret.slice(0, 6), isPublished]).toEqual([secret.slice(0, 6), false]);
  }
});
