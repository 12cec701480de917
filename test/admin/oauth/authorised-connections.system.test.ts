/** Connections by consent: the tokens that processes share, and the end of a connection. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { readConnection } from "../../../src/store/ledger-connection/connections.ts";
import { createLedgerTokens } from "../../../src/store/ledger-connection/oauth-tokens.ts";
import { tables } from "../../support/rows.ts";
import { codeOf, createTenant, type Tenant } from "../services/request.ts";
import {
  type AuthorisationFixture,
  app,
  begin,
  connected,
  connectionOf,
  consent,
  demo,
  expectNoSecretStored,
  expireToken,
  key,
  newOrganisation,
  refreshes,
  service,
  source,
  startAuthorisationFixture,
  stopAuthorisationFixture,
  tokenOf,
} from "./authorisation-fixture.ts";
import { comeBack } from "./browser.ts";

let fixture: AuthorisationFixture;

beforeAll(async () => {
  fixture = await startAuthorisationFixture();
});
afterAll(stopAuthorisationFixture);

describe("the tokens", () => {
  test("are refreshed once for all concurrent calls of three processes", async () => {
    const { organisation } = await connected();
    const sources = fixture.pools.map((pool) => source(organisation, pool));
    const old = await tokenOf(source(organisation));
    const before = await refreshes();
    await expireToken(organisation);
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
    await expireToken(organisation);
    await fixture.system.fault({ match: "POST /connect/token", kind: "drop_after" });
    const before = await refreshes();
    const lost = await source(organisation).token(null, AbortSignal.timeout(20_000));
    expect(lost).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
    await tokenOf(source(organisation));
    expect(await refreshes()).toBe(before + 2);
    await expireToken(organisation);
    const tokens = createLedgerTokens(fixture.system.pool, createEncryption(key), organisation);
    const { generation } = (await tokens.read()) ?? { generation: "" };
    const dead = await tokens.take(generation, 60_000);
    const late = { accessToken: "late", refreshToken: "late", used: "late", freshMs: 1 };
    expect(await tokens.take(generation, 60_000)).toBeNull();
    await tables(fixture.system.pool).ledgerAuthorisation.updateMany({
      where: { organisationId: organisation },
      data: { leaseUntil: new Date() },
    });
    await tokenOf(source(organisation));
    expect(await tokens.save(dead?.leaseId ?? "", late)).toBe(false);
    await tokens.disconnect(dead?.leaseId ?? "");
    expect((await connectionOf(organisation)).disconnectedAt).toBeUndefined();
  });

  test("are re-encrypted with the new key at the next refresh", async () => {
    const { organisation } = await connected();
    const next = randomBytes(32);
    expect(
      await source(organisation, fixture.system.pool, createEncryption(next)).token(
        null,
        AbortSignal.timeout(20_000),
      ),
    ).toMatchObject({ kind: "unavailable", cause: expect.stringContaining("encrypted with key") });
    const rotated = createEncryption(next, [key]);
    await tokenOf(source(organisation, fixture.system.pool, rotated));
    await expireToken(organisation);
    await tokenOf(source(organisation, fixture.system.pool, rotated));
    await tokenOf(source(organisation, fixture.system.pool, createEncryption(next)));
  });

  test("that the ledger rejects disconnect the organisation and pause its work", async () => {
    const { organisation, tenant } = await connected();
    await demo(`apps/${app.clientId}/revoke`, {});
    await expireToken(organisation);
    expect(await source(organisation).token(null, AbortSignal.timeout(20_000))).toMatchObject({
      kind: "unauthorised",
      why: "disconnected",
    });
    const disconnected = await connectionOf(organisation);
    expect(disconnected).toMatchObject({
      tenantId: tenant.tenantId,
      disconnectedReason: expect.stringContaining("invalid_grant"),
    });
    const check = await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation });
    expect([check.ok, check.problem]).toEqual([
      undefined,
      expect.stringContaining("authorise the connection again"),
    ]);
    const state = await readConnection(fixture.system.pool, createEncryption(key), organisation);
    expect([state?.isDisconnected, (state?.pausedMs ?? 0) > 0]).toEqual([true, true]);
    expect((await comeBack(await consent(await begin(organisation), [tenant])))[0]).toBe(200);
    // By this every process knows that its token is that of another consent.
    const again = await readConnection(fixture.system.pool, createEncryption(key), organisation);
    expect(again?.connection.consentedAt).toMatch(/^\d+\.\d+$/);
    expect(again?.connection.consentedAt).not.toBe(state?.connection.consentedAt);
    expect((await connectionOf(organisation)).disconnectedAt).toBeUndefined();
    expect(
      await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation }),
    ).toMatchObject({
      ok: true,
    });
  });
});

describe("a disconnection", () => {
  const disconnect = `${service}/DisconnectLedger`;
  const inLedger = (tenant: Tenant) =>
    fixture.system.pool.query("SELECT 1 FROM demo_ledger.app_connections WHERE tenant_id = $1", [
      tenant.tenantId,
    ]);

  test("ends the connection in the ledger first and deletes the tokens once", async () => {
    const { organisation, tenant } = await connected();
    await expireToken(organisation);
    await fixture.system.fault({
      match: "POST /connect/token",
      kind: "status",
      status: 503,
      times: 5,
    });
    expect(await fixture.owner.refused(disconnect, { organisation })).toBe("ledger_unavailable");
    await fixture.system.clearFaults();
    expect((await inLedger(tenant)).rowCount).toBe(1);
    const ended = await fixture.owner.done(disconnect, { organisation });
    expect(ended).toMatchObject({
      endedInLedger: true,
      connection: {
        tenantId: tenant.tenantId,
        disconnectedReason: "Disconnected by an owner.",
      },
    });
    expect((await inLedger(tenant)).rowCount).toBe(0);
    expect((await fixture.owner.lastEntry()).operation).toBe(`billing.admin.v1.${disconnect}`);
    const again = await fixture.owner.done(disconnect, { organisation });
    expect([again.endedInLedger, again.connection]).toEqual([undefined, ended.connection]);
    const authorisations = tables(fixture.system.pool).ledgerAuthorisation;
    expect(await authorisations.count({ where: { organisationId: organisation } })).toBe(0);
    expect(await fixture.owner.refused(disconnect, { organisation: await newOrganisation() })).toBe(
      "ledger_not_connected",
    );
  });

  test("is refused and keeps the tokens unless the ledger ended the connection", async () => {
    const { organisation, tenant } = await connected();
    const refusedBy = async (fault: object) => {
      await fixture.system.fault({ kind: "status", ...fault });
      const answer = await fixture.owner.ask(disconnect, { organisation });
      await fixture.system.clearFaults();
      expect(codeOf(answer)).toBe("ledger_refused");
      expect(answer.json.message).toContain("skip_ledger");
      expect((await connectionOf(organisation)).disconnectedAt).toBeUndefined();
    };
    await refusedBy({
      match: "DELETE /connections/",
      status: 403,
      body: '{"Detail":"AuthenticationUnsuccessful"}',
    });
    await expireToken(organisation);
    await refusedBy({
      match: "POST /connect/token",
      status: 400,
      body: '{"error":"invalid_client"}',
    });
    await refusedBy({ match: "POST /connect/token", status: 404 });
    // Tokens of another app: ours shown with them would end them.
    const connectBy = (clientId: string) =>
      tables(fixture.system.pool).ledgerConnection.updateMany({
        where: { organisationId: organisation },
        data: { clientId },
      });
    await connectBy("other");
    const before = await refreshes();
    await refusedBy({ match: "nothing" });
    expect([await refreshes(), (await inLedger(tenant)).rowCount]).toEqual([before, 1]);
    await connectBy(app.clientId);
    await tokenOf(source(organisation));
    await expireToken(organisation);
    await demo(`apps/${app.clientId}/revoke`, {});
    const ended = await fixture.owner.done(disconnect, { organisation });
    expect([ended.endedInLedger, ended.connection.disconnectedReason]).toEqual([
      undefined,
      expect.stringContaining("invalid_grant"),
    ]);
  });

  test("of a custom connection deletes its secret and allows another connection", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(fixture.system);
    await fixture.owner.done(`${service}/ConnectLedger`, { organisation, ...tenant });
    expect(
      await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation }),
    ).toMatchObject({
      ok: true,
    });
    expect((await fixture.owner.done(disconnect, { organisation })).endedInLedger).toBeUndefined();
    expect(
      (await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation })).ok,
    ).toBeUndefined();
    await fixture.owner.done(`${service}/ConnectLedger`, { organisation, ...tenant });
    expect(
      await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation }),
    ).toMatchObject({
      ok: true,
    });
  });
});

test("secrets stand in no log, no audit log, and unencrypted in no table. ADMIN-3", () =>
  expectNoSecretStored());
