/**
 * A second kind of ledger from its connection to a payment, over HTTP with PostgreSQL and Temporal:
 * a ledger without drafts and without unique numbers (LEDGER-7).
 */
import { expect } from "vitest";
import { ledgers } from "../../src/ledger/index.ts";
import { aloneAdminTest } from "../admin/services/fixtures.ts";
import { perFile } from "../support/file-fixture.ts";
import { payInvoice } from "../support/memory-documents.ts";
import { createMemoryLedger, memorySecret } from "../support/memory-ledger.ts";
import { type TestSystem, until } from "../support/system.ts";

const memory = createMemoryLedger();
const tenantId = "100001";
const connect = "LedgerConnectionService/ConnectLedger";
const credentials = { kind: "memory", tenantId, clientId: "c", clientSecret: memorySecret };

const test = aloneAdminTest
  .extend("settings", perFile, { kinds: { ...ledgers, memory: memory.kind } })
  .extend("own", perFile, async ({ admin }) => {
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      name: "Second Ltd",
      timezone: "Pacific/Auckland",
      defaultCurrency: "NZD",
      numberPrefix: "INV-",
      canCreateLedgerContacts: true,
      firstInvoiceStatus: "FIRST_INVOICE_STATUS_DRAFT",
    });
    return { organisation: organisation.id };
  })
  .extend("key", perFile, async ({ admin, own }): Promise<string> => {
    const { value } = await admin.done("ApiKeyService/CreateApiKey", {
      ...own,
      name: "Platform",
      scopes: ["subscriptions:write", "customers:write", "invoices:read", "credit_notes:read"],
    });
    return value;
  });

const created = (
  system: TestSystem,
  key: string,
  path: string,
  idempotencyKey: string,
  body: object,
) => system.ask("POST", path, { key, idempotencyKey, body });
const invoices = () => [...memory.documents(tenantId).invoices.values()];

test("a connection obeys the form of its kind and has no consent", async ({ admin, own }) => {
  const refused = (changes: object) =>
    admin.refused(connect, { ...own, ...credentials, ...changes });
  expect(await refused({ tenantId: "12" })).toBe("invalid_parameter tenant_id");
  expect(await refused({ baseUrl: "https://ledger.example.com" })).toBe(
    "invalid_parameter base_url",
  );
  expect(await refused({ clientSecret: "wrong" })).toBe("ledger_refused");
  const begin = "LedgerConnectionService/BeginLedgerAuthorisation";
  expect(await admin.refused(begin, { ...own, kind: "memory" })).toBe("invalid_state");
  expect(await admin.refused(begin, { ...own, kind: "none" })).toBe("invalid_parameter kind");
  const { connection, ledger } = await admin.done(connect, { ...own, ...credentials });
  expect(connection).toMatchObject({ kind: "memory", tenantId });
  expect(ledger).toMatchObject({ id: tenantId, name: "Memory Ltd" });
});

test("an approved invoice is found after a lost answer, and its payment is synced", async ({
  system,
  admin,
  own,
  key,
}) => {
  await admin.done("AccountMappingService/SetAccountMapping", {
    ...own,
    revenueAccount: "200",
    taxType: "NONE",
  });
  const { plan } = await admin.done("PlanService/CreatePlan", {
    ...own,
    code: "team",
    name: "Team",
    type: "PLAN_TYPE_PER_UNIT",
    price: "12.5",
    unitSingular: "seat",
    unitPlural: "seats",
  });
  const active = { ...own, id: plan.id, status: "CATALOGUE_STATUS_ACTIVE" };
  await admin.done("PlanService/SetPlanStatus", active);
  const customer = { code: "FIRST", name: "First Customer", email: "pay@first.example" };
  const { status, text } = await created(system, key, "/v1/customers", "customer-1", customer);
  expect(status, text).toBe(201);

  memory.loseNextAnswer();
  const body = { customer_code: "FIRST", plan_code: "team", units: 10 };
  const subscription = await created(system, key, "/v1/subscriptions", "order-1", body);
  expect(subscription.status, subscription.text).toBe(201);
  const { id } = subscription.json.invoice;
  const shown = async () => (await system.ask("GET", `/v1/invoices/${id}`, { key })).json;
  await until("the invoice is synced", async () => {
    const { ledger } = await shown();
    return ledger.sync_status === "synced";
  });
  const [invoice, ...more] = invoices();
  expect(more).toEqual([]);
  expect(invoice).toMatchObject({
    number: "INV-0001",
    status: "approved",
    total: "125.0000",
    sourceUrl: `/v1/invoices/${id}`,
  });
  expect(await shown()).toMatchObject({ number: "INV-0001", status: "approved" });

  payInvoice(memory.documents(tenantId), invoice?.id ?? "");
  await admin.done("LedgerSyncService/SyncLedger", own);
  await until("the payment is synced", async () => (await shown()).status === "paid");
  expect(await shown()).toMatchObject({ amount_due: "0.0000" });
});

test("a document of a person with the same number does not stand in the way", async ({
  system,
  key,
}) => {
  const [first] = invoices();
  if (first === undefined) throw new Error("there is an invoice");
  const documents = memory.documents(tenantId);
  documents.invoices.set("by hand", {
    ...first,
    id: "by hand",
    number: "INV-0002",
    sourceUrl: null,
  });
  memory.loseNextAnswer();
  const body = { customer_code: "FIRST", plan_code: "team", units: 3 };
  const { json } = await created(system, key, "/v1/subscriptions", "order-2", body);
  const { id } = json.invoice;
  await until("the second invoice is synced", async () => {
    const { ledger } = (await system.ask("GET", `/v1/invoices/${id}`, { key })).json;
    return ledger.sync_status === "synced";
  });
  const second = invoices().filter(({ number }) => number === "INV-0002");
  expect(second.map(({ sourceUrl }) => sourceUrl)).toEqual([null, `/v1/invoices/${id}`]);
});

test("customers keep the organisation at the kind of ledger that they belong to", async ({
  admin,
  own,
}) => {
  const xero = { kind: "xero", tenantId, clientId: "c", clientSecret: "s", skipCheck: true };
  expect(await admin.refused(connect, { ...own, ...xero })).toBe("invalid_state tenant_id");
});
