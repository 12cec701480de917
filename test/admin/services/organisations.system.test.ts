/** Organisations and API keys over the wire: methods, refusals and audit entries. ADMIN-2 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { adminTest as test } from "./fixtures.ts";

const unknownOrganisation = { organisation: randomUUID() };

describe("organisations", () => {
  const settings = { name: "Paper Ltd", timezone: "Europe/Paris", defaultCurrency: "EUR" };

  test("are created with defaults or settings, listed and updated", async ({ admin, made }) => {
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      ...settings,
      livemode: false,
    });
    expect(organisation).toMatchObject({
      ...settings,
      firstInvoiceStatus: "FIRST_INVOICE_STATUS_DRAFT",
      dueDays: 14,
    });
    expect(organisation.livemode).toBeUndefined();
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "organisation",
      target: organisation.id,
      operatorName: "Olga",
      operation: "billing.admin.v1.OrganisationService/CreateOrganisation",
      after: { name: "Paper Ltd", default_currency: "EUR", livemode: false },
    });
    const change = {
      id: organisation.id,
      dueDays: 0,
      firstInvoiceStatus: "FIRST_INVOICE_STATUS_APPROVED",
    };
    const { organisation: changed } = await admin.done(
      "OrganisationService/UpdateOrganisation",
      change,
    );
    expect(changed).toEqual({
      ...organisation,
      firstInvoiceStatus: change.firstInvoiceStatus,
      dueDays: undefined,
    });
    expect(await admin.lastEntry()).toMatchObject({
      before: { due_days: 14, first_invoice_status: "draft" },
      after: { due_days: 0, first_invoice_status: "approved" },
    });
    const entry = await admin.lastEntry();
    await admin.done("OrganisationService/UpdateOrganisation", change);
    expect((await admin.lastEntry()).id).toBe(entry.id);
    const page = await admin.done("OrganisationService/ListOrganisations", { limit: 1 });
    expect(page).toMatchObject({ data: [{ id: organisation.id }], hasMore: true });
    const next = await admin.done("OrganisationService/ListOrganisations", {
      startingAfter: organisation.id,
    });
    expect(next.data[0].id).toBe(made.organisationId);
  });

  test("are refused with the parameter at fault", async ({ admin, made }) => {
    const create = "OrganisationService/CreateOrganisation";
    expect(await admin.refused(create, { ...settings, name: "" })).toBe("invalid_parameter name");
    expect(await admin.refused(create, { ...settings, timezone: "Mars" })).toBe(
      "invalid_parameter timezone",
    );
    expect(await admin.refused(create, { ...settings, defaultCurrency: "ABC" })).toBe(
      "invalid_parameter default_currency",
    );
    expect(await admin.refused(create, { ...settings, dueDays: 366 })).toBe(
      "invalid_parameter due_days",
    );
    // A ledger that folds or trims numbers would take them for others.
    for (const numberPrefix of ["inv-", "INV ", " ", "A,B", "É-", "A".repeat(21), "A\n"]) {
      const refusal = "invalid_parameter number_prefix";
      expect(await admin.refused(create, { ...settings, numberPrefix })).toBe(refusal);
      const change = { id: made.organisationId, numberPrefix };
      expect(await admin.refused("OrganisationService/UpdateOrganisation", change)).toBe(refusal);
    }
    const allowed = { id: made.organisationId, numberPrefix: "NW/2026_A.B-INV-0123" };
    const { organisation: changed } = await admin.done(
      "OrganisationService/UpdateOrganisation",
      allowed,
    );
    expect(changed.numberPrefix).toBe(allowed.numberPrefix);
    expect(await admin.refused("OrganisationService/GetOrganisation", { id: "x" })).toBe(
      "organisation_not_found",
    );
    expect(
      await admin.refused("OrganisationService/UpdateOrganisation", { id: randomUUID() }),
    ).toBe("organisation_not_found");
    const after = { startingAfter: randomUUID() };
    expect(await admin.refused("OrganisationService/ListOrganisations", after)).toBe(
      "invalid_parameter starting_after",
    );
    expect(
      await admin.refused("OrganisationService/SetSetupMode", { id: made.organisationId }),
    ).toBe("invalid_parameter setup_mode");
  });

  test("in Setup Mode issue nothing, and a switch returns its effects", async ({
    system,
    admin,
  }) => {
    const { organisationId, apiKey } = await system.organisation();
    const on = await admin.done("OrganisationService/SetSetupMode", {
      id: organisationId,
      setupMode: true,
    });
    expect(on).toMatchObject({ changed: true, organisation: { setupMode: true } });
    expect(on.effects.length).toBeGreaterThan(2);
    const body = { customer_code: "ACME", plan_code: "team", units: 5 };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: apiKey,
      idempotencyKey: "setup-mode",
      body,
    });
    expect([created.status, created.json.invoice]).toEqual([201, null]);
    const again = await admin.done("OrganisationService/SetSetupMode", {
      id: organisationId,
      setupMode: true,
    });
    expect([again.changed, again.effects]).toEqual([undefined, undefined]);
    const off = await admin.done("OrganisationService/SetSetupMode", {
      id: organisationId,
      setupMode: false,
    });
    expect(off).toMatchObject({ changed: true, unbilledSubscriptions: 1 });
    expect(await admin.lastEntry()).toMatchObject({
      before: { setup_mode: true },
      after: { setup_mode: false },
    });
  });
});

describe("API keys", () => {
  test("show their value once, work by their scopes, and are refused once revoked", async ({
    system,
    admin,
    own,
  }) => {
    const create = {
      ...own,
      name: "Leaked",
      scopes: ["catalogue:read"],
      expiresAt: "2199-01-01T00:00:00Z",
    };
    const withKey = { idempotencyKey: "create-key" };
    const { apiKey, value } = await admin.done("ApiKeyService/CreateApiKey", create, withKey);
    expect(apiKey).toMatchObject({
      name: "Leaked",
      scopes: ["catalogue:read"],
      status: "CREDENTIAL_STATUS_ACTIVE",
    });
    expect(apiKey.redactedValue.slice(-4)).toBe(value.slice(-4));
    const replay = await admin.done("ApiKeyService/CreateApiKey", create, withKey);
    expect(replay).toEqual({ apiKey });
    expect((await system.ask("GET", "/v1/plans", { key: value })).status).toBe(200);
    expect((await system.ask("GET", "/v1/invoices", { key: value })).status).toBe(403);
    const { data } = await admin.done("ApiKeyService/ListApiKeys", { ...own, limit: 1 });
    expect(data).toEqual([{ ...apiKey, lastUsedAt: expect.any(String) }]);
    const revoke = { ...own, id: apiKey.id };
    const { apiKey: revoked } = await admin.done("ApiKeyService/RevokeApiKey", revoke);
    expect(revoked).toMatchObject({
      status: "CREDENTIAL_STATUS_REVOKED",
      revokedAt: expect.any(String),
    });
    expect((await system.ask("GET", "/v1/plans", { key: value })).status).toBe(401);
    const entry = await admin.lastEntry();
    expect(entry).toMatchObject({
      targetKind: "api_key",
      before: { revoked_at: null },
      after: { name: "Leaked" },
    });
    expect((await admin.done("ApiKeyService/RevokeApiKey", revoke)).apiKey).toEqual(revoked);
    expect((await admin.lastEntry()).id).toBe(entry.id);
    const { rows } = await system.pool.query(
      "SELECT to_jsonb(a) FROM audit_log a UNION ALL SELECT to_jsonb(k) FROM idempotency_keys k",
    );
    expect(JSON.stringify(rows)).not.toContain(value);
  });

  test("are refused with the parameter at fault", async ({ system, admin, own }) => {
    const good = { ...own, name: "Key", scopes: ["catalogue:read"] };
    const refused = (change: object) =>
      admin.refused("ApiKeyService/CreateApiKey", { ...good, ...change });
    expect(await refused(unknownOrganisation)).toBe("organisation_not_found");
    expect(await refused({ scopes: [] })).toBe("invalid_parameter scopes");
    expect(await refused({ scopes: ["everything"] })).toBe("invalid_parameter scopes.0");
    for (const expiresAt of ["2020-01-01T00:00:00Z", "2199-02-30T00:00:00Z", "tomorrow"]) {
      expect(await refused({ expiresAt })).toBe("invalid_parameter expires_at");
    }
    expect(await admin.refused("ApiKeyService/RevokeApiKey", { ...own, id: randomUUID() })).toBe(
      "api_key_not_found",
    );
    const other = await system.organisation();
    const foreign = { ...own, id: other.apiKeyId };
    expect(await admin.refused("ApiKeyService/RevokeApiKey", foreign)).toBe("api_key_not_found");
  });
});
