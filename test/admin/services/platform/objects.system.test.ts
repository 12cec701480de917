/** What operators see of an organisation's platform, over the wire. ADMIN-11 */
import { expect } from "vitest";
import type { Json } from "../../../scenario/units-builder.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { publishAll } from "../../../support/published-events.ts";
import { tables } from "../../../support/rows.ts";
import { addEndpoint } from "../../../support/webhook-builder.ts";
import { documentsTest as base, whole } from "../documents/documents-fixture.ts";

/** An organisation with two subscriptions, invoices, a credit note and events. */
const test = base.extend("seen", perFile, async ({ system, builder, sandbox }) => {
  const made = await sandbox({ first_invoice_status: "approved" });
  // Events are published for organisations with an endpoint.
  await addEndpoint(system.pool, made.organisationId, [], "disabled");
  const april = { start_date: "2026-04-01", plan_code: "bands" };
  const head = await builder.subscribe(made, { ...april, label: "Head office 50%" });
  const branch = await builder.subscribe(made, {
    ...april,
    customer_code: "GLOBEX",
    label: "Branch",
  });
  const { change } = await builder.changed(made, head.id, { units: 11, ...whole });
  await builder.posted(made);
  await publishAll(system.pool, made.organisationId);
  return { made, own: { organisation: made.organisationId }, head, branch, change };
});

const idsOf = (page: Json): string[] => (page.data ?? []).map(({ id }: Json) => id);

test("subscriptions are found by customer, code, label and number", async ({ admin, seen }) => {
  const { own, head, branch } = seen;
  const find = async (search: object) =>
    idsOf(await admin.done("SubscriptionService/ListSubscriptions", { ...own, ...search }));
  expect(await find({})).toEqual([branch.id, head.id]);
  expect(await find({ limit: 1 })).toEqual([branch.id]);
  expect(await find({ startingAfter: branch.id })).toEqual([head.id]);
  expect(await find({ customer: head.customer })).toEqual([head.id]);
  expect(await find({ customerCode: "GLOBEX" })).toEqual([branch.id]);
  expect(await find({ customerCode: "NONE" })).toEqual([]);
  expect(await find({ label: "OFFICE" })).toEqual([head.id]);
  // The text is no pattern.
  expect(await find({ label: "0%" })).toEqual([head.id]);
  expect(await find({ label: "%" })).toEqual([head.id]);
  expect(await find({ label: "_" })).toEqual([]);
  expect(await find({ number: branch.invoice.number })).toEqual([branch.id]);
  expect(await find({ number: "CN-0001" })).toEqual([head.id]);
  expect(await find({ number: "INV-9999" })).toEqual([]);
  expect(await find({ status: "SUBSCRIPTION_STATUS_ACTIVE" })).toHaveLength(2);
  expect(await find({ status: "SUBSCRIPTION_STATUS_ENDED" })).toEqual([]);
  expect(await find({ label: "office", customerCode: "GLOBEX" })).toEqual([]);
});

test("subscriptions and documents are found by day, and subscriptions by plan", async ({
  admin,
  seen,
}) => {
  const { own, head, branch, change } = seen;
  const find = async (method: string, search: object) =>
    idsOf(await admin.done(method, { ...own, ...search }));
  const subscriptions = (search: object) => find("SubscriptionService/ListSubscriptions", search);
  const both = [branch.id, head.id];
  expect(await subscriptions({ renewalFrom: "2026-05-01", renewalTo: "2026-05-01" })).toEqual(both);
  expect(await subscriptions({ renewalFrom: "2026-05-02" })).toEqual([]);
  expect(await subscriptions({ renewalTo: "2026-04-30" })).toEqual([]);
  expect(await subscriptions({ plan: head.plan })).toEqual(both);
  expect(await subscriptions({ plan: head.id })).toEqual([]);
  const invoices = (search: object) => find("InvoiceService/ListInvoices", search);
  const { issue_date: issued, due_date: due } = head.invoice;
  const all = await invoices({});
  expect(await invoices({ issuedFrom: issued, issuedTo: issued })).toEqual(all);
  expect(await invoices({ dueFrom: due, dueTo: due, limit: 1 })).toEqual(all.slice(0, 1));
  expect(await invoices({ issuedFrom: "2030-01-01" })).toEqual([]);
  expect(await invoices({ dueTo: "2020-01-01" })).toEqual([]);
  expect(await invoices({ renewalFrom: "2020-01-01" })).toEqual([]);
  const notes = (search: object) => find("CreditNoteService/ListCreditNotes", search);
  const day = "2026-04-16";
  expect(await notes({ issuedFrom: day, issuedTo: day })).toEqual([change.credit_note]);
  expect(await notes({ issuedFrom: "2026-04-17" })).toEqual([]);
  expect(await notes({ issuedTo: "2026-04-15" })).toEqual([]);
  const wrong = { ...own, dueFrom: "2026-02-30" };
  expect(await admin.refused("InvoiceService/ListInvoices", wrong)).toBe(
    "invalid_parameter due_from",
  );
});

test("customers are found by a part of name, company, code or e-mail address", async ({
  admin,
  seen,
}) => {
  const search = async (text: string) =>
    (await admin.done("CustomerService/ListCustomers", { ...seen.own, search: text })).data ?? [];
  const codes = async (text: string) => (await search(text)).map(({ code }: Json) => code);
  expect(await codes("acm")).toEqual(["ACME"]);
  expect(await codes("GLOB")).toEqual(["GLOBEX"]);
  const [acme] = await search("ACME");
  expect(await codes(acme.name.slice(0, 4).toUpperCase())).toContain("ACME");
  expect(await codes("CME")).toEqual(["ACME"]);
  expect(await codes(acme.email.slice(1).toUpperCase())).toEqual(["ACME"]);
  // The text is no pattern.
  for (const text of ["%", "_cme"]) expect(await codes(text)).toEqual([]);
});

test("documents are found by number, customer and subscription, with the ledger's page", async ({
  system,
  admin,
  seen,
}) => {
  const { own, head, branch, change } = seen;
  const invoices = async (search: object) =>
    idsOf(await admin.done("InvoiceService/ListInvoices", { ...own, ...search }));
  const { invoice } = head;
  expect(await invoices({})).toEqual([branch.invoice.id, invoice.id]);
  expect(await invoices({ number: invoice.number })).toEqual([invoice.id]);
  expect(await invoices({ subscription: branch.id })).toEqual([branch.invoice.id]);
  expect(await invoices({ customerCode: "GLOBEX" })).toEqual([branch.invoice.id]);
  expect(await invoices({ status: ["DOCUMENT_STATUS_DRAFT"] })).toEqual([]);
  const shown = await admin.done("InvoiceService/GetInvoice", { ...own, id: invoice.id });
  expect(shown.ledgerUrl).toBe(`${system.demoUrl}/#${shown.invoice.ledger.invoiceId}`);
  const notes = async (search: object) =>
    idsOf(await admin.done("CreditNoteService/ListCreditNotes", { ...own, ...search }));
  expect(await notes({ number: "CN-0001" })).toEqual([change.credit_note]);
  expect(await notes({ customer: branch.customer })).toEqual([]);
  const note = await admin.done("CreditNoteService/GetCreditNote", {
    ...own,
    id: change.credit_note,
  });
  expect(note.ledgerUrl).toBe(`${system.demoUrl}/#${note.creditNote.ledger.creditNoteId}`);
});

test("an object is as the platform sees it", async ({ system, admin, seen }) => {
  const { made, own, head } = seen;
  const get = async (path: string) =>
    (await system.ask("GET", path, { key: made.apiKey })).json as Json;
  const platform = await get(`/v1/subscriptions/${head.id}`);
  const { subscription } = await admin.done("SubscriptionService/GetSubscription", {
    ...own,
    id: head.id,
  });
  expect([subscription.units, subscription.renewalValue, subscription.label]).toEqual([
    platform.units,
    platform.renewal_value,
    platform.label,
  ]);
  const mine = await get(`/v1/invoices/${head.invoice.id}`);
  const { invoice } = await admin.done("InvoiceService/GetInvoice", {
    ...own,
    id: head.invoice.id,
  });
  expect([invoice.number, invoice.total, invoice.lines.length]).toEqual([
    mine.number,
    mine.total,
    mine.lines.length,
  ]);
});

test("events are found by type, object and time, with the bytes that are sent", async ({
  system,
  admin,
  seen,
}) => {
  const { own, head } = seen;
  const list = async (search: object): Promise<readonly Json[]> =>
    (await admin.done("EventService/ListEvents", { ...own, limit: 100, ...search })).data ?? [];
  const all = await list({});
  expect(all.length).toBeGreaterThan(4);
  const created = await list({ type: "subscription.created" });
  expect(created).toHaveLength(2);
  const ofHead = await list({ object: head.id });
  expect(new Set(ofHead.map(({ objectId }) => objectId))).toEqual(new Set([head.id]));
  const [first] = ofHead;
  expect(await list({ since: first?.created })).toContainEqual(first);
  expect(await list({ until: "2020-01-01T00:00:00Z" })).toEqual([]);
  const { event, body } = await admin.done("EventService/GetEvent", { ...own, id: first?.id });
  expect(event).toEqual(first);
  const sent = await tables(system.pool).event.findMany({ where: { id: first.id } });
  expect(sent.map((one) => one.body)).toEqual([body]);
  expect(await admin.refused("EventService/ListEvents", { ...own, since: "today" })).toBe(
    "invalid_parameter since",
  );
});

test("nothing of another organisation is found", async ({ admin, sandbox, seen, system }) => {
  const { head, change } = seen;
  const rows = await tables(system.pool).event.findMany({ where: { objectId: head.id }, take: 1 });
  const other = { organisation: (await sandbox()).organisationId };
  for (const [method, id, code] of [
    ["SubscriptionService/GetSubscription", head.id, "subscription_not_found"],
    ["InvoiceService/GetInvoice", head.invoice.id, "invoice_not_found"],
    ["CreditNoteService/GetCreditNote", change.credit_note, "credit_note_not_found"],
    ["EventService/GetEvent", rows[0]?.id, "event_not_found"],
  ] as const) {
    expect(await admin.refused(method, { ...other, id })).toBe(code);
    expect(await admin.refused(method, { ...other, id: "none" })).toBe(code);
  }
  for (const [method, search] of [
    ["SubscriptionService/ListSubscriptions", { number: head.invoice.number, customerCode: "X" }],
    ["InvoiceService/ListInvoices", { subscription: head.id }],
    ["CreditNoteService/ListCreditNotes", { subscription: head.id }],
    ["EventService/ListEvents", { object: head.id }],
  ] as const)
    expect((await admin.done(method, { ...other, ...search })).data ?? []).toEqual([]);
});

test("organisations are found by their name, in any case and without wildcards", async ({
  admin,
}) => {
  const settings = { timezone: "UTC", defaultCurrency: "EUR" };
  const create = async (name: string) =>
    (await admin.done("OrganisationService/CreateOrganisation", { ...settings, name })).organisation
      .id;
  const [first, second] = [await create("Half 50% Ltd"), await create("half 50% ltd")];
  await create("Half 500 Ltd");
  const find = async (name: string) =>
    idsOf(await admin.done("OrganisationService/ListOrganisations", { name }));
  expect(await find("HALF 50% LTD")).toEqual([second, first]);
  expect(await find("Half%")).toEqual([]);
  const since = new Date(Date.now() + 60_000).toISOString();
  expect((await admin.done("AuditService/ListAuditEntries", { since })).data ?? []).toEqual([]);
  const [entry] = (await admin.done("AuditService/ListAuditEntries", { target: first })).data;
  const sinceEntry = { target: first, since: entry.created };
  expect((await admin.done("AuditService/ListAuditEntries", sinceEntry)).data).toEqual([entry]);
});
