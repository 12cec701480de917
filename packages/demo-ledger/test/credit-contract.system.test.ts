/**
 * Every answer of the demo ledger about credit notes and allocations, good or bad, held against
 * Xero's own OpenAPI file if it lies next to the project.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { type Exchange, startRecordingProxy } from "../../../test/ledger/xero/recording-proxy.ts";
import { addresses, startDemoLedgerFixture } from "./demo-ledger-fixture.ts";
import { openDemoHttp } from "./request.ts";

const contractFile = fileURLToPath(
  new URL("../../../../shared/xero/xero_accounting.yaml", import.meta.url),
);

interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: { readonly "application/json": { readonly schema: object } } }
    >
  >;
}

test("answers about credit notes and allocations fit Xero's own contract", async () => {
  if (!existsSync(contractFile)) {
    console.log("Not checked: Xero's OpenAPI file does not lie next to this project.");
    return;
  }
  const exchanges = await recordEverything();
  const faultsOf = createChecker(parse(readFileSync(contractFile, "utf8")));
  expect(exchanges.flatMap(faultsOf)).toEqual([]);
  expect(
    [
      ...new Set(
        exchanges.map(({ method, url, status }) => `${status} ${method} ${templateOf(url)}`),
      ),
    ].sort(),
  ).toEqual([
    "200 DELETE /CreditNotes/{CreditNoteID}/Allocations/{AllocationID}",
    "200 GET /CreditNotes",
    "200 GET /CreditNotes/{CreditNoteID}",
    "200 GET /Invoices/{InvoiceID}",
    "200 POST /CreditNotes/{CreditNoteID}",
    "200 PUT /CreditNotes",
    "200 PUT /CreditNotes/{CreditNoteID}/Allocations",
    "400 DELETE /CreditNotes/{CreditNoteID}/Allocations/{AllocationID}",
    "400 POST /CreditNotes/{CreditNoteID}",
    "400 PUT /CreditNotes",
    "400 PUT /CreditNotes/{CreditNoteID}/Allocations",
  ]);
  // The check bites: what Xero does not have, in each kind of answer, is found.
  const spoilt = (status: number, path: string, from: string, to: string) => {
    const exchange = exchanges.find(
      (one) => one.status === status && one.url.pathname.endsWith(path),
    );
    expect(exchange?.answer).toContain(from);
    return exchange ? faultsOf({ ...exchange, answer: exchange.answer.replace(from, to) }) : [];
  };
  expect(spoilt(200, "/CreditNotes", '"Type":"ACCRECCREDIT"', '"Type":"CREDIT"')).toHaveLength(1);
  expect(spoilt(200, "/Allocations", '"Amount":40', '"Amount":"40"')).toHaveLength(1);
});

async function recordEverything(): Promise<readonly Exchange[]> {
  const fixture = await startDemoLedgerFixture();
  const proxy = await startRecordingProxy(fixture.demo.url);
  const http = await openDemoHttp({ ...(await fixture.connect()), ...addresses(proxy.url) });
  const taxed = {
    Description: "Work",
    Quantity: 1,
    UnitAmount: 0.333,
    AccountCode: "200",
    TaxType: "OUTPUT2",
  };
  const invoice = await http.invoice({ Status: "AUTHORISED" });
  proxy.exchanges.length = 0;

  const note = await http.creditNote({ Status: "AUTHORISED" });
  const id = note.CreditNoteID;
  await http.creditNote({ CreditNoteNumber: note.CreditNoteNumber });
  const drafts = [
    {
      Type: "ACCRECCREDIT",
      CreditNoteNumber: crypto.randomUUID(),
      Contact: { ContactID: http.contactId },
      LineItems: [taxed],
    },
    { LineItems: [] },
  ];
  const batch = await http.send("PUT", "CreditNotes?summarizeErrors=false&unitdp=4", {
    CreditNotes: drafts,
  });
  const draftId = batch.body.CreditNotes?.[0]?.CreditNoteID;
  await http.send("POST", `CreditNotes/${draftId}`, {
    Reference: "PO 7",
    LineItems: [taxed, taxed],
  });
  await http.send("POST", `CreditNotes/${draftId}`, { Status: "DELETED" });
  await http.allocate(id, [invoice.InvoiceID, 40]);
  await http.allocate(id, [invoice.InvoiceID, 1]);
  const Allocations = [
    { Invoice: { InvoiceID: invoice.InvoiceID }, Amount: 1, Date: "2026-05-03" },
  ];
  await http.send("PUT", `CreditNotes/${id}/Allocations?summarizeErrors=false`, { Allocations });
  await http.send("POST", `CreditNotes/${id}`, { Status: "VOIDED" });
  await http.readInvoice(invoice.InvoiceID);
  const allocationId = (await http.readCreditNote(id))?.Allocations[0]?.AllocationID;
  await http.send("GET", "CreditNotes");
  await http.send("GET", "CreditNotes?page=1");
  await fixture.order({ match: "DELETE ", kind: "refuse", messages: ["No."] });
  await http.send("DELETE", `CreditNotes/${id}/Allocations/${allocationId}`);
  await http.send("DELETE", `CreditNotes/${id}/Allocations/${allocationId}`);
  await http.send("POST", `CreditNotes/${id}`, { Status: "VOIDED" });

  await proxy.stop();
  await fixture.stop();
  return proxy.exchanges;
}

function createChecker(contract: Contract): (exchange: Exchange) => readonly string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(contract, "xero");
  return ({ method, url, status, answer }) => {
    const what = `${status} ${method} ${templateOf(url)}`;
    const operation = contract.paths[templateOf(url)]?.[method.toLowerCase()];
    // An operation's answers other than 200 have no schema in the contract.
    const own = operation?.responses[status]?.content?.["application/json"].schema;
    const schema = JSON.stringify(own ?? { $ref: "#/components/schemas/Error" }).replaceAll(
      '"#/',
      '"xero#/',
    );
    const validate = ajv.compile(JSON.parse(schema));
    const isKnown = operation ? [] : [`${what}: Xero has no such operation`];
    if (validate(JSON.parse(answer))) return isKnown;
    return [
      ...isKnown,
      ...(validate.errors ?? []).map((error) => `${what}: ${error.instancePath} ${error.message}`),
    ];
  };
}

function templateOf(url: URL): string {
  const [, resource = "", id, part, partId] = url.pathname.slice("/api.xro/2.0".length).split("/");
  const name = resource === "Invoices" ? "InvoiceID" : "CreditNoteID";
  const parts = [
    resource,
    ...(id ? [`{${name}}`] : []),
    ...(part ? [part] : []),
    ...(partId ? ["{AllocationID}"] : []),
  ];
  return `/${parts.join("/")}`;
}
