/** What the pages show of much, of what is rare, and when something is amiss. */
import { Buffer } from "node:buffer";
import { create, toBinary } from "@bufbuild/protobuf";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { ErrorDetailSchema } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import { refreshOverviews } from "../../../src/store/overview/refresh-overviews.ts";
import { consoleTest, untilShown } from "./console-fixture.ts";
import { look } from "./looks.ts";

const calls = /\/billing\.admin\.v1\./;

/** Follows a link of the navigation, so that the page stays the same document. */
const follow = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();

consoleTest(
  "an operator who may only read sees that, and no button of an act",
  async ({ open, data, system }) => {
    const { page } = await open({ token: await system.operator("read-only", "Reader") });
    const below = `/console/o/${data.sandbox.organisationId}`;
    const addresses = ["attention", "ledger", "ledger?tab=mapping", "webhooks", "api-keys"].concat([
      "organisation",
      "operators",
      "plans",
      "charges",
      "meters",
      "customers",
      "usage",
    ]);
    for (const list of ["subscriptions", "invoices"]) {
      await page.goto(`${below}/${list}`);
      await untilShown(page);
      addresses.push(`${list}/${await idOfRow(page)}`);
    }
    const acts: string[] = [];
    for (const address of addresses) {
      await page.goto(`${below}/${address}`);
      await untilShown(page);
      await page.getByText("You may read").waitFor();
      const names = await page
        .locator("main button")
        .evaluateAll((all: { ariaLabel: string | null; textContent: string }[]) =>
          all.map(({ ariaLabel, textContent }) => ariaLabel ?? textContent),
        );
      acts.push(...names.filter((name) => !/^(Copy |Newer|Older|More|End all$)/.test(name)));
    }
    expect(acts).toEqual([]);
  },
);

async function idOfRow(page: Page): Promise<string> {
  const address = await page.locator("[data-row-link]").first().getAttribute("href");
  return address?.split("/").at(-1) ?? "";
}

consoleTest(
  "the filters of a list are saved as a view, by a reader too",
  async ({ open, data, system }) => {
    const { page, problems } = await open({ token: await system.operator("read-only", "Viewer") });
    await page.goto(`/console/o/${data.sandbox.organisationId}/invoices?status=draft&number=INV-1`);
    await untilShown(page);
    const views = page.getByText("Views", { exact: true });
    await views.click();
    await page.getByLabel("Save these filters as").fill("Drafts, & <b>one</b>");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const view = page.getByRole("link", { name: "Drafts, & <b>one</b>" });
    await view.waitFor();
    const faults = await look(page, "views");
    await page.goto(`/console/o/${data.sandbox.organisationId}/invoices`);
    await views.click();
    await view.click();
    await page.waitForURL(/status=draft&number=INV-1$/);
    await page.getByText("number: INV-1").waitFor();
    await views.click();
    await page.getByRole("button", { name: /^Delete the view Drafts/ }).click();
    await page.getByText("No views of this list yet.").waitFor();
    expect(faults).toEqual([]);
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "a service that does not answer is said, and asked again by a button",
  async ({ open, data }) => {
    const { page } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/plans`);
    await untilShown(page);
    await page.route(calls, (route) => route.abort());
    await follow(page, "Invoices");
    await page.getByText("The service does not answer").waitFor();
    await page.unroute(calls);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("[data-row-link]").first().waitFor();
  },
);

for (const { status, code, title } of [
  { status: 429, code: "resource_exhausted", title: "Too many requests" },
  { status: 409, code: "aborted", title: "Another request is in progress" },
]) {
  consoleTest(
    `an answer ${status} is shown in words, with the id of the request`,
    async ({ open, data }) => {
      const { page } = await open();
      await page.goto(`/console/o/${data.sandbox.organisationId}/plans`);
      await untilShown(page);
      const message = "Wait a moment.";
      const detail = create(ErrorDetailSchema, { code, message, requestId: "request-1" });
      const value = Buffer.from(toBinary(ErrorDetailSchema, detail)).toString("base64");
      await page.route(/ListInvoices/, (route) =>
        route.fulfill({
          status,
          contentType: "application/json",
          body: JSON.stringify({
            code,
            message,
            details: [{ type: "billing.v1.ErrorDetail", value }],
          }),
        }),
      );
      await follow(page, "Invoices");
      const alert = page.getByRole("alert").filter({ hasText: title });
      await alert.getByText(message).waitFor();
      await alert.getByText("request-1").waitFor();
    },
  );
}

consoleTest(
  "a session that ends leads back to where one was, on the page and by a link",
  async ({ open, data }) => {
    const { page } = await open();
    const address = `/console/o/${data.sandbox.organisationId}/invoices?status=draft`;
    const enter = async () => {
      await page.getByLabel("Operator's token").fill(data.operatorToken ?? "");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByLabel("Operator's token").waitFor({ state: "detached" });
      await page.locator("[data-row-link]").first().waitFor();
      expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe(address);
    };
    await page.goto(`/console/o/${data.sandbox.organisationId}/plans`);
    await untilShown(page);
    await follow(page, "Invoices");
    await untilShown(page);
    await page.context().clearCookies();
    // A read in the background may have opened the dialog over the link.
    await page.getByRole("link", { name: "Draft", exact: true }).dispatchEvent("click");
    await page.getByText("Your session has ended").waitFor();
    await enter();
    await page.context().clearCookies();
    await page.goto(address);
    await page.waitForURL(/\/sign-in/);
    await enter();
  },
);

consoleTest(
  "a day of the calendar and a bar of the overview open the list that proves them",
  async ({ open, data, system }) => {
    const { page } = await open();
    const below = `/console/o/${data.sandbox.organisationId}`;
    await refreshOverviews(system.pool, 100, (_, error) => {
      throw error;
    });
    await page.goto(`${below}/calendar`);
    await untilShown(page);
    const day = page.getByRole("link", { name: /^\d+ renews? / }).first();
    const count = Number((await day.textContent())?.split(" ")[0]);
    await day.click();
    await page.waitForURL(/renewal_from=/);
    await page.getByRole("heading", { level: 1, name: "Subscriptions" }).waitFor();
    await untilShown(page);
    const active = page.locator("tbody tr").filter({ hasNotText: "Ending" });
    expect(await active.count()).toBe(count);
    await page.getByText(/^Renews from: /).waitFor();
    await page.goto(`${below}/overview`);
    await page
      .getByRole("link", { name: /due: [1-9]/ })
      .first()
      .click();
    await page.waitForURL(/subscriptions\?.*renewal_from=/);
  },
);

consoleTest(
  "the filters by plan, days and first letters find what they say",
  async ({ open, data }) => {
    const { page } = await open();
    const below = `/console/o/${data.sandbox.organisationId}`;
    await page.goto(`${below}/customers`);
    await untilShown(page);
    await page.getByRole("textbox", { name: /Filter by/ }).fill("glo");
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=glo/);
    await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
    await page.goto(`${below}/subscriptions`);
    await untilShown(page);
    await page.getByLabel("Filter by plan").selectOption({ label: "Team" });
    await page.waitForURL(/plan=/);
    await untilShown(page);
    const plans = await page.locator("tbody td:nth-child(2)").allInnerTexts();
    expect(new Set(plans)).toEqual(new Set(["Team"]));
    await page.goto(`${below}/invoices`);
    await page.getByText("Days", { exact: true }).click();
    await page.getByLabel("Issued until").fill("2020-01-01");
    await page.getByText("Nothing matches these filters").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.locator("[data-row-link]").first().waitFor();
  },
);

consoleTest(
  "the next invoice says how each line came about, and is verified in this browser",
  async ({ open, data }) => {
    const { page } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions?label=Metered`);
    await page.locator("[data-row-link]").first().click();
    const next = page.getByRole("complementary", { name: "Next invoice" });
    await next.getByText("Verified in this browser").first().waitFor();
    await next.getByText("How it came about").first().click();
    await next.getByText(/a whole period of/).waitFor();
  },
);

consoleTest(
  "a credit note, a delivery and a long timeline show their data without a fault of access",
  async ({ open, data, system }) => {
    const { page, problems } = await open();
    const { organisationId: organisation } = data.sandbox;
    const below = `/console/o/${organisation}`;
    const endpoint = { organisation, url: "https://hooks.example.com/billing" };
    const operator = data.operatorToken ?? "";
    const steer = async (method: string, body: object) => {
      const answer = await system.askAdmin(method, { key: operator, body });
      expect(answer.status, answer.text).toBe(200);
      return answer.json;
    };
    const hooks = await steer("WebhookService/CreateWebhookEndpoint", endpoint);
    await steer("WebhookService/SendTestEvent", { organisation, id: hooks.endpoint.id });
    const firstInvoiceStatus = "FIRST_INVOICE_STATUS_APPROVED";
    await steer("OrganisationService/UpdateOrganisation", { id: organisation, firstInvoiceStatus });
    const { plan } = await steer("PlanService/CreatePlan", {
      organisation,
      code: "bands",
      name: "Bands",
      type: "PLAN_TYPE_VOLUME",
      tiers: [{ upTo: 10, unitPrice: "10" }, { unitPrice: "8" }],
      unitSingular: "seat",
      unitPlural: "seats",
    });
    const active = { organisation, id: plan.id, status: "CATALOGUE_STATUS_ACTIVE" };
    await steer("PlanService/SetPlanStatus", active);
    const key = data.testKey;
    const send = async (path: string, idempotencyKey: string, body: object) => {
      const answer = await system.ask("POST", path, { key, idempotencyKey, body });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.json;
    };
    const order = { customer_code: "ACME", plan_code: "bands", units: 10, label: "Much" };
    const { id, start_date } = await send("/v1/subscriptions", "much", order);
    const change = { units: 11, prorate: true, effective_date: start_date };
    await send(`/v1/subscriptions/${id}/units`, "credit", change);
    for (let units = 12; units < 72; units++)
      await send(`/v1/subscriptions/${id}/units`, `units-${units}`, { units, prorate: false });
    await page.goto(`${below}/subscriptions/${id}`);
    await untilShown(page);
    expect(await page.locator("main ol li").count()).toBeGreaterThanOrEqual(50);
    await page.getByRole("button", { name: "Older" }).click();
    await expect.poll(() => page.locator("main ol li").count()).toBeGreaterThan(60);
    const faults = await look(page, "long timeline");
    await page.getByRole("link", { name: "Webhooks", exact: true }).last().click();
    await page.waitForURL(/show=webhooks/);
    await page.goto(`${below}/credit-notes`);
    await page.locator("[data-row-link]").first().click();
    await page.getByText("Verified in this browser").waitFor();
    faults.push(...(await look(page, "credit note")));
    await page.goto(`${below}/webhooks`);
    await page.locator('[data-row-link][href*="/deliveries/"]').first().click();
    await page.waitForURL(/deliveries/);
    await untilShown(page);
    faults.push(...(await look(page, "delivery")));
    expect(faults).toEqual([]);
    expect(problems).toEqual([]);
  },
);

consoleTest("an id is copied by its button, and readers hear it", async ({ open, data }) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const { page } = await open({ permissions });
  await page.goto(`/console/o/${data.sandbox.organisationId}/organisation`);
  await untilShown(page);
  await page
    .getByRole("button", { name: /^Copy / })
    .last()
    .click();
  await page.getByText(/ copied$/).waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(copied).toBe(data.sandbox.organisationId);
});

consoleTest(
  "an invoice has the ledger's own number beside ours",
  async ({ open, data, system }) => {
    const { page, problems } = await open();
    const list = `/console/o/${data.sandbox.organisationId}/invoices`;
    await page.goto(list);
    await untilShown(page);
    const id = await idOfRow(page);
    await system.pool.query("UPDATE invoices SET ledger_number = 'I2026-1' WHERE id = $1", [id]);
    await page.goto(`${list}/${id}`);
    await untilShown(page);
    await page.getByText("in the ledger I2026-1").waitFor();
    expect(await look(page, "an invoice")).toEqual([]);
    const number = await page.locator("h1").innerText();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("i2026");
    await page.getByRole("option", { name: `${number} in the ledger I2026-1 · invoice` }).click();
    await page.getByRole("heading", { level: 1, name: number }).waitFor();
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "a list on a phone says who is billed, also with a long name and a large amount",
  async ({ open, data, system }) => {
    const { organisationId } = data.sandbox;
    const { page, problems } = await open({ viewport: { width: 390, height: 844 } });
    await page.goto(`/console/o/${organisationId}/invoices`);
    await untilShown(page);
    const lines = await page
      .locator("tbody td:last-child .number")
      .evaluateAll((amounts) => amounts.map((amount) => amount.getClientRects().length));
    expect(new Set(lines)).toEqual(new Set([1]));
    const name = `The Very Long Name of a Company (Holdings) ${"& Sons ".repeat(11)}`.trim();
    await system.pool.query(
      "UPDATE customers SET name = $2 WHERE organisation_id = $1 AND code = 'GLOBEX'",
      [organisationId, name],
    );
    await system.pool.query(
      "UPDATE invoices SET total = 123456789012.34 WHERE organisation_id = $1",
      [organisationId],
    );
    for (const list of ["invoices", "credit-notes", "ledger?tab=documents"]) {
      await page.goto(`/console/o/${organisationId}/${list}`);
      await untilShown(page);
      expect(await page.getByRole("columnheader", { name: "Customer" }).count()).toBe(0);
      const customers = page.locator("td:first-child a:visible", { hasText: /Acme|Sons|Initech/ });
      const rows = await page.locator("tbody tr").count();
      await expect.poll(() => customers.count()).toBe(rows);
      expect(await look(page, list)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
    }
    expect(problems).toEqual([]);
  },
);
