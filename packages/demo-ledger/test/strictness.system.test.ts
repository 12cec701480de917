/**
 * The demo ledger refuses and clamps where Xero does: large organisations, locked periods,
 * summaries, number rules.
 */
import { describe, expect } from "vitest";
import { perFile } from "../../../test/support/file-fixture.ts";
import { connectOrganisation } from "./demo-ledger-fixture.ts";
import { demoLedgerTest } from "./fixtures.ts";
import { type DemoHttp, messagesOf, openDemoHttp } from "./request.ts";

const test = demoLedgerTest
  // One record is a high volume here.
  .extend("demoOptions", perFile, { highVolume: 0 })
  .extend("http", perFile, async ({ fixture }) => {
    const http = await openDemoHttp(await fixture.connect());
    await http.invoice();
    await http.creditNote();
    return http;
  });

describe("a list of a large organisation", () => {
  const list = (http: DemoHttp, resource: string, query: Record<string, string>) =>
    http.send("GET", `${resource}?${new URLSearchParams({ page: "1", ...query })}`);

  test.for([
    [51, "HighVolumeException", "CreditNotes", { where: 'CreditNoteNumber=="A"' }],
    [16, "QueryParseException", "Contacts", { where: 'ContactNumber=="A"' }],
    [16, "QueryParseException", "Contacts", { order: "ContactNumber" }],
    [16, "QueryParseException", "Invoices", { where: 'InvoiceNumber=="A" OR InvoiceNumber=="B"' }],
    [16, "QueryParseException", "Invoices", { where: 'Url=="https://billing.example.com"' }],
  ] as const)("is refused with ErrorNumber %i, %s: %s by %o", async ([
    ErrorNumber,
    Type,
    resource,
    query,
  ], { http }) => {
    const { status, body } = await list(http, resource, query);
    expect([status, body]).toMatchObject([400, { ErrorNumber, Type }]);
  });

  test.for([
    ["Contacts", { searchTerm: "A" }],
    ["CreditNotes", { where: 'Type=="ACCRECCREDIT"', order: "UpdatedDateUTC DESC" }],
    ["Invoices", { where: 'Type=="ACCREC"', order: "UpdatedDateUTC ASC" }],
    ["Invoices", { where: 'InvoiceNumber=="A"' }],
    ["Invoices", { InvoiceNumbers: "A,B" }],
  ] as const)("of %s is answered by %o", async ([resource, query], { http }) => {
    expect((await list(http, resource, query)).status).toBe(200);
  });
});

test("a summary of invoices is a page without lines and payments, with all amounts", async ({
  http,
}) => {
  const { InvoiceNumber } = await http.invoice({ Status: "AUTHORISED" });
  const query = new URLSearchParams({ summaryOnly: "true", InvoiceNumbers: InvoiceNumber ?? "" });
  const { body } = await http.send("GET", `Invoices?${query}`);
  expect(body.pagination).toMatchObject({ page: 1, itemCount: 1 });
  expect(body.Invoices).toMatchObject([
    { Total: 100, AmountDue: 100, Status: "AUTHORISED", SentToContact: false },
  ]);
  expect(Object.keys(body.Invoices?.[0] ?? {})).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(LineItems|Payments|HasAttachments)$/)]),
  );
});

test.for([
  ["5000", 1_000],
  ["0", 1],
  ["-3", 1],
  ["many", 100],
] as const)("a page size of %s is read as %i", async ([pageSize, expected], { http }) => {
  const { body } = await http.send("GET", `Invoices?page=1&pageSize=${pageSize}`);
  expect(body.pagination).toMatchObject({ pageSize: expected });
});

test("nothing in a locked period is voided or deleted, and a credit note neither", async ({
  fixture,
  http,
}) => {
  const { clientId, clientSecret, tenantId } = http.connection;
  const lock = (periodLockDate: string | null) =>
    fixture.admin("tenants", { tenantId, name: "Locked", clientId, clientSecret, periodLockDate });
  const [draft, approved] = [await http.invoice(), await http.invoice({ Status: "AUTHORISED" })];
  const note = await http.creditNote({ Status: "AUTHORISED" });
  await lock("2026-12-31");
  for (const [path, Status] of [
    [`Invoices/${draft.InvoiceID}`, "DELETED"],
    [`Invoices/${approved.InvoiceID}`, "VOIDED"],
    [`CreditNotes/${note.CreditNoteID}`, "VOIDED"],
  ]) {
    const sent = await http.send("POST", path ?? "", { Status });
    expect([sent.status, messagesOf(sent).join()]).toEqual([
      400,
      expect.stringMatching(/lock date/),
    ]);
  }
  await lock(null);
  expect(
    (await http.send("POST", `Invoices/${approved.InvoiceID}`, { Status: "VOIDED" })).status,
  ).toBe(200);
});

test("without summarizeErrors a list with one refusal creates the others", async ({ http }) => {
  const numbers = [crypto.randomUUID(), crypto.randomUUID()];
  const line = {
    Description: "Work",
    AccountCode: "200",
    TaxType: "NONE",
    Quantity: 1,
    UnitAmount: 1,
  };
  const drafts = numbers.map((InvoiceNumber, index) => ({
    ...{ Type: "ACCREC", InvoiceNumber, Contact: { ContactID: http.contactId }, LineItems: [line] },
    ...(index === 0 ? {} : { CurrencyCode: "ZMW" }),
  }));
  expect((await http.send("PUT", "Invoices", { Invoices: drafts })).status).toBe(400);
  const { body } = await http.send("GET", `Invoices?page=1&InvoiceNumbers=${numbers.join()}`);
  expect(body.Invoices?.map(({ InvoiceNumber }) => InvoiceNumber)).toEqual(numbers.slice(0, 1));
});

test("lengths are counted in code points", async ({ http }) => {
  const name = (length: number) => `${crypto.randomUUID()}${"😀".repeat(length - 36)}`;
  const put = (Name: string) => http.send("PUT", "Contacts", { Contacts: [{ Name }] });
  expect((await put(name(255))).status).toBe(200);
  expect((await put(name(256))).status).toBe(400);
  const line = { AccountCode: "200", TaxType: "NONE", Quantity: 1, UnitAmount: 1 };
  const describe = (length: number) =>
    http.invoice({ LineItems: [{ ...line, Description: "😀".repeat(length) }] });
  expect((await describe(4_000)).InvoiceID).toBeDefined();
  expect((await describe(4_001)).InvoiceID).toBeUndefined();
});

test("folded numbers are stored trimmed and are unique in any case", async ({ fixture, http }) => {
  const own = await openDemoHttp(
    await connectOrganisation(fixture.demo.url, { foldsNumbers: true }),
  );
  const InvoiceNumber = `inv ${crypto.randomUUID()}`;
  expect(await own.invoice({ InvoiceNumber: `${InvoiceNumber} ` })).toMatchObject({
    InvoiceNumber,
  });
  expect(await own.invoice({ InvoiceNumber: InvoiceNumber.toUpperCase() })).toMatchObject({
    ErrorNumber: 10,
  });
  expect(await http.invoice({ InvoiceNumber })).toMatchObject({ InvoiceNumber });
  expect(await http.invoice({ InvoiceNumber: InvoiceNumber.toUpperCase() })).toMatchObject({
    InvoiceNumber: InvoiceNumber.toUpperCase(),
  });
});

test("an invoice with money on it is sent without a new time of change", async ({
  fixture,
  http,
}) => {
  const { tenantId } = http.connection;
  const one = await http.invoice({ Status: "AUTHORISED" });
  await fixture.admin(`tenants/${tenantId}/invoices/${one.InvoiceID}/payments`, { amount: 10 });
  const before = (await http.readInvoice(one.InvoiceID)) as object;
  expect(
    (await fixture.admin(`tenants/${tenantId}/invoices/${one.InvoiceID}/send`, {})).status,
  ).toBe(200);
  expect(await http.readInvoice(one.InvoiceID)).toEqual({ ...before, SentToContact: true });
});
