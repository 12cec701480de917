/** Organisations, their ledgers, keys and catalogue over the wire: every method, refusal and audit entry. decisions §8. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { MadeOrganisation } from "../../../src/dev/local-stack/first-data.ts";
import type { TestSystem } from "../../support/system.ts";
import { sharedSystem } from "../../support/system-for-many.ts";
import { type AdminAsk, askWith, createTenant } from "./request.ts";

let system: TestSystem;
let admin: AdminAsk;
let made: MadeOrganisation;
let own = { organisation: "" };

beforeAll(async () => {
  system = await sharedSystem();
  admin = askWith(system, await system.operator("owner", "Olga"));
  made = await system.organisation();
  own = { organisation: made.organisationId };
});

const nobody = { organisation: randomUUID() };

describe("organisations", () => {
  const settings = { name: "Books Ltd", timezone: "Europe/Paris", defaultCurrency: "EUR" };

  test("are made with their defaults or settings, read, listed in pages, and changed one by one", async () => {
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
      after: { name: "Books Ltd", default_currency: "EUR", livemode: false },
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

  test("are refused with what is at fault", async () => {
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

  test("in Setup Mode raise nothing, and say what switching changes", async () => {
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
      idempotencyKey: "mirror",
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

describe("ledger connections and mappings", () => {
  test("take working credentials, never show the secret, and keep to the tenant once there are customers", async () => {
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
    expect(await admin.refused(connect, { ...nobody, ...tenant })).toBe("organisation_not_found");
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

  test("offer the ledger's lists, and map only onto what takes revenue", async () => {
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

describe("API keys", () => {
  test("show their value once, work by their scopes, and are refused from their revocation on", async () => {
    const create = {
      ...own,
      name: "Leaked",
      scopes: ["catalogue:read"],
      expiresAt: "2199-01-01T00:00:00Z",
    };
    const asked = { idempotencyKey: "make-key" };
    const { apiKey, value } = await admin.done("ApiKeyService/CreateApiKey", create, asked);
    expect(apiKey).toMatchObject({
      name: "Leaked",
      scopes: ["catalogue:read"],
      status: "CREDENTIAL_STATUS_ACTIVE",
    });
    expect(apiKey.hint.slice(-4)).toBe(value.slice(-4));
    const replay = await admin.done("ApiKeyService/CreateApiKey", create, asked);
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

  test("are refused with what is at fault", async () => {
    const good = { ...own, name: "Key", scopes: ["catalogue:read"] };
    const refused = (change: object) =>
      admin.refused("ApiKeyService/CreateApiKey", { ...good, ...change });
    expect(await refused(nobody)).toBe("organisation_not_found");
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

describe("plans", () => {
  const tiers = [
    { upTo: 10, unitPrice: "7" },
    { unitPrice: "6.5", flatPrice: "1.25" },
  ];
  const plan = { code: "cloud", name: "Cloud", type: "PLAN_TYPE_TIERED", tiers };

  test("are drafts with tiers that can be changed while nothing uses them, and go through their statuses", async () => {
    const { plan: draft } = await admin.done("PlanService/CreatePlan", { ...own, ...plan });
    expect(draft).toMatchObject({
      status: "CATALOGUE_STATUS_DRAFT",
      price: "0.0000",
      tiers: [
        { from: 1, upTo: 10, unitPrice: "7.0000" },
        { from: 11, unitPrice: "6.5000", flatPrice: "1.2500" },
      ],
    });
    const at = { ...own, id: draft.id };
    const move = async (status: string) =>
      (
        await admin.done("PlanService/SetPlanStatus", {
          ...at,
          status: `CATALOGUE_STATUS_${status}`,
        })
      ).plan.status;
    const stuck = (status: string) =>
      admin.refused("PlanService/SetPlanStatus", { ...at, status: `CATALOGUE_STATUS_${status}` });
    expect(await stuck("LEGACY")).toBe("invalid_state");
    expect(await move("ACTIVE")).toBe("CATALOGUE_STATUS_ACTIVE");
    const { plan: changed } = await admin.done("PlanService/UpdatePlan", {
      ...at,
      tiers: { tiers: [{ unitPrice: "9" }] },
    });
    expect(changed.tiers).toEqual([{ from: 1, unitPrice: "9.0000" }]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "plan",
      before: { tiers: [{ up_to: 10, unit_price: "7.0000" }, { flat_price: "1.2500" }] },
      after: { tiers: [{ up_to: null, unit_price: "9.0000" }] },
    });
    expect(await move("LEGACY")).toBe("CATALOGUE_STATUS_LEGACY");
    expect(await move("ACTIVE")).toBe("CATALOGUE_STATUS_ACTIVE");
    expect(await stuck("DRAFT")).toBe("invalid_state");
    expect(await move("INACTIVE")).toBe("CATALOGUE_STATUS_INACTIVE");
    expect(await stuck("ACTIVE")).toBe("invalid_state");
    expect((await admin.done("PlanService/GetPlan", at)).plan.status).toBe(
      "CATALOGUE_STATUS_INACTIVE",
    );
  });

  test("keep what they bill once a subscription uses them", async () => {
    const { data } = await admin.done("PlanService/ListPlans", { ...own, code: "site" });
    const at = { ...own, id: data[0].id };
    const body = { customer_code: "ACME", plan_code: "site" };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: made.apiKey,
      idempotencyKey: "use",
      body,
    });
    expect(created.status, created.text).toBe(201);
    expect(await admin.refused("PlanService/UpdatePlan", { ...at, price: "1" })).toBe(
      "plan_in_use",
    );
    expect(await admin.refused("PlanService/UpdatePlan", { ...at, intervalMonths: 2 })).toBe(
      "plan_in_use",
    );
    const { plan: renamed } = await admin.done("PlanService/UpdatePlan", { ...at, name: "Site 2" });
    expect(renamed).toMatchObject({ name: "Site 2", subscriptions: 1, price: data[0].price });
  });

  test("are never priced anew under a creation that runs at the same moment", async () => {
    for (let round = 0; round < 6; round += 1) {
      const code = `race-${round}`;
      const flat = { ...own, code, name: "Race", type: "PLAN_TYPE_FLAT_FEE", price: "10" };
      const { plan: raced } = await admin.done("PlanService/CreatePlan", flat);
      const at = { ...own, id: raced.id };
      await admin.done("PlanService/SetPlanStatus", { ...at, status: "CATALOGUE_STATUS_ACTIVE" });
      const body = { customer_code: "ACME", plan_code: code };
      const [created] = await Promise.all([
        system.ask("POST", "/v1/subscriptions", { key: made.apiKey, idempotencyKey: code, body }),
        admin.ask("PlanService/UpdatePlan", { ...at, price: "20" }),
      ]);
      const { plan: now } = await admin.done("PlanService/GetPlan", at);
      expect([created.status, created.json.invoice.subtotal], created.text).toEqual([
        201,
        now.price,
      ]);
    }
  });

  test("are refused with what is at fault", async () => {
    const refused = (change: object) =>
      admin.refused("PlanService/CreatePlan", { ...own, ...plan, code: "x", ...change });
    expect(await refused({ code: "team" })).toBe("plan_code_taken code");
    expect(await refused({ tiers: [] })).toBe("invalid_parameter tiers");
    expect(
      await refused({
        tiers: [
          { upTo: 5, unitPrice: "1" },
          { upTo: 5, unitPrice: "1" },
        ],
      }),
    ).toBe("invalid_parameter tiers.1.up_to");
    expect(await refused({ type: "PLAN_TYPE_FLAT_FEE", tiers: [] })).toBe(
      "invalid_parameter price",
    );
    expect(await refused({ type: undefined })).toBe("invalid_parameter type");
    expect(await refused({ price: "1.23456" })).toBe("invalid_parameter price");
    expect(await refused({ currency: "ABC" })).toBe("invalid_parameter currency");
    expect(await refused(nobody)).toBe("organisation_not_found");
    for (const method of ["GetPlan", "UpdatePlan"]) {
      expect(await admin.refused(`PlanService/${method}`, { ...own, id: randomUUID() })).toBe(
        "plan_not_found",
      );
    }
    const { data } = await admin.done("PlanService/ListPlans", { ...own, code: "cloud" });
    const taken = { ...own, id: data[0].id, code: "team" };
    expect(await admin.refused("PlanService/UpdatePlan", taken)).toBe("plan_code_taken code");
  });
});

describe("charges", () => {
  test("are made, changed until they are billed, and moved like plans", async () => {
    const { charge } = await admin.done("ChargeService/CreateCharge", {
      ...own,
      code: "visit",
      name: "Visit",
      price: "80",
    });
    expect(charge).toMatchObject({
      status: "CATALOGUE_STATUS_DRAFT",
      price: "80.0000",
      currency: "NZD",
    });
    const at = { ...own, id: charge.id };
    const change = { ...at, price: "90.5", description: "On site" };
    expect((await admin.done("ChargeService/UpdateCharge", change)).charge).toMatchObject({
      price: "90.5000",
      description: "On site",
    });
    expect(await admin.lastEntry()).toMatchObject({
      before: { price: "80.0000" },
      after: { price: "90.5000" },
    });
    await admin.done("ChargeService/SetChargeStatus", { ...at, status: "CATALOGUE_STATUS_ACTIVE" });
    const body = { customer_code: "ACME", plan_code: "site", charges: [{ charge_code: "visit" }] };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: made.apiKey,
      idempotencyKey: "visit",
      body,
    });
    expect(created.status, created.text).toBe(201);
    expect(await admin.refused("ChargeService/UpdateCharge", { ...at, price: "1" })).toBe(
      "charge_in_use",
    );
    expect(
      (await admin.done("ChargeService/UpdateCharge", { ...at, description: "" })).charge
        .description,
    ).toBeUndefined();
    expect((await admin.done("ChargeService/GetCharge", at)).charge).toMatchObject({
      invoiceLines: 1,
    });
    expect(
      await admin.refused("ChargeService/SetChargeStatus", {
        ...at,
        status: "CATALOGUE_STATUS_DRAFT",
      }),
    ).toBe("invalid_state");
    const again = { ...own, code: "visit", name: "Visit", price: "1" };
    expect(await admin.refused("ChargeService/CreateCharge", again)).toBe("charge_code_taken code");
    expect(await admin.refused("ChargeService/GetCharge", { ...own, id: randomUUID() })).toBe(
      "charge_not_found",
    );
    const { data } = await admin.done("ChargeService/ListCharges", {
      ...own,
      status: "CATALOGUE_STATUS_ACTIVE",
    });
    expect(data[0]).toMatchObject({ code: "visit" });
  });
});
