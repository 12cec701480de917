/**
 * The demo ledger's own rules over plain HTTP: statuses, edits, payments, paging, error
 * bodies.
 */
import { describe, expect } from "vitest";
import { perFile } from "../../../test/support/file-fixture.ts";
import { connectOrganisation, type DemoLedgerFixture } from "./demo-ledger-fixture.ts";
import { demoLedgerTest } from "./fixtures.ts";
import { type DemoHttp, messagesOf } from "./request.ts";

const test = demoLedgerTest
  .extend("send", perFile, ({ http }) => http.send)
  .extend("invoice", perFile, ({ http }) => http.invoice);

const wrongStatus = "Invoice not of valid status for modification";

describe("statuses", () => {
  test.for([
    ["DRAFT", "SUBMITTED"],
    ["DRAFT", "AUTHORISED"],
    ["DRAFT", "DELETED"],
    ["SUBMITTED", "AUTHORISED"],
    ["SUBMITTED", "DELETED"],
    ["AUTHORISED", "VOIDED"],
  ] as const)("%s may become %s", async ([from, to], { send, invoice }) => {
    const { InvoiceID } = await invoice({ Status: from });
    const changed = await send("POST", `Invoices/${InvoiceID}`, { Status: to });
    expect(changed.status).toBe(200);
    expect((await send("GET", `Invoices/${InvoiceID}`)).body.Invoices).toMatchObject([
      { Status: to },
    ]);
  });

  test.for([
    ["DRAFT", "VOIDED"],
    ["DRAFT", "PAID"],
    ["SUBMITTED", "VOIDED"],
    ["SUBMITTED", "DRAFT"],
    ["AUTHORISED", "DELETED"],
    ["AUTHORISED", "DRAFT"],
  ] as const)("%s cannot become %s", async ([from, to], { send, invoice }) => {
    const { InvoiceID } = await invoice({ Status: from });
    const changed = await send("POST", `Invoices/${InvoiceID}`, { Status: to });
    expect([changed.status, messagesOf(changed)]).toEqual([400, [wrongStatus]]);
  });

  test.for(["DELETED", "VOIDED"])("an invoice that is %s cannot be changed", async (status, {
    send,
    invoice,
  }) => {
    const { InvoiceID } = await invoice({ Status: status === "VOIDED" ? "AUTHORISED" : "DRAFT" });
    await send("POST", `Invoices/${InvoiceID}`, { Status: status });
    const changed = await send("POST", `Invoices/${InvoiceID}`, { Reference: "late" });
    expect([changed.status, messagesOf(changed)]).toEqual([400, [wrongStatus]]);
  });

  test.for(["PAID", "VOIDED", "DELETED"])("an invoice cannot be created as %s", async (status, {
    invoice,
  }) => {
    expect(await invoice({ Status: status })).toMatchObject({
      ErrorNumber: 10,
      Type: "ValidationException",
    });
  });

  test("a due date is needed to approve", async ({ send, invoice }) => {
    const { InvoiceID } = await invoice({ DueDate: undefined });
    const changed = await send("POST", `Invoices/${InvoiceID}`, { Status: "AUTHORISED" });
    expect([changed.status, messagesOf(changed)]).toEqual([400, ["Due Date cannot be empty."]]);
  });
});

describe("payments", () => {
  const pay = (fixture: DemoLedgerFixture, http: DemoHttp, id: string, amount?: number) =>
    fixture.admin(`tenants/${http.connection.tenantId}/invoices/${id}/payments`, {
      amount,
      date: "2026-05-09",
    });

  test("a payment of the whole amount due makes an approved invoice PAID", async ({
    fixture,
    http,
    send,
    invoice,
  }) => {
    const { InvoiceID } = await invoice({ Status: "AUTHORISED" });
    expect(await (await pay(fixture, http, InvoiceID ?? "")).json()).toMatchObject({
      status: "PAID",
      amountDue: "0.00",
    });
    expect((await send("GET", `Invoices/${InvoiceID}`)).body.Invoices).toMatchObject([
      { Status: "PAID", AmountDue: 0, AmountPaid: 100, Payments: [{ Amount: 100 }] },
    ]);
  });

  test("money on an invoice forbids voiding and changing amounts, not the reference", async ({
    fixture,
    http,
    send,
    invoice,
  }) => {
    const { InvoiceID, LineItems } = await invoice({ Status: "AUTHORISED" });
    await pay(fixture, http, InvoiceID ?? "", 30);
    const voided = await send("POST", `Invoices/${InvoiceID}`, { Status: "VOIDED" });
    expect(messagesOf(voided)).toEqual([
      "The status VOIDED cannot be applied to the invoice because it has payments or credit " +
        "notes allocated to it.",
    ]);
    const [line] = LineItems ?? [];
    const dearer = { LineItems: [{ LineItemID: line?.LineItemID, UnitAmount: 60 }] };
    expect(messagesOf(await send("POST", `Invoices/${InvoiceID}`, dearer))).toEqual([
      "This document cannot be edited as it has a payment or credit note allocated to it.",
    ]);
    const renamed = await send("POST", `Invoices/${InvoiceID}`, { Reference: "new" });
    expect(renamed.body.Invoices).toMatchObject([
      { Reference: "new", AmountPaid: 30, AmountDue: 70 },
    ]);
  });

  test("a payment above the amount due, or on a draft, is refused", async ({
    fixture,
    http,
    invoice,
  }) => {
    const approved = await invoice({ Status: "AUTHORISED" });
    const draft = await invoice();
    expect((await pay(fixture, http, approved.InvoiceID ?? "", 100.01)).status).toBe(400);
    expect((await pay(fixture, http, draft.InvoiceID ?? "")).status).toBe(400);
  });
});

describe("lists", () => {
  test("have no lines without page, and pagination with it", async ({ send, invoice }) => {
    const { InvoiceID } = await invoice();
    const bare = await send("GET", `Invoices?IDs=${InvoiceID}`);
    expect(bare.body.Invoices).toMatchObject([{ LineItems: [] }]);
    expect(bare.body).not.toHaveProperty("pagination");
    const paged = await send("GET", "Invoices?page=2&pageSize=2&order=UpdatedDateUTC%20DESC");
    expect(paged.body.pagination).toMatchObject({ page: 2, pageSize: 2 });
    expect(paged.body.Invoices).toHaveLength(2);
  });

  test("are filtered by status, contact, where and change", async ({ http, send, invoice }) => {
    const { InvoiceID, InvoiceNumber } = await invoice({
      Status: "SUBMITTED",
      InvoiceNumber: `say "hi" ${crypto.randomUUID()}`,
    });
    const where = encodeURIComponent(`InvoiceNumber=="${InvoiceNumber?.replaceAll('"', '\\"')}"`);
    const ids = async (query: string, headers = {}) =>
      (await send("GET", `Invoices?${query}`, undefined, headers)).body.Invoices?.map(
        (one) => one.InvoiceID,
      );
    expect(await ids(`where=${where}`)).toEqual([InvoiceID]);
    expect(
      await ids(
        `InvoiceNumbers=${InvoiceNumber}&Statuses=SUBMITTED,DRAFT&ContactIDs=${http.contactId}`,
      ),
    ).toEqual([InvoiceID]);
    expect(await ids(`InvoiceNumbers=${InvoiceNumber}&Statuses=PAID`)).toEqual([]);
    const later = { "if-modified-since": new Date(Date.now() + 60_000).toISOString().slice(0, 19) };
    expect(await ids("page=1", later)).toEqual([]);
  });

  test("a filter that cannot be read is refused, not ignored", async ({ send }) => {
    const { status } = await send(
      "GET",
      `Invoices?where=${encodeURIComponent('1==1; drop table "x"')}`,
    );
    expect(status).toBe(400);
  });

  test("archived contacts are listed only on request, and take no new invoice", async ({
    send,
  }) => {
    const made = await send("PUT", "Contacts", {
      Contacts: [{ Name: "Soon gone", ContactNumber: "G1" }],
    });
    const [contact] = made.body.Contacts ?? [];
    const id = contact?.ContactID ?? "";
    const archived = await send("POST", `Contacts/${id}`, {
      ContactID: id,
      ContactStatus: "ARCHIVED",
    });
    expect(archived.body.Contacts).toMatchObject([
      { ContactStatus: "ARCHIVED", Name: "Soon gone" },
    ]);
    expect((await send("GET", "Contacts?searchTerm=G1")).body.Contacts).toEqual([]);
    const all = await send("GET", "Contacts?searchTerm=G1&includeArchived=true");
    expect(all.body.Contacts).toHaveLength(1);
    const refused = await send("PUT", "Invoices?summarizeErrors=false", {
      Invoices: [
        {
          ...{ Type: "ACCREC", InvoiceNumber: crypto.randomUUID() },
          ...{ Contact: { ContactID: id }, LineItems: [{ Description: "x" }] },
        },
      ],
    });
    expect(refused.body.Invoices).toMatchObject([
      { HasErrors: true, ValidationErrors: [{ Message: expect.stringContaining("archived") }] },
    ]);
    const renamed = await send("PUT", "Contacts", { Contacts: [{ Name: "Soon gone" }] });
    expect(renamed.status).toBe(200);
  });
});

describe("errors", () => {
  test("summarised errors answer 400 with the refused, and the others are created", async ({
    http,
    send,
  }) => {
    const numbers = [`S-${crypto.randomUUID()}`, `S-${crypto.randomUUID()}`];
    const drafts = numbers.map((InvoiceNumber, index) => ({
      Type: "ACCREC",
      InvoiceNumber,
      Contact: { ContactID: http.contactId },
      CurrencyCode: index === 0 ? "GBP" : "ZMW",
      LineItems: [{ Description: "x" }],
    }));
    const refused = await send("PUT", "Invoices?summarizeErrors=true", { Invoices: drafts });
    expect([refused.status, messagesOf(refused)]).toEqual([
      400,
      ["Organisation is not subscribed to currency ZMW"],
    ]);
    const { body } = await send("GET", `Invoices?InvoiceNumbers=${numbers.join(",")}`);
    expect(body.Invoices?.map(({ InvoiceNumber }) => InvoiceNumber)).toEqual(numbers.slice(0, 1));
  });

  test("a missing token is 401, an unknown path 404, and every answer has limits", async ({
    http,
    send,
  }) => {
    expect((await fetch(`${http.connection.baseUrl}/Invoices`)).status).toBe(401);
    const unknown = await send("GET", `Invoices/${crypto.randomUUID()}`);
    expect([unknown.status, unknown.headers.get("content-type")]).toEqual([
      404,
      "text/plain; charset=utf-8",
    ]);
    expect(Number(unknown.headers.get("x-minlimit-remaining"))).toBeGreaterThan(0);
  });

  test.for([
    ["not json", 14],
    ["{}", 17],
    ['{"Invoices":[]}', 17],
  ] as const)("a body like %s is refused as a whole", async ([body, errorNumber], { http }) => {
    const answer = await fetch(`${http.connection.baseUrl}/Invoices`, {
      method: "PUT",
      headers: { authorization: `Bearer ${http.token}` },
      body,
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { ErrorNumber: errorNumber }]);
  });

  test("an idempotency key replays its answer byte for byte and refuses another body", async ({
    send,
  }) => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const contact = { Contacts: [{ Name: `Keyed ${headers["idempotency-key"]}` }] };
    const first = await send("PUT", "Contacts", contact, headers);
    expect((await send("PUT", "Contacts", contact, headers)).body).toEqual(first.body);
    const other = await send("PUT", "Contacts", { Contacts: [{ Name: "Another" }] }, headers);
    expect([other.status, `${other.body.Message}`]).toEqual([
      400,
      expect.stringContaining("different request"),
    ]);
  });

  test("an organisation is created once, however often it is requested", async ({
    fixture,
    http,
  }) => {
    const changes = {
      clientId: http.connection.clientId,
      clientSecret: http.connection.clientSecret,
      name: "Test Ltd",
    };
    const again = await connectOrganisation(fixture.demo.url, changes);
    expect(again.tenantId).toBe(http.connection.tenantId);
  });
});
