/**
 * Customers from the ledger's contacts, and failed documents in Setup Mode, over the wire.
 * CUSTOMER-1
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { adminTest as test } from "../fixtures.ts";
import { createLedgerContacts, createTenant } from "../request.ts";

describe("customers", () => {
  test("are imported once, and each contact is validated separately", async ({
    system,
    admin,
    own,
  }) => {
    const { connection } = await admin.done("LedgerConnectionService/GetLedgerConnection", own);
    const tenant = await createTenant(system);
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      name: "Importers",
      timezone: "Pacific/Auckland",
      defaultCurrency: "NZD",
    });
    const here = { organisation: organisation.id };
    expect(connection.tenantId).not.toBe(tenant.tenantId);
    expect(await admin.refused("CustomerService/ListLedgerContacts", here)).toBe(
      "ledger_not_connected",
    );
    await admin.done("LedgerConnectionService/ConnectLedger", { ...here, ...tenant });
    await createLedgerContacts(tenant, [
      { name: "Full", code: "FULL", email: "full@x.example" },
      { name: "Silent", code: "SILENT" },
      { name: "Clash", code: "OTHER", email: "clash@x.example" },
    ]);
    const { data } = await admin.done("CustomerService/ListLedgerContacts", {
      ...here,
      importable: true,
    });
    const idOf = (name: string) =>
      data.find((contact: { name: string }) => contact.name === name).id;
    const contacts = [
      { ledgerContactId: idOf("Full") },
      { ledgerContactId: idOf("Silent") },
      { ledgerContactId: idOf("Clash"), code: "FULL" },
      { ledgerContactId: randomUUID() },
    ];
    const first = await admin.done("CustomerService/ImportCustomers", { ...here, contacts });
    expect(first).toMatchObject({ imported: 1, rejected: 3 });
    expect(first.results.map(({ error }: { error?: { code: string } }) => error?.code)).toEqual([
      undefined,
      "email_missing",
      "customer_code_taken",
      "contact_not_found",
    ]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "customer",
      after: { code: "FULL", name: "Full" },
    });
    const second = await admin.done("CustomerService/ImportCustomers", {
      ...here,
      contacts: contacts.slice(0, 1),
    });
    expect(second).toMatchObject({
      alreadyImported: 1,
      results: [{ customer: first.results[0].customer }],
    });
    const twice = { ...here, contacts: [contacts[0], contacts[0]] };
    expect(await admin.refused("CustomerService/ImportCustomers", twice)).toBe(
      "invalid_parameter contacts.1.ledger_contact_id",
    );
    const left = await admin.done("CustomerService/ListLedgerContacts", {
      ...here,
      importable: true,
      search: "SIL",
    });
    expect(left.data).toMatchObject([{ name: "Silent", status: "LEDGER_CONTACT_STATUS_ACTIVE" }]);
    expect(
      (await admin.done("CustomerService/ListCustomers", { ...here, email: "FULL@x.example" }))
        .data,
    ).toHaveLength(1);
  });

  test("are all imported by one call, with each rejected contact", async ({ system, admin }) => {
    const tenant = await createTenant(system);
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      name: "All of them",
      timezone: "Pacific/Auckland",
      defaultCurrency: "NZD",
    });
    const here = { organisation: organisation.id };
    expect(await admin.refused("CustomerService/ImportAllContacts", here)).toBe(
      "ledger_not_connected",
    );
    await admin.done("LedgerConnectionService/ConnectLedger", { ...here, ...tenant });
    const names = Array.from({ length: 130 }, (_, index) => ({
      name: `Many ${index}`,
      email: `many-${index}@x.example`,
    }));
    await createLedgerContacts(tenant, [
      { name: "Full", code: "FULL", email: "full@x.example" },
      { name: "Silent", code: "SILENT" },
      { name: "Gone", email: "gone@x.example" },
      { name: "Clash", code: "TAKEN", email: "clash@x.example" },
      { name: "Supplier", email: "supplier@x.example" },
      ...names,
    ]);
    await system.pool.query(
      `UPDATE demo_ledger.contacts SET status =
      CASE name WHEN 'Gone' THEN 'ARCHIVED' ELSE status END,
      is_supplier = name = 'Supplier'
        WHERE tenant_id = $1 AND name IN ('Gone', 'Supplier')`,
      [tenant.tenantId],
    );
    const { data } = await admin.done("CustomerService/ListLedgerContacts", {
      ...here,
      search: "Full",
    });
    const first = { ...here, contacts: [{ ledgerContactId: data[0].id, code: "TAKEN" }] };
    expect(await admin.done("CustomerService/ImportCustomers", first)).toMatchObject({
      imported: 1,
    });
    const before = await system.ledgerCalls(tenant.tenantId);
    const found = await admin.done("CustomerService/ImportAllContacts", {
      ...here,
      search: "many 12",
    });
    expect(found).toMatchObject({ imported: 11 });
    const all = await admin.done("CustomerService/ImportAllContacts", here);
    expect(all).toMatchObject({
      imported: 119,
      alreadyImported: 12,
      rejected: 3,
      skippedSuppliers: 1,
    });
    expect(all.hasMore).toBeUndefined();
    const errors = all.results.flatMap(
      ({ error }: { error?: { code: string } }) => error?.code ?? [],
    );
    expect(errors.sort()).toEqual(["contact_inactive", "customer_code_taken", "email_missing"]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "customer",
      after: { status: "active" },
    });
    const again = await admin.done("CustomerService/ImportAllContacts", here);
    expect(again).toMatchObject({ alreadyImported: 131, rejected: 3, skippedSuppliers: 1 });
    const suppliers = { ...here, search: "Supplier" };
    expect((await admin.done("CustomerService/ListLedgerContacts", suppliers)).data).toMatchObject([
      { isSupplier: true },
    ]);
    const wanted = await admin.done("CustomerService/ImportAllContacts", {
      ...suppliers,
      includeSuppliers: true,
    });
    expect(wanted).toMatchObject({ imported: 1 });
    const kept = await admin.done("CustomerService/ImportAllContacts", suppliers);
    expect([kept.alreadyImported, kept.skippedSuppliers]).toEqual([1, undefined]);
    expect((await system.ledgerCalls(tenant.tenantId)).taken).toBe(before.taken + 6);
    const { rows } = await system.pool.query(
      `SELECT count(*)::int AS customers,
      count(DISTINCT ledger_contact_id)::int AS contacts,
      (SELECT count(*)::int FROM audit_log
        WHERE organisation_id = $1 AND target_kind = 'customer') AS entries
        FROM customers WHERE organisation_id = $1`,
      [organisation.id],
    );
    expect(rows).toEqual([{ customers: 132, contacts: 132, entries: 132 }]);
    await system.fault({
      tenantId: tenant.tenantId,
      match: "GET /api.xro/2.0/Contacts",
      kind: "status",
      status: 503,
      times: 9,
    });
    expect(await admin.refused("CustomerService/ImportAllContacts", here)).toBe(
      "ledger_unavailable",
    );
    await system.clearFaults();
  });

  test("can have no new subscription while they are inactive", async ({
    system,
    admin,
    made,
    own,
  }) => {
    const { data } = await admin.done("CustomerService/ListCustomers", { ...own, code: "GLOBEX" });
    const at = { ...own, id: data[0].id };
    const body = { customer_code: "GLOBEX", plan_code: "site" };
    const { customer } = await admin.done("CustomerService/DeactivateCustomer", at);
    expect(customer.status).toBe("CUSTOMER_STATUS_INACTIVE");
    expect(await admin.lastEntry()).toMatchObject({
      before: { status: "active" },
      after: { status: "inactive" },
    });
    const create = (idempotencyKey: string) =>
      system.ask("POST", "/v1/subscriptions", { key: made.apiKey, idempotencyKey, body });
    expect((await create("inactive")).json.error.code).toBe("customer_not_active");
    expect((await admin.done("CustomerService/ActivateCustomer", at)).customer.status).toBe(
      "CUSTOMER_STATUS_ACTIVE",
    );
    expect((await create("active")).status).toBe(201);
    expect(await admin.refused("CustomerService/GetCustomer", { ...own, id: randomUUID() })).toBe(
      "customer_not_found",
    );
    expect(await admin.refused("CustomerService/DeactivateCustomer", { ...own, id: "x" })).toBe(
      "customer_not_found",
    );
  });
});

test("a failed document is not retried in Setup Mode", async ({ system, admin }) => {
  const { organisationId, apiKey } = await system.organisation({}, { revenue_account: null });
  const here = { organisation: organisationId };
  const ids: string[] = [];
  for (const idempotencyKey of ["one", "two", "three"]) {
    const body = { customer_code: "ACME", plan_code: "site" };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: apiKey,
      idempotencyKey,
      body,
    });
    expect(created.json.invoice.status).toBe("not_in_external");
    ids.unshift(created.json.invoice.id);
  }
  const idsOf = ({ data = [] }: { data?: { id: string }[] }) => data.map(({ id }) => id);
  const first = await admin.done("DocumentService/ListDocuments", { ...here, limit: 2 });
  expect([idsOf(first), first.hasMore]).toEqual([ids.slice(0, 2), true]);
  const rest = await admin.done("DocumentService/ListDocuments", {
    ...here,
    startingAfter: ids[1],
  });
  expect([idsOf(rest), rest.hasMore]).toEqual([ids.slice(2), undefined]);
  expect(
    await admin.done("DocumentService/ListDocuments", { ...here, state: "DOCUMENT_STATE_WAITING" }),
  ).toEqual({});
  const synced = { ...here, state: "DOCUMENT_STATE_SYNCED" };
  expect(await admin.refused("DocumentService/ListDocuments", synced)).toBe(
    "invalid_parameter state",
  );
  await admin.done("OrganisationService/SetSetupMode", { id: organisationId, setupMode: true });
  const before = await admin.lastEntry();
  expect(await admin.refused("DocumentService/RetryDocument", { ...here, id: ids[0] })).toBe(
    "invalid_state",
  );
  expect((await admin.lastEntry()).id).toBe(before.id);
  const { document } = await admin.done("DocumentService/GetDocument", { ...here, id: ids[0] });
  expect(document).toMatchObject({
    state: "DOCUMENT_STATE_FAILED",
    reason: "account_invalid",
    attempts: 1,
  });
});
