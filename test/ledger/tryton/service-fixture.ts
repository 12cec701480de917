/**
 * The service with an organisation whose ledger is a company in Tryton, and two plans: `team` of
 * 12.35 a seat, and `bands`, where ten seats cost 10 each and eleven 8 each.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { aloneAdminTest } from "../../admin/services/fixtures.ts";
import type { AdminAsk } from "../../admin/services/request.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { jobsOf, tables } from "../../support/rows.ts";
import {
  type Answered,
  type SystemSettings,
  type TestSystem,
  until,
} from "../../support/system.ts";
import { freshTryton } from "./tryton-fixture.ts";

/** An organisation as the admin API names it. */
export interface Own {
  readonly organisation: string;
}

const scopes = [
  "subscriptions:read",
  "subscriptions:write",
  "customers:read",
  "customers:write",
  "invoices:read",
  "credit_notes:read",
];

/** Tests of a sandbox whose ledger is not connected yet. */
export const trytonTest = aloneAdminTest
  // A document takes Tryton seconds on a busy machine.
  .extend("settings", perFile, { env: { LEDGER_CALL_SECONDS: "20" } } satisfies SystemSettings)
  .extend("access", perFile, started(freshTryton))
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
  const team = { code: "team", name: "Team", type: "PLAN_TYPE_PER_UNIT", price: "12.35" };
  const tiers = [{ upTo: 10, unitPrice: "10" }, { unitPrice: "8" }];
  const bands = { code: "bands", name: "Bands", type: "PLAN_TYPE_VOLUME", tiers };
  for (const plan of [team, bands])
    await createPlan(admin, own, { ...plan, unitSingular: "seat", unitPlural: "seats" });
}

/** Creates an active plan. */
export async function createPlan(admin: AdminAsk, own: Own, added: object): Promise<void> {
  const { plan } = await admin.done("PlanService/CreatePlan", { ...own, ...added });
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

type Json = Answered["json"];

/** Creates a subscription, and returns it with its invoice. */
export async function subscribe(system: TestSystem, key: string, body: object): Promise<Json> {
  const request = { key, idempotencyKey: randomUUID(), body };
  const answer = await system.ask("POST", "/v1/subscriptions", request);
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}

/** Changes units, and returns the subscription with the change. */
export async function changeUnits(
  system: TestSystem,
  key: string,
  id: string,
  body: object,
): Promise<Json> {
  const changed = await system.ask("POST", `/v1/subscriptions/${id}/units`, { key, body });
  expect(changed.status, changed.text).toBe(200);
  return changed.json;
}

/** Advances the test clock, and waits until all that is due on the way is done. */
export async function advance(admin: AdminAsk, own: Own, by: object): Promise<void> {
  await admin.done("TestClockService/AdvanceTestClock", { ...own, ...by });
  await until("the clock stands", async () => {
    const { testClock } = await admin.done("TestClockService/GetTestClock", own);
    return testClock.state === "TEST_CLOCK_STATE_STANDING";
  });
}

/** Waits until everything is posted, and for each of it as long as for a condition. */
export async function posted(system: TestSystem, { organisation }: Own): Promise<void> {
  const open = async () => {
    const where = {
      organisationId: organisation,
      state: { notIn: ["done", "refused", "abandoned"] },
    };
    const jobs = await jobsOf(system.pool, where);
    return jobs.map(({ kind, state, attempts }) => `${kind} ${state} ${attempts}`).join(", ");
  };
  for (let left = await open(); left !== ""; ) {
    const { now } = await until(
      () => `Tryton takes another of: ${left}`,
      async () => {
        const now = await open();
        return now !== left && { now };
      },
    );
    left = now;
  }
}

/** Reads what people did in Tryton. */
export async function sync(system: TestSystem, admin: AdminAsk, own: Own): Promise<void> {
  const since = new Date();
  await admin.done("LedgerSyncService/SyncLedger", own);
  const { ledgerSyncCursor } = tables(system.pool);
  const where = { organisationId: own.organisation, syncKind: null, beganAt: { gt: since } };
  await until("Tryton is synced", async () => (await ledgerSyncCursor.count({ where })) === 1);
}
