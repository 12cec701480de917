/** The service with an organisation whose ledger is a company in Tryton, and a plan of 12.35. */
import { expect } from "vitest";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { aloneAdminTest } from "../../admin/services/fixtures.ts";
import type { AdminAsk } from "../../admin/services/request.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import type { SystemSettings, TestSystem } from "../../support/system.ts";
import { freshTryton, stopTryton } from "./tryton-fixture.ts";

/** An organisation as the admin API names it. */
export interface Own {
  readonly organisation: string;
}

const scopes = ["subscriptions:write", "customers:write", "invoices:read", "credit_notes:read"];

/** Tests of a sandbox whose ledger is not connected yet. */
export const trytonTest = aloneAdminTest
  // A document takes Tryton seconds on a busy machine.
  .extend("settings", perFile, { env: { LEDGER_CALL_SECONDS: "20" } } satisfies SystemSettings)
  .extend("access", perFile, started(freshTryton, stopTryton))
  .extend("own", perFile, async ({ admin }) => {
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      name: "Books Ltd",
      timezone: "Europe/London",
      defaultCurrency: "GBP",
      livemode: false,
      canCreateLedgerContacts: true,
      firstInvoiceStatus: "FIRST_INVOICE_STATUS_APPROVED",
    });
    return { organisation: organisation.id as string };
  })
  .extend("key", perFile, async ({ admin, own }): Promise<string> => {
    const created = await admin.done("ApiKeyService/CreateApiKey", { ...own, name: "K", scopes });
    return created.value;
  });

/** Connects the organisation to the company, at another address if one is named. */
export async function connectToTryton(
  admin: AdminAsk,
  own: Own,
  access: TrytonAccess,
  baseUrl = access.baseUrl,
): Promise<void> {
  const { tenantId, clientSecret, company } = access;
  const secret = { clientId: "billing", clientSecret };
  const connection = { ...own, kind: "tryton", tenantId, baseUrl, ...secret };
  await admin.done("LedgerConnectionService/ConnectLedger", connection);
  const mapping = { ...own, revenueAccount: "200", taxType: company.taxType };
  await admin.done("AccountMappingService/SetAccountMapping", mapping);
  const { plan } = await admin.done("PlanService/CreatePlan", {
    ...own,
    code: "team",
    name: "Team",
    type: "PLAN_TYPE_PER_UNIT",
    price: "12.35",
    unitSingular: "seat",
    unitPlural: "seats",
  });
  const active = { ...own, id: plan.id, status: "CATALOGUE_STATUS_ACTIVE" };
  await admin.done("PlanService/SetPlanStatus", active);
}

/** Creates `customers` with the codes C0, C1 and so on. */
export async function createCustomers(
  system: TestSystem,
  key: string,
  customers: number,
): Promise<void> {
  for (let index = 0; index < customers; index += 1) {
    const body = { code: `C${index}`, name: `Customer ${index}`, email: `c${index}@example.com` };
    const request = { key, idempotencyKey: `c-${index}`, body };
    const answer = await system.ask("POST", "/v1/customers", request);
    expect(answer.status, answer.text).toBe(201);
  }
}
