/**
 * Checks each request of the adapter and each answer of the demo ledger against Xero's OpenAPI file
 * if the file is next to the project.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { parse } from "yaml";
import {
  aCall,
  addresses,
  aLine,
  contactDraft,
  type DemoLedgerFixture,
  invoiceDraft,
  okOf,
  startDemoLedgerFixture,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { openDemoHttp } from "../../../packages/demo-ledger/test/request.ts";
import { writeExactJson } from "../../../src/ledger/port/exact-json.ts";
import type { Ledger, LedgerInvoice } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { amendLines } from "../../../src/ledger/xero/documents/line-amendment.ts";
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";
import { creditNoteDraft } from "../conformance/credit-drafts.ts";
import { type Exchange, startRecordingProxy } from "./recording-proxy.ts";

const contractFile = fileURLToPath(
  new URL("../../../../shared/xero/xero_accounting.yaml", import.meta.url),
);

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly type?: string };
}

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: object } };
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly "application/json": { schema: object } } }>
  >;
}

interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

// The file declares 200 and 400 only. Xero's other answers have no schema.
const errorSchema = { $ref: "#/components/schemas/Error" };

test("requests and answers are valid by Xero's own contract", async () => {
  if (!existsSync(contractFile)) {
    console.log("Not checked: Xero's OpenAPI file is not next to this project.");
    return;
  }
  const exchanges = await recordEverything();
  const contract: Contract = parse(readFileSync(contractFile, "utf8"));
  const check = createChecker(contract);
  const faults = exchanges.flatMap((exchange) => check(exchange));
  expect(faults).toEqual([]);
  // The check bites: a status that Xero does not have, sent or answered, is found.
  const create = exchanges.find(
    ({ method, url }) => method === "PUT" && url.pathname.endsWith("/Invoices"),
  );
  if (!create) throw new Error("nothing was created");
  expect(check({ ...create, sent: create.sent.replace("AUTHORISED", "AUTHORIZED") })).toHaveLength(
    1,
  );
  expect(
    check({ ...create, answer: create.answer.replace("AUTHORISED", "AUTHORIZED") }),
  ).toHaveLength(1);
  // So is an allocation without a day, and a line whose quantity is text.
  const allocate = exchanges.find(({ url }) => url.pathname.endsWith("/Allocations"));
  const amend = exchanges.find(({ sent }) => sent.includes("LineItemID"));
  if (!allocate || !amend) throw new Error("nothing was allocated or amended");
  expect(check({ ...allocate, sent: allocate.sent.replace('"Date"', '"Day"') })).toHaveLength(1);
  expect(
    check({ ...amend, sent: amend.sent.replace('"Quantity":1', '"Quantity":"1"') }),
  ).toHaveLength(1);
  expect(check({ ...amend, sent: bodyWithEveryMember() })).toEqual([]);
  // And so are values of an address that are of another kind than Xero's.
  const lists = exchanges.find(({ url }) => url.searchParams.has("IDs"));
  if (!lists) throw new Error("nothing was asked for by its ids");
  const misasked = new URL(lists.url);
  for (const [name, value] of Object.entries({
    IDs: "none,such",
    page: "first",
    includeArchived: "yes",
  })) {
    misasked.searchParams.set(name, value);
  }
  expect(check({ ...lists, url: misasked }).length).toBeGreaterThanOrEqual(3);
  const used = new Set(exchanges.map(({ method, url }) => `${method} ${templateOf(url)}`));
  expect([...used].sort()).toEqual([
    "GET /Accounts",
    "GET /Contacts",
    "GET /Contacts/{ContactID}",
    "GET /CreditNotes",
    "GET /CreditNotes/{CreditNoteID}",
    "GET /Currencies",
    "GET /Invoices",
    "GET /Invoices/{InvoiceID}",
    "GET /Organisation",
    "GET /TaxRates",
    "POST /Contacts/{ContactID}",
    "POST /Invoices/{InvoiceID}",
    "PUT /Contacts",
    "PUT /CreditNotes",
    "PUT /CreditNotes/{CreditNoteID}/Allocations",
    "PUT /Invoices",
  ]);
});

async function recordEverything(): Promise<readonly Exchange[]> {
  const fixture = await startDemoLedgerFixture();
  const proxy = await startRecordingProxy(fixture.demo.url);
  const connection = await fixture.connect();
  const ledger = createXeroLedger({ ...connection, ...addresses(proxy.url) });
  const call = aCall("operation");

  okOf(await ledger.describe(call));
  for (const kind of ["accounts", "tax_rates", "currencies"] as const)
    okOf(await ledger.listMappingOptions(call, kind));
  const contacts = okOf(
    await ledger.createContacts(call, [contactDraft(), contactDraft({ name: "<no>" })]),
  );
  const contact = okOf(contacts[0]);
  okOf(await ledger.getContact(call, contact.id));
  okOf(await ledger.findContacts(call, { codes: [contact.code ?? ""] }));
  const since = "2026-01-01T00:00:00.000Z";
  okOf(await ledger.listChanges(call, { kind: "contacts", since }));
  const drafts = [
    invoiceDraft(contact.id, {
      status: "approved",
      lines: [aLine("2.5", "10.3330", "25.8300", "OUTPUT2")],
    }),
    invoiceDraft(contact.id, { currency: "ZMW" }),
    invoiceDraft(contact.id),
  ];
  const invoices = okOf(await ledger.createInvoices(call, drafts));
  const approved = okOf(invoices[0]);
  const draft = okOf(invoices[2]);
  okOf(await ledger.findInvoices(call, { numbers: [approved.number, "A,B"] }));
  await fixture.admin(`tenants/${connection.tenantId}/invoices/${approved.id}/payments`, {
    amount: 1,
  });
  okOf(await ledger.getInvoice(call, approved.id));
  await amend(ledger, draft);
  okOf(await ledger.removeInvoice(call, draft.id));
  await credit(ledger, contact.id);
  for (const kind of ["contacts", "credit_notes", "invoices"] as const) {
    const { changes } = okOf(
      await ledger.listChanges(call, { kind, since: "2026-01-01T00:00:00.000Z" }),
    );
    const ids = changes.map(({ id }) => id);
    expect(okOf(await ledger.getMany(call, { kind, ids })).found).toHaveLength(ids.length);
  }
  await doByHand(fixture, { ...connection, ...addresses(proxy.url) });
  await fixture.order({ match: "POST /api.xro/2.0/Invoices", kind: "refuse", messages: ["No."] });
  await ledger.removeInvoice(
    call,
    okOf(okOf(await ledger.createInvoices(call, [invoiceDraft(contact.id)]))[0]).id,
  );

  await ledger.close();
  await proxy.stop();
  await fixture.stop();
  return proxy.exchanges.filter(({ url }) => url.pathname.startsWith("/api.xro/2.0/"));
}

// Requests of other clients: lists without pages, statuses, archiving, and refusals.
async function doByHand(fixture: DemoLedgerFixture, connection: XeroConnection): Promise<void> {
  const demo = await openDemoHttp(connection);
  const [paid, credited, draft] = [
    await demo.invoice({ Status: "AUTHORISED" }),
    await demo.invoice({ Status: "AUTHORISED" }),
    await demo.invoice({ Status: "SUBMITTED" }),
  ];
  await fixture.admin(`tenants/${connection.tenantId}/invoices/${paid.InvoiceID}/payments`, {});
  const note = await demo.creditNote({ Status: "AUTHORISED" });
  await demo.allocate(note.CreditNoteID, [credited.InvoiceID, 40]);
  const { status } = await demo.send("POST", `Invoices/${paid.InvoiceID}`, {
    Invoices: [{ Status: "VOIDED" }],
  });
  expect(status).toBe(400);
  await demo.send("POST", `Invoices/${draft.InvoiceID}`, { Invoices: [{ Status: "DELETED" }] });
  await demo.send("POST", `Contacts/${demo.contactId}`, { Contacts: [{ Name: "<no>" }] });
  await demo.send("POST", `Contacts/${demo.contactId}`, {
    Contacts: [{ ContactStatus: "ARCHIVED" }],
  });
  const other = await openDemoHttp(connection);
  await fixture.admin(`tenants/${connection.tenantId}/contacts/${demo.contactId}/merge`, {
    into: other.contactId,
  });
  for (const path of [
    `Contacts/${demo.contactId}`,
    "Contacts",
    "Contacts?includeArchived=true&page=1",
  ]) {
    await demo.send("GET", path);
  }
  for (const path of [
    "Invoices",
    "Invoices?page=1&Statuses=PAID,DELETED",
    `Invoices/${credited.InvoiceID}`,
  ]) {
    await demo.send("GET", path);
  }
}

// One line changed, one unchanged, one added. Then a repeat that sends nothing, and a refusal.
async function amend(ledger: Ledger, invoice: LedgerInvoice): Promise<void> {
  const more = {
    ...aLine("4", "10.5000", "42.0000"),
    ledgerLineId: invoice.lines[0]?.ledgerLineId ?? "",
  };
  const added = { ...aLine("2.5", "10.3330", "25.8300", "OUTPUT2"), ledgerLineId: null };
  const allowed = ["draft"] as const;
  okOf(await ledger.amendInvoice(aCall("amend"), { id: invoice.id, allowed, changes: [added] }));
  okOf(
    await ledger.amendInvoice(aCall("amend"), { id: invoice.id, allowed, changes: [more, added] }),
  );
  okOf(
    await ledger.amendInvoice(aCall("amend"), { id: invoice.id, allowed, changes: [more, added] }),
  );
  const refused = { id: invoice.id, allowed, changes: [{ ...more, accountCode: "205" }] };
  expect(await ledger.amendInvoice(aCall("amend"), refused)).toMatchObject({ kind: "refused" });
}

// What the demo ledger does not have and a bookkeeper's line in Xero may: all of it is sent back.
function bodyWithEveryMember(): string {
  const id = "8a9d3eb0-e052-4bed-9412-83ee1c9d3e4c";
  const line = {
    ...{
      LineItemID: id,
      Description: "Guitar",
      Quantity: "1.5",
      UnitAmount: "19.9955",
      LineAmount: "26.99",
    },
    ...{
      ItemCode: "G",
      AccountID: id,
      TaxType: "OUTPUT2",
      TaxAmount: "5.40",
      DiscountRate: "10.00",
    },
    Tracking: [{ Name: "Region", Option: "North", TrackingCategoryID: id, TrackingOptionID: id }],
  };
  const named = { ...aLine("4", "10.5000", "42.0000"), ledgerLineId: id };
  const other = {
    ...line,
    LineItemID: id.replace("8", "9"),
    DiscountRate: "0",
    DiscountAmount: "3.00",
  };
  const amended = [
    amendLines([other], [{ ...named, ledgerLineId: null }]),
    amendLines([line], [named]),
  ];
  const lines = amended.flatMap((one) => one?.lines ?? []);
  expect(lines).toHaveLength(3);
  return writeExactJson({ Invoices: [{ InvoiceID: id, LineItems: lines }] });
}

async function credit(ledger: Ledger, contactId: string): Promise<void> {
  const drafts = [creditNoteDraft(contactId), creditNoteDraft(contactId, { currency: "ZMW" })];
  const notes = okOf(await ledger.createCreditNotes(aCall("notes"), drafts));
  const note = okOf(notes[0]);
  expect(notes[1]).toMatchObject({ kind: "refused" });
  const made = okOf(
    await ledger.createInvoices(aCall("due"), [invoiceDraft(contactId, { status: "approved" })]),
  );
  const application = {
    creditNoteId: note.id,
    invoiceId: okOf(made[0]).id,
    amount: "30.5000",
    date: "2026-03-10",
  };
  okOf(await ledger.allocateCredit(aCall("credit"), application));
  expect(await ledger.allocateCredit(aCall("again"), application)).toMatchObject({
    kind: "refused",
  });
  okOf(await ledger.findCreditNotes(aCall(), { numbers: [note.number, "A,B"] }));
  okOf(await ledger.getCreditNote(aCall(), note.id));
  okOf(await ledger.getInvoice(aCall(), application.invoiceId));
}

function createChecker(contract: Contract): (exchange: Exchange) => readonly string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(contract, "xero");
  const compiled = new Map<string, ValidateFunction>();
  const validate = (schema: object, value: unknown, what: string): readonly string[] => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"xero#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      (error) => `${what}: ${error.instancePath} ${error.message}`,
    );
  };

  return (exchange) => {
    const template = templateOf(exchange.url);
    const what = `${exchange.method} ${template}`;
    const operation = contract.paths[template]?.[exchange.method.toLowerCase()];
    if (!operation) return [`${what}: Xero has no such operation`];
    const response =
      operation.responses[exchange.status]?.content?.["application/json"].schema ?? errorSchema;
    const body = operation.requestBody?.content["application/json"].schema;
    return [
      ...parameterFaults(contract, operation, exchange, what),
      ...queryOf(contract, operation, exchange).flatMap(([schema, value, name]) =>
        validate(schema, value, `${what} ${name}`),
      ),
      ...(body ? validate(body, JSON.parse(exchange.sent), `${what} request`) : []),
      ...validate(response, JSON.parse(exchange.answer), `${what} answer ${exchange.status}`),
    ];
  };
}

function parametersOf(
  contract: Contract,
  operation: Operation,
): readonly (Parameter | undefined)[] {
  return (operation.parameters ?? []).map((one) =>
    "$ref" in one ? contract.components.parameters[one.$ref.split("/").at(-1) ?? ""] : one,
  );
}

/** The values of the address, by Xero's types. If-Modified-Since differs from the file. */
function queryOf(
  contract: Contract,
  operation: Operation,
  { url }: Exchange,
): (readonly [object, unknown, string])[] {
  return parametersOf(contract, operation).flatMap((one) => {
    const text = one?.in === "query" ? url.searchParams.get(one.name) : null;
    return one && text !== null
      ? [[one.schema, readValue(one.schema, text), one.name] as const]
      : [];
  });
}

function readValue({ type }: Parameter["schema"], text: string): unknown {
  if (type === "array") return text.split(",");
  if (type === "boolean" && ["true", "false"].includes(text)) return text === "true";
  return (type === "integer" || type === "number") && text !== "" && !Number.isNaN(Number(text))
    ? Number(text)
    : text;
}

function parameterFaults(
  contract: Contract,
  operation: Operation,
  exchange: Exchange,
  what: string,
): readonly string[] {
  const parameters = parametersOf(contract, operation);
  const names = (place: string) =>
    parameters.filter((one) => one?.in === place).map((one) => one?.name.toLowerCase());
  const asked = [...exchange.url.searchParams.keys()].filter(
    (name) => !names("query").includes(name.toLowerCase()),
  );
  const headers = ["idempotency-key", "if-modified-since"].filter(
    (name) => name in exchange.headers && !names("header").includes(name),
  );
  const missing = ["xero-tenant-id", "authorization", "accept"].filter(
    (name) => !(name in exchange.headers),
  );
  return [
    ...asked.map((name) => `${what}: Xero knows no query parameter ${name}`),
    ...headers.map((name) => `${what}: Xero takes no header ${name} here`),
    ...missing.map((name) => `${what}: the header ${name} is missing`),
  ];
}

function templateOf(url: URL): string {
  const [, resource = "", id, part] = url.pathname.slice("/api.xro/2.0".length).split("/");
  const name =
    { Contacts: "ContactID", Invoices: "InvoiceID", CreditNotes: "CreditNoteID" }[resource] ?? "";
  const last = part === undefined ? "" : `/${part}`;
  return `/${resource}${id === undefined ? "" : `/{${name}}`}${last}`;
}
