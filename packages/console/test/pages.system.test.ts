/** Each page with data: its title, axe in light and dark, wide and narrow, and nothing refused. */
import { expect } from "vitest";
import { refreshOverviews } from "../../../src/store/overview/refresh-overviews.ts";
import { consoleTest, untilShown } from "./console-fixture.ts";
import { look } from "./looks.ts";

/** The pages of an organisation, with the titles that they have. */
const pages = [
  ["overview", "Overview"],
  ["attention", "Attention"],
  ["activity", "Activity"],
  ["subscriptions", "Subscriptions"],
  ["customers", "Customers"],
  ["plans", "Plans"],
  ["charges", "Charges"],
  ["meters", "Meters"],
  ["invoices", "Invoices"],
  ["credit-notes", "Credit notes"],
  ["usage", "Usage"],
  ["calendar", "Calendar"],
  ["ledger", "Ledger"],
  ["ledger?tab=mapping", "Ledger"],
  ["ledger?tab=documents", "Ledger"],
  ["ledger?tab=unknown", "Ledger"],
  ["webhooks", "Webhooks"],
  ["api-keys", "API keys"],
  ["organisation", "Organisation"],
  ["operators", "Operators"],
  ["audit", "Audit"],
] as const;

/** The pages of one object: the list, and what the page of its first row shows besides. */
const objects = [
  ["subscriptions", ["", "?tab=documents", "?tab=usage", "?tab=fields"]],
  ["customers", ["", "?tab=documents"]],
  ["plans", [""]],
  ["invoices", [""]],
] as const;

consoleTest(
  "each page has its title and no fault of access, light and dark",
  async ({ open, data, system }) => {
    const { page, problems, hosts } = await open();
    const below = `/console/o/${data.sandbox.organisationId}`;
    const faults: string[] = [];
    for (const [path, title] of pages) {
      await page.goto(`${below}/${path}`);
      await untilShown(page);
      expect(await page.locator("h1").innerText()).toBe(title);
      expect(await page.title()).toBe(`${title} · Northwind Software (sandbox) · Billing`);
      faults.push(...(await look(page, path)));
    }
    expect(faults).toEqual([]);
    expect(problems).toEqual([]);
    expect([...hosts]).toEqual([system.adminUrl]);
  },
);

consoleTest(
  "the page of each kind of object shows it, and has no fault of access",
  async ({ open, data }) => {
    const { page, problems } = await open();
    const below = `/console/o/${data.sandbox.organisationId}`;
    const faults: string[] = [];
    for (const [list, parts] of objects) {
      await page.goto(`${below}/${list}`);
      await untilShown(page);
      const address = await page.locator("[data-row-link]").last().getAttribute("href");
      for (const part of parts) {
        await page.goto(`${address}${part}`);
        await untilShown(page);
        faults.push(...(await look(page, `${list}/1${part}`)));
      }
    }
    expect(faults).toEqual([]);
    expect(problems).toEqual([]);
  },
);

/** What the pages say of an organisation that has nothing. */
const ofNothing = [
  ["attention", "Nothing needs a person"],
  ["calendar", "Nothing renews or ends in these days"],
  ["usage", "No plan has a meter"],
  ["ledger", "No ledger is connected yet"],
  ["ledger?tab=documents", "No document waits for the ledger"],
  ["credit-notes", "No credit notes yet"],
  ["subscriptions/new", "No active customers yet"],
] as const;

consoleTest(
  "each page of an organisation with nothing says so, and has no fault of access",
  async ({ open, data, system }) => {
    const { json } = await system.askAdmin("OrganisationService/CreateOrganisation", {
      key: data.operatorToken ?? "",
      body: { name: "Nothing Ltd", timezone: "Europe/Berlin", defaultCurrency: "EUR" },
    });
    await refreshOverviews(system.pool, 100, (_, error) => {
      throw error;
    });
    const { page } = await open();
    const faults: string[] = [];
    for (const [path, words] of ofNothing) {
      await page.goto(`/console/o/${json.organisation.id}/${path}`);
      await page.getByText(words).waitFor();
      faults.push(...(await look(page, path)));
    }
    expect(faults).toEqual([]);
  },
);

consoleTest("the pages without an organisation have no fault of access", async ({ open }) => {
  const { page, problems } = await open();
  const faults: string[] = [];
  for (const path of ["/console/", "/console/sign-in"]) {
    await page.goto(path);
    await untilShown(page);
    faults.push(...(await look(page, path)));
  }
  expect(faults).toEqual([]);
  expect(problems).toEqual([]);
});
