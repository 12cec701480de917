/**
 * An operator's day over the wire: from nothing to the first invoice with admin calls and one
 * public call, and a failed document that is found, corrected and retried. ADMIN-6
 */
import { expect } from "vitest";
import { until } from "../../support/system.ts";
import { adminTest as test } from "./fixtures.ts";
import { createLedgerContacts, createTenant } from "./request.ts";

test("a new organisation issues its first invoice in one day", async ({ system, admin }) => {
  const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
    name: "First Ltd",
    timezone: "Pacific/Auckland",
    defaultCurrency: "NZD",
  });
  expect(organisation).toMatchObject({
    name: "First Ltd",
    livemode: true,
    numberPrefix: "SUB-",
    dueDays: 14,
  });
  const own = { organisation: organisation.id };
  const tenant = await createTenant(system);
  await createLedgerContacts(tenant, [
    { name: "First Customer", code: "FIRST", email: "pay@first.example" },
  ]);
  const connected = await admin.done("LedgerConnectionService/ConnectLedger", {
    ...own,
    ...tenant,
  });
  expect(connected.ledger).toMatchObject({ name: "Own ledger", currency: "NZD" });
  expect(JSON.stringify(connected)).not.toContain(tenant.clientSecret);
  expect(await admin.done("LedgerConnectionService/CheckLedgerConnection", own)).toMatchObject({
    ok: true,
  });

  const contacts = await admin.done("CustomerService/ListLedgerContacts", {
    ...own,
    importable: true,
  });
  expect(contacts.data).toHaveLength(1);
  const imported = await admin.done("CustomerService/ImportCustomers", {
    ...own,
    contacts: [{ ledgerContactId: contacts.data[0].id }],
  });
  expect(imported).toMatchObject({
    imported: 1,
    results: [{ customer: { code: "FIRST", email: "pay@first.example" } }],
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
  expect(plan).toMatchObject({
    status: "CATALOGUE_STATUS_DRAFT",
    price: "12.5000",
    currency: "NZD",
  });
  await admin.done("PlanService/SetPlanStatus", {
    ...own,
    id: plan.id,
    status: "CATALOGUE_STATUS_ACTIVE",
  });
  const key = await admin.done("ApiKeyService/CreateApiKey", {
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
  expect(created.json.invoice).toMatchObject({
    status: "not_in_external",
    ledger: { sync_status: "failed" },
  });

  const failed = await admin.done("DocumentService/ListDocuments", {
    ...own,
    state: "DOCUMENT_STATE_FAILED",
  });
  expect(failed.data).toEqual([
    expect.objectContaining({
      id: created.json.invoice.id,
      number: "SUB-0001",
      reason: "account_invalid",
      message: "No revenue account is mapped for a line of this invoice.",
    }),
  ]);
  const options = await admin.done("LedgerConnectionService/ListMappingOptions", {
    ...own,
    kind: "MAPPING_KIND_ACCOUNTS",
  });
  const account = options.data.find(
    (option: { usableForRevenue?: boolean }) => option.usableForRevenue === true,
  );
  await admin.done("AccountMappingService/SetAccountMapping", {
    ...own,
    revenueAccount: account.code,
  });
  const retried = await admin.done("DocumentService/RetryDocument", {
    ...own,
    id: created.json.invoice.id,
  });
  expect(retried.document.number).toBe("SUB-0001");
  // It may be there by the time that it is shown.
  expect(retried.document.state).toMatch(/^DOCUMENT_STATE_(WAITING|SYNCED)$/);
  const synced = await until("the document is in the ledger", async () => {
    const { document } = await admin.done("DocumentService/GetDocument", {
      ...own,
      id: created.json.invoice.id,
    });
    return document.state === "DOCUMENT_STATE_SYNCED" && document;
  });
  expect(synced).toMatchObject({ number: "SUB-0001", status: "DOCUMENT_STATUS_DRAFT" });
  expect(await system.ledgerInvoices(tenant.tenantId)).toEqual([
    { number: "SUB-0001", status: "DRAFT" },
  ]);
  const invoice = await system.ask("GET", `/v1/invoices/${created.json.invoice.id}`, {
    key: key.value,
  });
  expect(invoice.json).toMatchObject({
    status: "draft",
    ledger: { sync_status: "synced", sync_error: null },
  });
  expect((await admin.done("DocumentService/ListDocuments", own)).data ?? []).toEqual([]);
  // What is in the ledger is never sent again.
  const again = { ...own, id: created.json.invoice.id };
  expect(await admin.refused("DocumentService/RetryDocument", again)).toBe("invalid_state");

  const { data: log } = await admin.done("AuditService/ListAuditEntries", {
    organisation: organisation.id,
    limit: 100,
  });
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
