/**
 * Every request of the adapter and every answer of the demo ledger, held against Xero's own OpenAPI file where it lies
 * beside the project.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { createXeroLedger } from "../../src/ledger/xero/create-xero-ledger.ts";
import { aCall, addresses, aLine, contactDraft, invoiceDraft, okOf, startDemoWorld } from "./demo-world.ts";
import { type Exchange, startRecordingProxy } from "./recording-proxy.ts";

const contractFile = fileURLToPath(new URL("../../../shared/xero/xero_accounting.yaml", import.meta.url));

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: object;
}

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: object } } };
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly "application/json": { schema: object } } }>
  >;
}

interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

// The file declares 200 and 400 only; what Xero answers beside them has no schema (facts-ledger section 3.1).
const errorSchema = { $ref: "#/components/schemas/Error" };

test("requests and answers are valid by Xero's own contract", async () => {
  if (!existsSync(contractFile)) {
    console.log("Not checked: Xero's OpenAPI file does not lie beside this project.");
    return;
  }
  const exchanges = await recordEverything();
  const contract: Contract = parse(readFileSync(contractFile, "utf8"));
  const check = createChecker(contract);
  const faults = exchanges.flatMap((exchange) => check(exchange));
  expect(faults).toEqual([]);
  // The check bites: a status that Xero does not have, sent or answered, is found.
  const create = exchanges.find(({ method, url }) => method === "PUT" && url.pathname.endsWith("/Invoices"));
  if (!create) throw new Error("nothing was created");
  expect(check({ ...create, sent: create.sent.replace("AUTHORISED", "AUTHORIZED") })).toHaveLength(1);
  expect(check({ ...create, answer: create.answer.replace("AUTHORISED", "AUTHORIZED") })).toHaveLength(1);
  const seen = new Set(exchanges.map(({ method, url }) => `${method} ${templateOf(url)}`));
  expect([...seen].sort()).toEqual([
    "GET /Accounts",
    "GET /Contacts",
    "GET /Contacts/{ContactID}",
    "GET /Currencies",
    "GET /Invoices",
    "GET /Invoices/{InvoiceID}",
    "GET /Organisation",
    "GET /TaxRates",
    "POST /Invoices/{InvoiceID}",
    "PUT /Contacts",
    "PUT /Invoices",
  ]);
});

async function recordEverything(): Promise<readonly Exchange[]> {
  const world = await startDemoWorld();
  const proxy = await startRecordingProxy(world.demo.url);
  const connection = await world.connect();
  const ledger = createXeroLedger({ ...connection, ...addresses(proxy.url) });
  const call = aCall("operation");

  okOf(await ledger.describe(call));
  for (const kind of ["accounts", "tax_rates", "currencies"] as const)
    okOf(await ledger.listMappingOptions(call, kind));
  const contacts = okOf(await ledger.createContacts(call, [contactDraft(), contactDraft({ name: "<no>" })]));
  const contact = okOf(contacts[0]);
  okOf(await ledger.getContact(call, contact.id));
  okOf(await ledger.findContacts(call, { codes: [contact.code ?? ""] }));
  okOf(await ledger.listContacts(call, { since: "2026-01-01T00:00:00.000Z" }));
  const drafts = [
    invoiceDraft(contact.id, { status: "approved", lines: [aLine("2.5", "10.3330", "25.8300", "OUTPUT2")] }),
    invoiceDraft(contact.id, { currency: "ZMW" }),
    invoiceDraft(contact.id),
  ];
  const invoices = okOf(await ledger.createInvoices(call, drafts));
  const approved = okOf(invoices[0]);
  const draft = okOf(invoices[2]);
  okOf(await ledger.findInvoices(call, { numbers: [approved.number, "A,B"] }));
  await world.admin(`tenants/${connection.tenantId}/invoices/${approved.id}/payments`, { amount: 1 });
  okOf(await ledger.getInvoice(call, approved.id));
  okOf(await ledger.removeInvoice(call, draft.id));
  await world.order({ match: "POST /api.xro/2.0/Invoices", kind: "refuse", messages: ["No."] });
  await ledger.removeInvoice(call, okOf(okOf(await ledger.createInvoices(call, [invoiceDraft(contact.id)]))[0]).id);

  await ledger.close();
  await proxy.stop();
  await world.stop();
  return proxy.exchanges.filter(({ url }) => url.pathname.startsWith("/api.xro/2.0/"));
}

function createChecker(contract: Contract): (exchange: Exchange) => readonly string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(contract, "xero");
  const compiled = new Map<string, ValidateFunction>();
  const judge = (schema: object, value: unknown, what: string): readonly string[] => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"xero#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map((error) => `${what}: ${error.instancePath} ${error.message}`);
  };

  return (exchange) => {
    const template = templateOf(exchange.url);
    const what = `${exchange.method} ${template}`;
    const operation = contract.paths[template]?.[exchange.method.toLowerCase()];
    if (!operation) return [`${what}: Xero has no such operation`];
    const response = operation.responses[exchange.status]?.content?.["application/json"].schema ?? errorSchema;
    const body = operation.requestBody?.content["application/json"].schema;
    return [
      ...parameterFaults(contract, operation, exchange, what),
      ...(body ? judge(body, JSON.parse(exchange.sent), `${what} request`) : []),
      ...judge(response, JSON.parse(exchange.answer), `${what} answer ${exchange.status}`),
    ];
  };
}

function parameterFaults(
  contract: Contract,
  operation: Operation,
  exchange: Exchange,
  what: string,
): readonly string[] {
  const parameters = (operation.parameters ?? []).map((one) =>
    "$ref" in one ? contract.components.parameters[one.$ref.split("/").at(-1) ?? ""] : one,
  );
  const names = (place: string) => parameters.filter((one) => one?.in === place).map((one) => one?.name.toLowerCase());
  const asked = [...exchange.url.searchParams.keys()].filter((name) => !names("query").includes(name.toLowerCase()));
  const headers = ["idempotency-key", "if-modified-since"].filter(
    (name) => name in exchange.headers && !names("header").includes(name),
  );
  const missing = ["xero-tenant-id", "authorization", "accept"].filter((name) => !(name in exchange.headers));
  return [
    ...asked.map((name) => `${what}: Xero knows no query parameter ${name}`),
    ...headers.map((name) => `${what}: Xero takes no header ${name} here`),
    ...missing.map((name) => `${what}: the header ${name} is missing`),
  ];
}

function templateOf(url: URL): string {
  const [, resource = "", id] = url.pathname.slice("/api.xro/2.0".length).split("/");
  const name = { Contacts: "ContactID", Invoices: "InvoiceID" }[resource] ?? "";
  return id === undefined ? `/${resource}` : `/${resource}/{${name}}`;
}
