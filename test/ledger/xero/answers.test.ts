/** The headers of each request to Xero, how answers are unpacked, and what is logged of them. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import packageFile from "../../../package.json" with { type: "json" };
import {
  contactDraft,
  invoiceDraft,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { Ledger } from "../../../src/ledger/port/ledger.ts";
import type { ReportedAnswer } from "../../../src/ledger/port/ledger-kind.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import type { XeroOptions } from "../../../src/ledger/xero/wire/connection.ts";

let server: Server;
let origin: string;
let ledger: Ledger;
let headers: readonly Record<string, unknown>[] = [];
let answer: { readonly status: number; readonly body: string };
const reported: ReportedAnswer[] = [];
const call = { deadlineMs: 20_000, jobKeys: [] };

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === "/connect/token") {
      response.end(JSON.stringify({ access_token: "token", expires_in: 1_800 }));
      return;
    }
    headers = [...headers, request.headers];
    response.writeHead(answer.status, {
      "content-encoding": "gzip",
      "xero-correlation-id": "b0f7-41c2",
    });
    response.end(gzipSync(answer.body));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => ledger.close());
afterAll(() => server.close());

function open(options: XeroOptions = {}): void {
  const credentials = { tenantId: "tenant", clientId: "client", clientSecret: "secret" };
  const addresses = { baseUrl: `${origin}/api.xro/2.0`, identityUrl: `${origin}/connect/token` };
  reported.length = 0;
  ledger = createXeroLedger(
    { ...credentials, ...addresses },
    { ...options, observeAnswer: (one) => reported.push(one) },
  );
}

test("a request names the product and its version and accepts a packed answer", async () => {
  open();
  answer = {
    status: 200,
    body: JSON.stringify({ Currencies: [{ Code: "GBP", Description: "Pound" }] }),
  };
  const expected = [{ code: "GBP", name: "Pound", active: true, usableForRevenue: true }];
  expect(await ledger.listMappingOptions(call, "currencies")).toEqual({
    kind: "ok",
    value: expected,
  });
  const product = `subscription-billing/${packageFile.version}`;
  expect(headers.at(-1)).toMatchObject({ "user-agent": product, "accept-encoding": "gzip" });
  expect(reported).toEqual([]);
});

test("an answer that is too large once it is unpacked is not read", async () => {
  open({ maxResponseBytes: 10_000 });
  answer = { status: 200, body: JSON.stringify({ Currencies: [], text: "x".repeat(20_000) }) };
  const cause = "UND_ERR_RES_EXCEEDED_MAX_SIZE";
  expect(await ledger.listMappingOptions(call, "currencies")).toMatchObject({
    kind: "unavailable",
    cause,
  });
});

test("a bad answer is logged with its correlation id and resource only", async () => {
  open();
  answer = { status: 400, body: JSON.stringify({ Message: "Ada Lovelace is unknown" }) };
  await ledger.getInvoice(call, crypto.randomUUID());
  await ledger.findContacts(call, { codes: ["ADA"] });
  const bad = { method: "GET", status: 400, correlationId: "b0f7-41c2", warnings: [] };
  expect(reported).toEqual([
    { ...bad, path: "/Invoices/{id}" },
    { ...bad, path: "/Contacts/{id}" },
  ]);
});

test("warnings are logged in the ledger's words, those of contacts without", async () => {
  open();
  const Warnings = [
    { Message: "Only AR is read; ada@example.com is not" },
    { Message: "Only AR is read; ada@x is not" },
  ];
  answer = {
    status: 200,
    body: JSON.stringify({ Invoices: [{ Warnings }], Contacts: [{ Warnings }] }),
  };
  await ledger.createInvoices(call, [invoiceDraft(crypto.randomUUID())]);
  await ledger.createContacts(call, [contactDraft()]);
  expect(reported.map(({ path, warnings }) => [path, warnings])).toEqual([
    ["/Invoices", ["Only AR is read; {e-mail} is not", "Only AR is read; {e-mail} is not"]],
    ["/Contacts", ["a warning about a contact", "a warning about a contact"]],
  ]);
});
