/** Connecting by consent, over the wire and at the browser's callback: states and tenants. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deleteExpiredConsents } from "../../../src/store/ledger-connection/oauth-tokens.ts";
import { tables } from "../../support/rows.ts";
import { askWith, createTenant } from "../services/request.ts";
import {
  type AuthorisationFixture,
  app,
  begin,
  connected,
  connectionOf,
  consent,
  expectNoSecretStored,
  newOrganisation,
  service,
  startAuthorisationFixture,
  statusOf,
  stopAuthorisationFixture,
} from "./authorisation-fixture.ts";
import { comeBack } from "./browser.ts";

let fixture: AuthorisationFixture;

beforeAll(async () => {
  fixture = await startAuthorisationFixture();
});
afterAll(stopAuthorisationFixture);

describe("a consent", () => {
  test("connects the organisation, writes the audit log, and uses its state once", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(fixture.system);
    expect(await fixture.owner.refused(`${service}/GetLedgerAuthorisation`, { organisation })).toBe(
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
    expect(await fixture.owner.lastEntry()).toMatchObject({
      operatorName: "Olga",
      operation: "GET /ledger/xero/callback",
      organisation,
      after: { grant_kind: "authorisation", tenant_id: tenant.tenantId },
    });
    expect(
      await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation }),
    ).toMatchObject({
      ok: true,
      ledger: { id: tenant.tenantId },
    });
    expect((await comeBack(back))[0]).toBe(400);
    expect(await statusOf(organisation)).toBe("CONNECTED");
  });

  test("connects nothing if its state is unknown, expired, replaced or another's", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(fixture.system);
    const unknown = await comeBack(`${fixture.callback}?state=${randomUUID()}&code=x`);
    expect(unknown).toEqual([400, expect.stringContaining("start again")]);
    const first = await consent(await begin(organisation), [tenant]);
    const second = await begin(organisation);
    expect((await comeBack(first))[0]).toBe(400);
    await tables(fixture.system.pool).ledgerConsent.updateMany({
      where: { organisationId: organisation },
      data: { expiresAt: new Date() },
    });
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
    // An error of this system also fails the authorisation.
    const encrypted = await consent(await begin(organisation), [tenant]);
    await tables(fixture.system.pool).ledgerConsent.updateMany({
      where: { organisationId: organisation },
      data: { encryptionKeyId: "x" },
    });
    expect((await fetch(encrypted)).status).toBe(500);
    expect(await statusOf(organisation)).toBe("FAILED");
    const denied = await comeBack(await consent(await begin(organisation), []));
    expect(denied).toEqual([400, expect.stringContaining("access_denied")]);
    expect(await fixture.owner.refused(`${service}/GetLedgerConnection`, { organisation })).toBe(
      "ledger_not_connected",
    );
  });

  test("connects nothing if its operator lost the role or the token", async () => {
    const organisation = await newOrganisation();
    const tenant = await createTenant(fixture.system);
    const ends = {
      Left: "UPDATE operators SET active = false WHERE name = $1",
      Demoted: "UPDATE operators SET role = 'admin' WHERE name = $1",
      Leaked:
        "UPDATE operator_tokens t SET revoked_at = now() FROM operators o" +
        " WHERE o.id = t.operator_id AND o.name = $1",
      Lapsed:
        "UPDATE operator_tokens t SET expires_at = now() FROM operators o" +
        " WHERE o.id = t.operator_id AND o.name = $1",
    };
    for (const [name, text] of Object.entries(ends)) {
      const by = askWith(fixture.system, await fixture.system.operator("owner", name));
      const back = await consent(await begin(organisation, by), [tenant]);
      await fixture.system.pool.query(text, [name]);
      expect([name, (await comeBack(back))[0]]).toEqual([name, 400]);
    }
    expect(await fixture.owner.refused(`${service}/GetLedgerConnection`, { organisation })).toBe(
      "ledger_not_connected",
    );
    const admin = askWith(fixture.system, await fixture.system.operator("admin"));
    expect(await admin.refused(`${service}/BeginLedgerAuthorisation`, { organisation })).toBe(
      "insufficient_role",
    );
  });

  test("for several tenants waits until the same operator chooses one of them", async () => {
    const organisation = await newOrganisation();
    const tenants = [await createTenant(fixture.system), await createTenant(fixture.system)];
    const [status, html] = await comeBack(await consent(await begin(organisation), tenants));
    expect([status, html]).toEqual([200, expect.stringContaining(tenants[1]?.tenantId ?? "none")]);
    expect(await statusOf(organisation)).toBe("CHOOSE");
    const choose = `${service}/ChooseLedgerTenant`;
    const meant = { organisation, tenantId: tenants[1]?.tenantId };
    const other = askWith(fixture.system, await fixture.system.operator("owner", "Other"));
    expect(await other.refused(choose, meant)).toBe("invalid_state");
    expect(await fixture.owner.refused(choose, { ...meant, tenantId: randomUUID() })).toBe(
      "invalid_state tenant_id",
    );
    expect(
      await fixture.owner.refused(choose, { ...meant, organisation: await newOrganisation() }),
    ).toBe("invalid_state");
    expect(await deleteExpiredConsents(fixture.system.pool, 10)).toBe(0);
    expect((await fixture.owner.done(choose, meant)).connection.tenantId).toBe(
      tenants[1]?.tenantId,
    );
    expect(await fixture.owner.refused(choose, meant)).toBe("invalid_state");
    expect(
      await fixture.owner.done(`${service}/CheckLedgerConnection`, { organisation }),
    ).toMatchObject({
      ok: true,
    });
  });

  test("renews an existing connection and connects no other without a choice", async () => {
    const { organisation, tenant } = await connected();
    // So that the connection is of an earlier consent, as it stays where it stands.
    const earlier =
      "UPDATE demo_ledger.app_connections SET event_id = gen_random_uuid() WHERE tenant_id = $1";
    const standing = () => fixture.system.pool.query(earlier, [tenant.tenantId]);
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
    expect(
      await fixture.owner.refused(`${service}/GetLedgerConnection`, { organisation: fresh }),
    ).toBe("ledger_not_connected");
  });

  test("whose choice nobody makes in time is forgotten with its tokens", async () => {
    const organisation = await newOrganisation();
    await comeBack(
      await consent(await begin(organisation), [
        await createTenant(fixture.system),
        await createTenant(fixture.system),
      ]),
    );
    await tables(fixture.system.pool).ledgerConsent.updateMany({
      where: { organisationId: organisation },
      data: { expiresAt: new Date() },
    });
    expect(await statusOf(organisation)).toBe("EXPIRED");
    expect(await deleteExpiredConsents(fixture.system.pool, 10)).toBe(1);
    expect(await statusOf(organisation)).toBe("FAILED");
  });

  test("must be for the customers' tenant, and replaces a custom connection", async () => {
    const { organisationId: organisation, tenantId } = await fixture.system.organisation();
    const elsewhere = await comeBack(
      await consent(await begin(organisation), [await createTenant(fixture.system)]),
    );
    expect(elsewhere).toEqual([400, expect.stringContaining("tenant they are of")]);
    expect(await connectionOf(organisation)).toMatchObject({
      grant: "LEDGER_GRANT_CUSTOM",
      tenantId,
    });
    const both = [
      await createTenant(fixture.system),
      { ...(await createTenant(fixture.system)), tenantId },
    ];
    expect((await comeBack(await consent(await begin(organisation), both)))[0]).toBe(200);
    expect(await connectionOf(organisation)).toMatchObject({
      grant: "LEDGER_GRANT_AUTHORISATION",
      tenantId,
    });
  });
});

test("secrets stand in no log, no audit log, and unencrypted in no table. ADMIN-3", () =>
  expectNoSecretStored());
