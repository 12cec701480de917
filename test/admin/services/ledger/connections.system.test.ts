/** Ledger connections and account mappings over the wire. ADMIN-4, DOCUMENT-5 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { perFile } from "../../../support/file-fixture.ts";
import { adminTest } from "../fixtures.ts";
import { createTenant } from "../request.ts";

const test = adminTest.extend("own", perFile, async ({ system }) => ({
  organisation: (await system.organisation()).organisationId,
}));

const unknownOrganisation = { organisation: randomUUID() };

describe("ledger connections and mappings", () => {
  test("accept working credentials of the customers' tenant only", async ({
    system,
    admin,
    own,
  }) => {
    const tenant = await createTenant(system);
    const connect = "LedgerConnectionService/ConnectLedger";
    expect(await admin.refused(connect, { ...own, ...tenant })).toBe("invalid_state tenant_id");
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      name: "New",
      timezone: "Pacific/Auckland",
      defaultCurrency: "NZD",
    });
    const fresh = { organisation: organisation.id };
    expect(await admin.refused("LedgerConnectionService/GetLedgerConnection", fresh)).toBe(
      "ledger_not_connected",
    );
    expect(await admin.refused("LedgerConnectionService/CheckLedgerConnection", fresh)).toBe(
      "ledger_not_connected",
    );
    expect(await admin.refused(connect, { ...fresh, ...tenant, clientSecret: "wrong" })).toBe(
      "ledger_refused",
    );
    const nowhere = { ...tenant, identityUrl: "http://127.0.0.1:1/connect/token" };
    expect(await admin.refused(connect, { ...fresh, ...nowhere })).toBe("ledger_unavailable");
    expect(await admin.refused(connect, { ...fresh, ...tenant, baseUrl: "ftp://x" })).toBe(
      "invalid_parameter base_url",
    );
    expect(await admin.refused(connect, { ...unknownOrganisation, ...tenant })).toBe(
      "organisation_not_found",
    );
    for (const kind of [undefined, "", "sage", "toString"])
      expect(await admin.refused(connect, { ...fresh, ...tenant, kind })).toBe(
        "invalid_parameter kind",
      );
    await admin.done(connect, { ...fresh, ...nowhere, skipCheck: true });
    expect(await admin.done("LedgerConnectionService/CheckLedgerConnection", fresh)).toMatchObject({
      problem: expect.stringContaining("could not be reached"),
    });
    await admin.done(connect, { ...fresh, ...tenant });
    const entry = await admin.lastEntry();
    expect(entry).toMatchObject({
      targetKind: "ledger_connection",
      before: { identity_url: nowhere.identityUrl },
      after: { identity_url: tenant.identityUrl, client_id: tenant.clientId },
    });
    expect(JSON.stringify(entry)).not.toMatch(/secret/i);
    const { connection } = await admin.done("LedgerConnectionService/GetLedgerConnection", fresh);
    const { clientSecret: _, ...shown } = tenant;
    const grant = "LEDGER_GRANT_CUSTOM";
    expect(connection).toEqual({ ...fresh, ...shown, grant, created: expect.any(String) });
  });

  test("to a tenant that another organisation has are refused, also at once", async ({
    system,
    admin,
  }) => {
    const tenant = await createTenant(system);
    const connect = "LedgerConnectionService/ConnectLedger";
    const [first, second] = await Promise.all(
      ["First", "Second"].map(async (name) => {
        const settings = { name, timezone: "Pacific/Auckland", defaultCurrency: "NZD" };
        const made = await admin.done("OrganisationService/CreateOrganisation", settings);
        return { organisation: made.organisation.id as string };
      }),
    );
    const shouted = { ...tenant, tenantId: tenant.tenantId.toUpperCase() };
    const answers = await Promise.all([
      admin.ask(connect, { ...first, ...tenant }),
      admin.ask(connect, { ...second, ...shouted, skipCheck: true }),
    ]);
    const [taken] = answers.filter(({ status }) => status !== 200);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(taken?.json.message).toMatch(
      /^Another organisation is connected to this tenant: (First|Second)\. Disconnect that/,
    );
    const isFirst = answers[0]?.status === 200;
    const [connected, other] = isFirst ? [first, second] : [second, first];
    // An organisation connects again to its own tenant.
    await admin.done(connect, { ...connected, ...tenant });
    await admin.done("LedgerConnectionService/DisconnectLedger", connected);
    await admin.done(connect, { ...other, ...tenant });
    // So that both have it, as an earlier version allowed. Both are warned.
    await admin.done(connect, { ...connected, ...tenant });
    const check = "LedgerConnectionService/CheckLedgerConnection";
    const { ok, warnings } = await admin.done(check, connected);
    expect([ok, warnings]).toEqual([
      true,
      [
        `The same tenant is connected to other organisations: ${isFirst ? "Second" : "First"}. ` +
          "They share its daily calls, and its numbers.",
      ],
    ]);
    expect((await admin.done(check, other)).warnings).toHaveLength(1);
  });

  test("list the ledger's codes, and map only onto accounts that accept revenue", async ({
    admin,
    own,
  }) => {
    for (const kind of ["ACCOUNTS", "TAX_RATES", "CURRENCIES"]) {
      const { data } = await admin.done("LedgerConnectionService/ListMappingOptions", {
        ...own,
        kind: `MAPPING_KIND_${kind}`,
      });
      expect(data.length, kind).toBeGreaterThan(0);
    }
    expect(await admin.refused("LedgerConnectionService/ListMappingOptions", own)).toBe(
      "invalid_parameter kind",
    );
    const set = "AccountMappingService/SetAccountMapping";
    expect(await admin.refused(set, { ...own, revenueAccount: "nope" })).toBe(
      "invalid_parameter revenue_account",
    );
    expect(await admin.refused(set, { ...own, taxType: "nope" })).toBe(
      "invalid_parameter tax_type",
    );
    expect(await admin.refused(set, { ...own, plan: randomUUID() })).toBe("plan_not_found");
    expect(await admin.refused(set, { ...own, charge: randomUUID() })).toBe("charge_not_found");
    expect(await admin.refused(set, { ...own, plan: "a", charge: "b" })).toBe(
      "invalid_parameter charge",
    );
    const { data: plans } = await admin.done("PlanService/ListPlans", { ...own, code: "team" });
    await admin.done(set, { ...own, plan: plans[0].id, revenueAccount: "200" });
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "account_mapping",
      target: plans[0].id,
      before: { target: "plan", code: "team", revenue_account: null },
      after: { revenue_account: "200" },
    });
    const { data: charges } = await admin.done("ChargeService/ListCharges", {
      ...own,
      code: "onboarding",
    });
    await admin.done(set, { ...own, charge: charges[0].id, taxType: "OUTPUT2", skipCheck: true });
    expect(await admin.done("AccountMappingService/GetAccountMapping", own)).toEqual({
      default: { revenueAccount: "200", taxType: "OUTPUT2" },
      plans: [
        { id: plans[0].id, code: "team", name: plans[0].name, mapping: { revenueAccount: "200" } },
      ],
      charges: [
        {
          id: charges[0].id,
          code: "onboarding",
          name: charges[0].name,
          mapping: { taxType: "OUTPUT2" },
        },
      ],
    });
  });
});
