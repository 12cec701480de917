/**
 * The page of the demo ledger's documents as a person uses it: headless Chromium on the real page,
 * with PostgreSQL behind it.
 */
import { get } from "node:http";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningChromium, startChromium } from "../../../test/support/chromium.ts";
import {
  connectOrganisation,
  type DemoLedgerFixture,
  startDemoLedgerFixture,
} from "./demo-ledger-fixture.ts";
import { type DemoHttp, openDemoHttp } from "./request.ts";

let fixture: DemoLedgerFixture;
let chromium: RunningChromium;
let http: DemoHttp;
let page: Page;
const problems: string[] = [];

const hostile = `<img src=x onerror="document.title='hit'">"&amp;`;

beforeAll(async () => {
  [fixture, chromium] = await Promise.all([startDemoLedgerFixture(), startChromium()]);
  http = await openDemoHttp(await fixture.connect());
  page = await chromium.browser.newPage();
  // By default half a minute, which a browser needs where the machine does much else.
  page.setDefaultTimeout(100_000);
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(fixture.demo.url);
});
afterAll(async () => {
  await chromium?.stop();
  await fixture?.stop();
});

/** What is answered to a browser that came here by this name. */
function statusFor(host: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port: fixture.demo.port, path, headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on("error", reject);
  });
}

const rowOf = (id: string | undefined) => page.locator(`tr[data-id="${id}"]`);
const press = (row: Locator, name: string) =>
  row.getByRole("button", { name, exact: true }).click();
const untilNotice = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();
const shows = (row: Locator, text: string) => row.filter({ hasText: text }).waitFor();

test("the page approves a draft, records its payments, and shows what Xero refuses", async () => {
  const draft = await http.invoice({ Status: "DRAFT", Reference: hostile });
  const row = rowOf(draft.InvoiceID);
  await shows(row, "DRAFT");
  await row.getByText("1 line").click();
  await row.getByText("Work: 2.0000 × 50.00 = 100.00, tax 0.00").waitFor();
  await press(row, "Approve");
  await shows(row, "AUTHORISED");

  await row.getByLabel("Amount").fill("100.01");
  await press(row, "Pay");
  await untilNotice("Payment amount exceeds the amount outstanding on this document.");
  await row.getByLabel("Amount").fill("30.5");
  await press(row, "Pay");
  await shows(row, "69.50");
  expect(await http.readInvoice(draft.InvoiceID)).toMatchObject({
    AmountPaid: 30.5,
    AmountDue: 69.5,
  });
  await press(row, "Void");
  await untilNotice("it has payments or credit notes allocated to it");
  await press(row, "Pay");
  await shows(row, "PAID");
  expect(await http.readInvoice(draft.InvoiceID)).toMatchObject({ Status: "PAID", AmountDue: 0 });
  const payments = page.getByRole("table", { name: "Payments" }).locator("tbody tr");
  expect(await payments.allInnerTexts()).toEqual([
    expect.stringContaining("69.50"),
    expect.stringContaining("30.50"),
  ]);
  await press(payments.filter({ hasText: "30.50" }), "Delete");
  await shows(payments.filter({ hasText: "30.50" }), "DELETED");
  await shows(row.filter({ hasText: "69.50" }), "AUTHORISED");
  expect(await http.readInvoice(draft.InvoiceID)).toMatchObject({
    AmountPaid: 69.5,
    AmountDue: 30.5,
  });
});

test("the page deletes drafts, voids approved documents and returns credit", async () => {
  const draft = await http.invoice({ Status: "SUBMITTED" });
  await press(rowOf(draft.InvoiceID), "Delete");
  await shows(rowOf(draft.InvoiceID), "DELETED");

  const invoice = await http.invoice({ Status: "AUTHORISED" });
  const note = await http.creditNote({ Status: "AUTHORISED" });
  await http.allocate(note.CreditNoteID, [invoice.InvoiceID, 15]);
  const noteRow = rowOf(note.CreditNoteID);
  await shows(noteRow, `15.00 on ${invoice.InvoiceNumber}`);
  await press(noteRow, "Void");
  await untilNotice("it has a payment or credit note allocated to it");
  await press(noteRow, "Take back");
  await shows(rowOf(invoice.InvoiceID).filter({ hasNotText: "15.00" }), "100.00");
  expect(await http.readCreditNote(note.CreditNoteID)).toMatchObject({
    RemainingCredit: 40,
    Allocations: [],
  });
  await press(noteRow, "Void");
  await shows(noteRow, "VOIDED");
  await press(rowOf(invoice.InvoiceID), "Void");
  await shows(rowOf(invoice.InvoiceID), "VOIDED");
  expect(await http.readInvoice(invoice.InvoiceID)).toMatchObject({
    Status: "VOIDED",
    AmountDue: 0,
  });
});

test("the page archives a contact, which then takes no new document, and restores it", async () => {
  const row = rowOf(http.contactId);
  await press(row, "Archive");
  await shows(row, "ARCHIVED");
  expect(JSON.stringify(await http.invoice())).toContain("has been archived");
  await press(row, "Restore");
  await shows(row, "ACTIVE");
  expect((await http.invoice()).InvoiceID).toBeDefined();
});

test("the page orders a fault, shows it until it has happened, and clears the rest", async () => {
  await page.getByLabel("What goes wrong").selectOption({ label: "it is down (503)" });
  await page.getByLabel("With which calls").selectOption({ label: "a new invoice" });
  await page.getByLabel("How often").fill("2");
  await page.getByRole("button", { name: "Order" }).click();
  const faults = page.locator("#faults");
  await faults.getByRole("row", { name: "it is down (503) a new invoice 2" }).waitFor();
  const invoice = { Type: "ACCREC", Contact: { ContactID: http.contactId } };
  expect((await http.send("PUT", "Invoices", { Invoices: [invoice] })).status).toBe(503);
  await faults.getByRole("row", { name: "it is down (503) a new invoice 1" }).waitFor();
  await faults.getByRole("button", { name: "Clear all" }).click();
  await faults.getByText("None ordered.").waitFor();
  expect((await http.invoice()).InvoiceID).toBeDefined();
});

test("the page shows one organisation alone, and runs no text of a document", async () => {
  const other = await openDemoHttp(
    await connectOrganisation(fixture.demo.url, { name: "Other <b>Ltd</b>" }),
  );
  const theirs = await other.invoice();
  await rowOf(theirs.InvoiceID).waitFor();
  await page.getByLabel("Organisation").selectOption({ label: "Other <b>Ltd</b>" });
  await rowOf(http.contactId).waitFor({ state: "detached" });
  expect(await page.locator("#invoices tbody tr").count()).toBe(1);
  await page.getByLabel("Organisation").selectOption({ label: "all" });
  await page.getByText(hostile).waitFor();
  expect(await page.locator("section img, section b").count()).toBe(0);
  expect(await page.title()).toBe("Demo ledger: documents");

  const answer = await fetch(fixture.demo.url);
  expect(answer.headers.get("content-security-policy")).toContain(
    "default-src 'none'; script-src 'self'",
  );
  expect(await answer.text()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=/);
  // The browser also reports the refusals above. There is no other problem.
  expect(problems.filter((text) => !/status of 400/.test(text))).toEqual([]);
});

test("a page of another site changes nothing, and a foreign domain reads nothing", async () => {
  const { connection, contactId } = http;
  const contact = `tenants/${connection.tenantId}/contacts/${contactId}`;
  const path = `${fixture.demo.url}/demo/${contact}/archive`;
  const plain = await fetch(path, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: "{}",
  });
  expect(plain.status).toBe(415);
  expect(await statusFor("ledger.example", "/demo/documents")).toBe(403);
  expect(await statusFor("ledger.example", "/")).toBe(403);
  expect(await statusFor("localhost", "/demo/documents")).toBe(200);
  const foreign = await chromium.browser.newPage();
  await foreign.setContent("<title>elsewhere</title>");
  const outcome = await foreign.evaluate(
    (url) =>
      fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      }).then(String, String),
    path,
  );
  expect(outcome).toContain("Failed to fetch");
  await foreign.close();
  expect((await http.send("GET", `Contacts/${http.contactId}`)).body.Contacts).toMatchObject([
    { ContactStatus: "ACTIVE" },
  ]);
  const unknown = await fetch(
    `${fixture.demo.url}/demo/tenants/${crypto.randomUUID()}/contacts/${http.contactId}/archive`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    },
  );
  expect(unknown.status).toBe(404);
});
