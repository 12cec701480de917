/** What a person does on the pages: links, the back button, the keyboard, and hostile texts. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { consoleTest, untilShown } from "./console-fixture.ts";

const focused = "document.activeElement.textContent";

const at = (page: Page) => new URL(page.url());

consoleTest(
  "the address has filter, tab and place, and the back button returns to each",
  async ({ open, data }) => {
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions`);
    await untilShown(page);
    await page.getByRole("link", { name: "Ended", exact: true }).click();
    await page.waitForURL(/status=ended/);
    await untilShown(page);
    await page.getByRole("link", { name: /GLOBEX/ }).click();
    await page.getByRole("heading", { level: 1, name: "Ended" }).waitFor();
    expect(await page.evaluate(focused)).toBe("Ended");
    await page.getByRole("link", { name: "Documents" }).click();
    await page.waitForURL(/tab=documents/);
    await page.reload();
    await page.getByRole("heading", { name: "Credit notes" }).waitFor();
    await page.goBack();
    await page.goBack();
    await untilShown(page);
    expect(at(page).search).toBe("?status=ended");
    expect(await page.locator("[data-row-link]").count()).toBe(1);
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "the keyboard filters a list, moves among its rows and opens one",
  async ({ open, data }) => {
    const { page } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/invoices`);
    await untilShown(page);
    await page.keyboard.press("/");
    await page.keyboard.type("number:INV-0001\n");
    await page.getByText("number: INV-0001").waitFor();
    await page.getByRole("link", { name: /INV-0001/ }).waitFor();
    await untilShown(page);
    await page.keyboard.press("Tab");
    await page.keyboard.press("j");
    expect(await page.evaluate(focused)).toContain("INV-0001");
    await page.keyboard.press("o");
    await page.getByRole("heading", { level: 1, name: "INV-0001" }).waitFor();
    await page.getByText("Verified in this browser").waitFor();
    await page.getByText("How it came about").first().click();
    await page.getByText(/a whole period of/).waitFor();
  },
);

consoleTest(
  "the palette goes to a page and to an invoice by its number",
  async ({ open, data }) => {
    const { page } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/plans`);
    await untilShown(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("INV-0002");
    await page.getByRole("option", { name: "INV-0002 invoice" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "INV-0002" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("pty");
    await page.getByRole("option", { name: "Customers with “pty”" }).click();
    await page.waitForURL(/customers\?search=pty/);
    await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
  },
);

consoleTest(
  "the page of a customer says what is billed next, and what it comes to within a month",
  async ({ open, data }) => {
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/customers?code=GLOBEX`);
    await page.locator("[data-row-link]").first().click();
    const next = page.getByRole("region", { name: "Next invoices" });
    const row = next.getByRole("row", { name: /Metered/ });
    // 10 seats at 12.50, and 1,400 of the 2,400 calls at 0.002. Another one has 3 units at 7.
    await row.getByRole("cell", { name: "NZD 127.80" }).waitFor();
    await next.getByRole("row", { name: /With a refused invoice.* NZD 21.00/ }).waitFor();
    expect(await next.getByRole("row").count()).toBe(3);
    await next.getByRole("definition").filter({ hasText: "NZD 148.80" }).waitFor();
    expect(await next.getByRole("term").allInnerTexts()).toEqual([
      expect.stringMatching(/^Until \d+ \w+ \d{4}$/),
    ]);
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "usage is asked for of subscriptions whose plan has a meter",
  async ({ open, data }) => {
    const { page } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/usage`);
    const metered = page.getByRole("row", { name: /Metered/ });
    await metered.waitFor();
    expect(await page.getByRole("row", { name: /With a deferred charge/ }).count()).toBe(0);
    await metered.getByRole("link", { name: /GLOBEX/ }).click();
    await page.waitForURL(/subscription=/);
    await page.getByRole("cell", { name: "2,400" }).first().waitFor();
  },
);

consoleTest(
  "an empty list says what it would have, and filters that match nothing say so",
  async ({ open, data }) => {
    const { page } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/webhooks`);
    await page.getByText("No endpoints yet").waitFor();
    await page.goto(`/console/o/${data.sandbox.organisationId}/customers?code=nobody`);
    await page.getByText("Nothing matches these filters").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.locator("[data-row-link]").first().waitFor();
  },
);

consoleTest(
  "an object that does not exist is said, and an address that is none",
  async ({ open, data }) => {
    const { page } = await open();
    const below = `/console/o/${data.sandbox.organisationId}`;
    await page.goto(`${below}/invoices/019f0000-0000-7000-8000-000000000000`);
    await page.getByText("There is no such object").waitFor();
    await page.goto(`${below}/nowhere`);
    await page.getByRole("heading", { level: 1, name: "No such page" }).waitFor();
    await page.getByRole("link", { name: "Overview" }).waitFor();
    await page.goto(below);
    await page.waitForURL(`**${below}/overview`);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  },
);

consoleTest(
  "hostile and endless texts are shown as texts, and no page becomes wider",
  async ({ open, data, system }) => {
    const label = `<img src=x onerror="document.title='hit'"> ${"w".repeat(120)} \u202Etxet`;
    const answer = await system.ask("POST", "/v1/subscriptions", {
      key: data.testKey,
      idempotencyKey: "hostile",
      body: { customer_code: "ACME", plan_code: "team", units: 999_999_999, label },
    });
    expect(answer.status, answer.text).toBe(201);
    const { page, problems } = await open({ viewport: { width: 390, height: 844 } });
    await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions`);
    await page.getByText("<img src=x").waitFor();
    const wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(wider)).toBe(0);
    await page.getByText("<img src=x").click();
    await page.getByRole("heading", { level: 1, name: /<img/ }).waitFor();
    expect(await page.evaluate(wider)).toBe(0);
    expect(await page.title()).toContain("<img src=x");
    expect(problems).toEqual([]);
  },
);
