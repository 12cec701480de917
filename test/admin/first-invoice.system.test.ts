/**
 * An operator's day over the wire: from nothing to the first invoice with admin calls and one public call, and a document that
 * failed, found, mended and retried. decisions §8.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSystem, type TestSystem, until } from "../support/system.ts";

let system: TestSystem;
let owner = "";

beforeAll(async () => {
  system = await startSystem();
  owner = await system.operator("owner", "Olga");
});

afterAll(() => system?.stop());

/** A call that succeeds; its answer. */
async function done(method: string, body: object) {
  const answer = await system.askAdmin(method, { key: owner, body });
  if (answer.status !== 200) console.log(system.api.output().slice(-3000));
  expect(answer.status, `${method}: ${answer.text}`).toBe(200);
  return answer.json;
}

/** A tenant in the demo ledger with contacts. */
async function makeTenant() {
  const tenantId = randomUUID();
  const clientId = `demo-${tenantId}`;
  const clientSecret = randomBytes(24).toString("base64url");
  const tenant = { tenantId, name: "Own books", currency: "NZD", timezone: "Pacific/Auckland", clientId, clientSecret };
  const answer = await fetch(`${system.demoUrl}/demo/tenants`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(tenant),
  });
  expect(answer.ok).toBe(true);
  return {
    tenantId,
    clientId,
    clientSecret,
    baseUrl: `${system.demoUrl}/api.xro/2.0`,
    identityUrl: `${system.demoUrl}/connect/token`,
  };
}

async function makeContact(tenant: Awaited<ReturnType<typeof makeTenant>>, name: string, code: string): Promise<void> {
  const credentials = Buffer.from(`${tenant.clientId}:${tenant.clientSecret}`).toString("base64");
  const token = await fetch(tenant.identityUrl, {
    method: "POST",
    headers: { Authorization: `Basic ${credentials}`, "Content-Type": "application/x-www-form-urlencoded" },
    body: "grant_type=client_credentials&scope=accounting.contacts",
  });
  const { access_token: accessToken } = (await token.json()) as { access_token: string };
  const made = await fetch(`${tenant.baseUrl}/Contacts`, {
    method: "PUT",
    headers: {
      Authorization: `Bearer ${accessToken}`,
      "Content-Type": "application/json",
      Accept: "application/json",
      "xero-tenant-id": tenant.tenantId,
    },
    body: JSON.stringify({ Contacts: [{ Name: name, ContactNumber: code, EmailAddress: "pay@first.example" }] }),
  });
  expect(made.ok, await made.text()).toBe(true);
}

test("a new organisation gets to its first invoice, and one that failed for want of an account is mended and retried", async () => {
  const { organisation } = await done("OrganisationService/CreateOrganisation", {
    name: "First Ltd",
    timezone: "Pacific/Auckland",
    defaultCurrency: "NZD",
  });
  expect(organisation).toMatchObject({ name: "First Ltd", livemode: true, numberPrefix: "INV-", dueDays: 14 });
  const own = { organisation: organisation.id };
  const tenant = await makeTenant();
  await makeContact(tenant, "First Customer", "FIRST");
  const connected = await done("LedgerConnectionService/ConnectLedger", { ...own, ...tenant });
  expect(connected.ledger).toMatchObject({ name: "Own books", currency: "NZD" });
  expect(JSON.stringify(connected)).not.toContain(tenant.clientSecret);
  expect(await done("LedgerConnectionService/CheckLedgerConnection", own)).toMatchObject({ ok: true });

  const contacts = await done("CustomerService/ListLedgerContacts", { ...own, importable: true });
  expect(contacts.data).toHaveLength(1);
  const imported = await done("CustomerService/ImportCustomers", {
    ...own,
    contacts: [{ ledgerContactId: contacts.data[0].id }],
  });
  expect(imported).toMatchObject({
    imported: 1,
    results: [{ customer: { code: "FIRST", email: "pay@first.example" } }],
  });

  const { plan } = await done("PlanService/CreatePlan", {
    ...own,
    code: "team",
    name: "Team",
    type: "PLAN_TYPE_PER_UNIT",
    price: "12.5",
    unitSingular: "seat",
    unitPlural: "seats",
  });
  expect(plan).toMatchObject({ status: "CATALOGUE_STATUS_DRAFT", price: "12.5000", currency: "NZD" });
  await done("PlanService/SetPlanStatus", { ...own, id: plan.id, status: "CATALOGUE_STATUS_ACTIVE" });
  const key = await done("ApiKeyService/CreateApiKey", {
    ...own,
    name: "Platform",
    scopes: ["subscriptions:write", "invoices:read"],
  });
  expect(key.value).toMatch(/^sk_live_/);

  const created = await system.ask("POST", "/v1/subscriptions", {
    key: key.value,
    idempotencyKey: "order-1",
    body: { customer_code: "FIRST", plan_code: "team", units: 10 },
  });
  expect(created.status, created.text).toBe(201);
  expect(created.json.invoice).toMatchObject({ status: "not_in_external", ledger: { sync_status: "failed" } });

  const failed = await done("DocumentService/ListDocuments", { ...own, state: "DOCUMENT_STATE_FAILED" });
  expect(failed.data).toEqual([
    expect.objectContaining({
      id: created.json.invoice.id,
      number: "INV-0001",
      reason: "account_invalid",
      message: "No revenue account is mapped for a line of this invoice.",
    }),
  ]);
  const options = await done("LedgerConnectionService/ListMappingOptions", { ...own, kind: "MAPPING_KIND_ACCOUNTS" });
  const account = options.data.find((option: { usableForRevenue?: boolean }) => option.usableForRevenue === true);
  await done("AccountMappingService/SetAccountMapping", { ...own, revenueAccount: account.code });
  const retried = await done("DocumentService/RetryDocument", { ...own, id: created.json.invoice.id });
  expect(retried.document).toMatchObject({ state: "DOCUMENT_STATE_WAITING", number: "INV-0001" });
  const synced = await until("the document is in the ledger", async () => {
    const { document } = await done("DocumentService/GetDocument", { ...own, id: created.json.invoice.id });
    return document.state === "DOCUMENT_STATE_SYNCED" && document;
  });
  expect(synced).toMatchObject({ number: "INV-0001", status: "DOCUMENT_STATUS_DRAFT" });
  expect(await system.ledgerInvoices(tenant.tenantId)).toEqual([{ number: "INV-0001", status: "DRAFT" }]);
  const invoice = await system.ask("GET", `/v1/invoices/${created.json.invoice.id}`, { key: key.value });
  expect(invoice.json).toMatchObject({ status: "draft", ledger: { sync_status: "synced", sync_error: null } });
  expect((await done("DocumentService/ListDocuments", own)).data ?? []).toEqual([]);
  // What is in the ledger is never sent again.
  const again = await system.askAdmin("DocumentService/RetryDocument", {
    key: owner,
    body: { ...own, id: created.json.invoice.id },
  });
  expect([again.status, again.json.details[0].debug.code]).toEqual([400, "invalid_state"]);

  const { data: log } = await done("AuditService/ListAuditEntries", { organisation: organisation.id, limit: 100 });
  expect(log.map(({ targetKind }: { targetKind: string }) => targetKind)).toEqual([
    "document",
    "account_mapping",
    "api_key",
    "plan",
    "plan",
    "customer",
    "ledger_connection",
    "organisation",
  ]);
  expect(JSON.stringify(log)).not.toContain(tenant.clientSecret);
  expect(JSON.stringify(log)).not.toContain(key.value);
});
