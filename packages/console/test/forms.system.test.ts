/** The forms of the pages: what each does, that secrets are shown once, and who sees which. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { consoleTest, untilShown } from "./console-fixture.ts";
import { look } from "./looks.ts";

const drawer = (page: Page) => page.getByRole("dialog");

/** The pages with the buttons of their forms. The demonstration has an object for each. */
const forms = [
  ["plans", "New plan"],
  ["charges", "New charge"],
  ["meters", "New meter"],
  ["customers", "Import customers"],
  ["ledger", "Check"],
  ["ledger", "Reconcile"],
  ["ledger", "Change the credentials"],
  ["ledger", "Disconnect"],
  ["ledger", "Sync now"],
  ["ledger?tab=mapping", "Choose"],
  ["webhooks", "New endpoint"],
  ["api-keys", "New key"],
  ["organisation", "Turn on"],
  ["organisation", "Advance"],
  ["organisation", "Edit"],
  ["operators", "New operator"],
  ["operators", "New token"],
  ["operators", "End all"],
] as const;

consoleTest(
  "each form has no fault of access, light and dark, and closes by the keyboard",
  async ({ open, data }) => {
    const { page, problems } = await open();
    const faults: string[] = [];
    for (const [path, label] of forms) {
      await page.goto(`/console/o/${data.sandbox.organisationId}/${path}`);
      await untilShown(page);
      const button = page.getByRole("button", { name: label, exact: true }).first();
      await button.click();
      await drawer(page).waitFor();
      await untilShown(page);
      faults.push(...(await look(page, label)));
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.keyboard.press("Escape");
      await drawer(page).waitFor({ state: "detached" });
      expect(await page.evaluate("document.activeElement.textContent")).toBe(label);
    }
    expect(faults).toEqual([]);
    expect(problems).toEqual([]);
  },
);

/** The forms that answer a value once: page, button, what is typed, effect. */
const secrets = [
  ["webhooks", "New endpoint", { Address: "https://example.com/hooks" }, "Create the endpoint"],
  ["api-keys", "New key", { Name: "Shop" }, "Create the key"],
  ["operators", "New token", { Name: "Laptop" }, "Create the token"],
] as const;

const places = "JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, name])";

consoleTest(
  "a secret is shown once: neither address nor storage has it, nor the page afterwards",
  async ({ open, data }) => {
    const { page, problems } = await open();
    for (const [path, label, typed, effect] of secrets) {
      await page.goto(`/console/o/${data.sandbox.organisationId}/${path}`);
      await page.getByRole("button", { name: label, exact: true }).first().click();
      for (const [name, text] of Object.entries(typed))
        await drawer(page).getByLabel(name, { exact: true }).fill(text);
      await drawer(page).getByRole("button", { name: effect }).click();
      await drawer(page).getByText("It is shown this once").waitFor();
      const secret = (await drawer(page).locator("code").textContent()) ?? "";
      expect(secret.length).toBeGreaterThan(20);
      expect(await page.evaluate<string>(places)).not.toContain(secret);
      await drawer(page).getByRole("button", { name: "Done" }).click();
      await untilShown(page);
      expect(await page.content()).not.toContain(secret);
      await page.reload();
      await untilShown(page);
      expect(await page.content()).not.toContain(secret);
    }
    expect(problems).toEqual([]);
  },
);

consoleTest("whoever may only read sees no act", async ({ open, data, system }) => {
  const owner = await open();
  const call = async (method: string, body: object) => {
    const headers = { Origin: system.adminUrl, "Connect-Protocol-Version": "1" };
    const path = `/billing.admin.v1.OperatorService/${method}`;
    const answer = await owner.page.request.post(path, { headers, data: body });
    expect(answer.ok(), await answer.text()).toBe(true);
    return answer.json();
  };
  const role = "OPERATOR_ROLE_READ_ONLY";
  const { operator } = await call("CreateOperator", { name: "Reader", role });
  const { value } = await call("CreateOperatorToken", { operator: operator.id, name: "one" });
  const { page } = await open({ token: value });
  for (const [path, label] of forms.filter(([path]) => path !== "operators")) {
    await page.goto(`/console/o/${data.sandbox.organisationId}/${path}`);
    await untilShown(page);
    expect(await page.getByRole("button", { name: label, exact: true }).count(), label).toBe(0);
  }
});

consoleTest(
  "documents that the ledger refused are retried together, each with what came of it",
  async ({ open, data, system }) => {
    const tenantId = data.sandbox.tenantId;
    const fault = { kind: "refuse", match: "PUT /api.xro/2.0/Invoices", times: 2, tenantId };
    const messages = ["Account code '200' has been <b>archived</b>"];
    const ordered = await fetch(`${system.demoUrl}/demo/faults`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...fault, messages }),
    });
    expect(ordered.ok, await ordered.text()).toBe(true);
    for (const label of ["First", "Second"]) {
      const answer = await system.ask("POST", "/v1/subscriptions", {
        key: data.testKey,
        idempotencyKey: `refused-${label}`,
        body: { customer_code: "ACME", plan_code: "team", units: 2, label },
      });
      expect(answer.status, answer.text).toBe(201);
      expect(answer.text).toContain('"sync_status":"failed"');
    }
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/attention`);
    const all = page.getByRole("button", { name: "Retry all of this reason" });
    await expect.poll(() => all.count()).toBe(2);
    const rows = page.getByRole("main").locator("ul > li");
    const other = await rows.count();
    expect(other).toBeGreaterThan(2);
    await page.getByRole("link", { name: "2 with this reason" }).first().click();
    await page.getByText("Those with the reason “Account code '200' has been").waitFor();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole("link", { name: "All of this kind" }).click();
    await expect.poll(() => rows.count()).toBe(other);
    await page.getByRole("button", { name: "Retry", exact: true }).first().click();
    await drawer(page).getByText("It is created in the ledger").waitFor();
    await drawer(page).getByRole("button", { name: "Close" }).click();
    await all.first().click();
    await drawer(page).getByRole("button", { name: "Retry all 2" }).click();
    await expect.poll(() => drawer(page).getByText("On its way").count()).toBe(2);
    await drawer(page).getByRole("button", { name: "Done" }).click();
    await expect.poll(() => all.count()).toBe(0);
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "the clock says what falls due before it is advanced, and then advances",
  async ({ open, data }) => {
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/organisation`);
    await page.getByRole("button", { name: "Advance" }).click();
    await drawer(page).getByLabel("How far").fill("2");
    await drawer(page).getByText("2 months", { exact: true }).waitFor();
    await drawer(page).getByRole("cell", { name: "Renewals" }).waitFor();
    await drawer(page).getByLabel("Step").selectOption("days");
    await drawer(page).getByRole("button", { name: "Advance the clock by 2 days" }).click();
    await page.getByRole("region", { name: "What was done" }).waitFor();
    await page.getByText("It stands").waitFor();
    expect(problems).toEqual([]);
  },
);

consoleTest("a plan is made with a meter and its tiers, and changed", async ({ open, data }) => {
  const { page, problems } = await open();
  const typed = (name: string) => drawer(page).getByLabel(name, { exact: true });
  await page.goto(`/console/o/${data.sandbox.organisationId}/plans`);
  await page.getByRole("button", { name: "New plan" }).click();
  await typed("Name").fill("Calls");
  await typed("Code").fill("calls");
  await typed("Price of a unit").fill("10");
  await drawer(page).getByRole("button", { name: "Add a meter" }).click();
  await typed("What its usage costs").selectOption({ label: "Tiered: each tier has its price" });
  await typed("Up to, tier 1").fill("1000");
  await typed("Each, tier 1").fill("0.02");
  expect(await drawer(page).getByRole("button", { name: "Create Calls" }).isDisabled()).toBe(true);
  await typed("Each, tier 2").fill("0.01");
  const faults = await look(page, "plan with a meter");
  await drawer(page).getByRole("button", { name: "Create Calls" }).click();
  await page.getByRole("heading", { level: 1, name: "Calls" }).waitFor();
  await page.getByRole("cell", { name: "NZD 0.02" }).waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await typed("Each, tier 1").fill("0.03");
  await drawer(page).getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "NZD 0.03" }).waitFor();
  expect(faults).toEqual([]);
  expect(problems).toEqual([]);
});

consoleTest(
  "the mapping of a charge is set and cleared, each code by itself",
  async ({ open, data }) => {
    const { page, problems } = await open();
    const below = `/console/o/${data.sandbox.organisationId}`;
    const map = async (label: string, value: string, effect: string) => {
      await drawer(page).getByLabel(label, { exact: true }).selectOption(value);
      await drawer(page).getByRole("button", { name: effect }).click();
      await drawer(page).waitFor({ state: "detached" });
    };
    await page.goto(`${below}/charges`);
    await page.getByRole("button", { name: "Account", exact: true }).first().click();
    await drawer(page).getByRole("button", { name: "Map it" }).waitFor();
    await map("Revenue account", "201", "Map it");
    await page.goto(`${below}/ledger?tab=mapping`);
    const row = page.getByRole("row", { name: /charge hardware-key/ });
    await row.getByRole("button", { name: "Choose" }).click();
    await map("Tax type", "OUTPUT2", "Map it");
    await row.getByRole("cell", { name: "OUTPUT2" }).waitFor();
    await row.getByRole("cell", { name: "201" }).waitFor();
    await row.getByRole("button", { name: "Choose" }).click();
    await drawer(page).getByLabel("Tax type", { exact: true }).selectOption("");
    await map("Revenue account", "", "Clear the mapping");
    await row.waitFor({ state: "detached" });
    expect(problems).toEqual([]);
  },
);
