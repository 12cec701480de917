/** Whoever starts with nothing: from an empty organisation to its first invoice in the ledger. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { consoleTest } from "./console-fixture.ts";

const json = { "Content-Type": "application/json", Accept: "application/json" };

/** Makes the organisation that the page's command makes, with a contact, in the demo ledger. */
async function makeTenant(demoUrl: string, command: string): Promise<void> {
  const asked = JSON.parse(/-d '(.*)'$/.exec(command)?.[1] ?? "{}");
  const { tenantId, clientId, clientSecret } = asked;
  const made = await fetch(`${demoUrl}/demo/tenants`, {
    method: "POST",
    headers: json,
    body: JSON.stringify(asked),
  });
  expect(made.ok, await made.text()).toBe(true);
  const signedIn = await fetch(`${demoUrl}/connect/token`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      scope: "accounting.contacts",
    }),
  });
  const { access_token } = (await signedIn.json()) as { access_token: string };
  const contact = { Name: "Acme & Sons", ContactNumber: "ACME", EmailAddress: "pay@acme.test" };
  const added = await fetch(`${demoUrl}/api.xro/2.0/Contacts`, {
    method: "PUT",
    headers: { ...json, Authorization: `Bearer ${access_token}`, "xero-tenant-id": tenantId },
    body: JSON.stringify({ Contacts: [contact] }),
  });
  expect(added.ok, await added.text()).toBe(true);
}

const drawer = (page: Page) => page.getByRole("dialog");

/** The step that comes next. */
const next = (page: Page) => page.locator("[aria-current=step]");

async function perform(page: Page, effect: string): Promise<void> {
  await drawer(page).getByRole("button", { name: effect }).click();
}

consoleTest(
  "an empty organisation is led from its ledger to its first invoice there",
  async ({ open, system }) => {
    const { page, problems } = await open();
    await page.goto("/console/");
    await page.getByRole("button", { name: "New organisation" }).click();
    await drawer(page).getByLabel("Name", { exact: true }).fill("First Ltd");
    await drawer(page).getByLabel("Time zone", { exact: true }).selectOption("Pacific/Auckland");
    await drawer(page).getByLabel("Currency of new plans", { exact: true }).fill("nzd");
    await perform(page, "Create First Ltd");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

    await next(page).getByText("Connect a ledger").waitFor();
    await page.getByRole("button", { name: "Connect the demo ledger" }).click();
    const command = (await drawer(page).locator("code").first().textContent()) ?? "";
    await makeTenant(system.demoUrl, command);
    await drawer(page)
      .getByLabel("Address of its API (optional)", { exact: true })
      .fill(`${system.demoUrl}/api.xro/2.0`);
    await drawer(page)
      .getByLabel("Address of its tokens (optional)", { exact: true })
      .fill(`${system.demoUrl}/connect/token`);
    await perform(page, "Check and connect");
    await drawer(page).getByText("First Ltd, in NZD").waitFor();
    await perform(page, "Done");

    await next(page).getByText("Choose the account of sales").waitFor();
    await next(page).getByRole("button", { name: "Choose" }).click();
    await drawer(page).getByLabel("Revenue account", { exact: true }).selectOption("200");
    await drawer(page).getByLabel("Tax type", { exact: true }).selectOption("OUTPUT2");
    await perform(page, "Map it");

    await next(page).getByText("Import a customer").waitFor();
    await next(page).getByRole("button", { name: "Import customers" }).click();
    await drawer(page).getByLabel("Acme & Sons").check();
    await perform(page, "Import 1 customer");
    await drawer(page).getByText("Imported").waitFor();
    await perform(page, "Done");

    await next(page).getByText("Make a plan").waitFor();
    await next(page).getByRole("button", { name: "New plan" }).click();
    await drawer(page).getByLabel("Name", { exact: true }).fill("<i>Team</i>");
    await drawer(page).getByLabel("Code", { exact: true }).fill("team");
    await drawer(page)
      .getByLabel("What is paid for", { exact: true })
      .selectOption({ label: "Tiered: units in a tier cost its price" });
    await drawer(page).getByLabel("Each, tier 1", { exact: true }).fill("7");
    await drawer(page).getByLabel("Each, tier 2", { exact: true }).fill("5");
    await drawer(page)
      .getByRole("img", { name: /Price over units/ })
      .waitFor();
    await perform(page, "Create <i>Team</i>");
    await page.getByRole("heading", { level: 1, name: "<i>Team</i>" }).waitFor();
    await page.getByText("It is a draft: nobody can have it yet.").waitFor();
    await page.getByRole("button", { name: "Activate" }).click();
    await perform(page, "Make it Active");
    await page.getByText("Active", { exact: true }).waitFor();

    await page.getByRole("link", { name: "Overview" }).click();
    await next(page).getByRole("link", { name: "Create a subscription" }).click();
    await page.getByRole("heading", { level: 1, name: "New subscription" }).waitFor();
    expect(problems).toEqual([]);
  },
);
