/**
 * The documentation as a person reads it: headless Chromium on the pages that the built API serves.
 */
import axe from "axe-core";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { parse } from "yaml";
import { type RunningChromium, startChromium } from "../support/chromium.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { reusedSystemTest } from "../support/fixtures.ts";
import { allow } from "../support/slowness.ts";

/** A page with what went wrong in it, and the hosts from which it loaded something. */
interface Opened {
  readonly page: Page;
  readonly problems: readonly string[];
  readonly hosts: ReadonlySet<string>;
}

const test = reusedSystemTest
  .extend(
    "chromium",
    perFile,
    started(startChromium, (chromium: RunningChromium) => chromium.stop()),
  )
  .extend("open", async ({ chromium, system }, { onCleanup }) => {
    const contexts: BrowserContext[] = [];
    onCleanup(async () => {
      for (const context of contexts) await context.close();
    });
    return async (options: BrowserContextOptions = {}): Promise<Opened> => {
      const { adminUrl: baseURL } = system;
      const context = await chromium.browser.newContext({ baseURL, locale: "en-GB", ...options });
      contexts.push(context);
      const page = await context.newPage();
      page.setDefaultTimeout(allow(20_000));
      const problems: string[] = [];
      const hosts = new Set<string>();
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      page.on("pageerror", (error) => problems.push(error.message));
      page.on("request", (request) => hosts.add(new URL(request.url()).host));
      return { page, problems, hosts };
    };
  });

/** One page of each kind. Operators have all pages. */
const kinds = [
  "/docs",
  "/docs/start",
  "/docs/guide",
  "/docs/configuration",
  "/docs/errors/rate_limited",
  "/docs/rules/units",
  "/docs/reference",
  "/docs/reference/usage-events",
  "/docs/reference/subscriptions/change-units",
  "/docs/reference/objects/subscription-preview",
  "/docs/reference/webhooks/invoice-paid",
  "/docs/none",
];

/** Pages that are too long for axe here, and have the widest words. */
const longest = ["/docs/operations/run", "/docs/errors", "/docs/reference/objects"];

const untilTitle = (page: Page, name: string) =>
  page.getByRole("heading", { level: 1, name, exact: true }).waitFor();

test("a reader comes from the first address to a rule, an error and an operation", async ({
  open,
  system,
}) => {
  const { page, problems, hosts } = await open({ baseURL: system.baseUrl });
  await page.goto("/");
  await page.waitForURL(/\/docs$/);
  const menu = page.getByRole("navigation", { name: "Documentation" });
  await menu.getByRole("link", { name: "Guide" }).click();
  await untilTitle(page, "Guide for platforms");
  await page.getByRole("main").getByRole("link", { name: "rules", exact: true }).click();
  await untilTitle(page, "Rules");
  await menu.getByRole("link", { name: "Errors" }).click();
  await page.getByRole("main").getByRole("link", { name: "units_unchanged" }).click();
  await untilTitle(page, "units_unchanged");
  expect(await menu.locator('[aria-current="true"]').allInnerTexts()).toEqual(["Errors"]);
  await page.getByRole("link", { name: "Set the total number of units" }).click();
  await untilTitle(page, "Set the total number of units of a subscription");
  await page.getByRole("link", { name: "UnitsChanged" }).first().click();
  await untilTitle(page, "UnitsChanged");
  await page.getByRole("link", { name: "Next" }).click();
  await untilTitle(page, "UpcomingInvoice");
  expect([...hosts]).toEqual([new URL(system.baseUrl).host]);
  expect(problems).toEqual([]);
});

test("the first page shows the console first, in the console's type", async ({ open }) => {
  const { page, problems } = await open();
  await page.goto("/docs");
  await page.waitForFunction("document.querySelector('main img').naturalWidth > 0");
  await page.waitForFunction("document.fonts.check('16px \"Inter Variable\"')");
  const loaded = "[...document.fonts].some(({ status }) => status === 'loaded')";
  expect(await page.evaluate(loaded)).toBe(true);
  expect(problems).toEqual([]);
});

test("an unknown page is shown with the menu, whose links lead out", async ({ open }) => {
  const { page } = await open();
  const answer = await page.goto("/docs/reference/none/at-all");
  expect(answer?.status()).toBe(404);
  await untilTitle(page, "There is no such page");
  await page.getByRole("navigation").getByRole("link", { name: "Guide" }).click();
  await untilTitle(page, "Guide for platforms");
});

test("the slash searches, the arrows choose, and Enter goes there", async ({ open }) => {
  const { page, problems } = await open();
  await page.goto("/docs/errors/rate_limited");
  await page.keyboard.press("/");
  await page.keyboard.type("change units");
  const found = page.getByRole("search").getByRole("link");
  await expect.poll(() => found.count()).toBeGreaterThan(1);
  await page.keyboard.press("Escape");
  await expect.poll(() => found.count()).toBe(0);
  await page.keyboard.press("/");
  await page.keyboard.type("proration_behaviour_not_allowed");
  await expect.poll(() => found.first().innerText()).toContain("proration_behaviour_not_allowed");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await untilTitle(page, "proration_behaviour_not_allowed");
  await page.keyboard.press("/");
  await page.keyboard.type("qqqq");
  await page.getByText("Nothing is found.").waitFor();
  expect(problems).toEqual([]);
});

test("the chosen language of samples is that of the next page, and its code is copied", async ({
  open,
}) => {
  const { page } = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto("/docs/reference/plans/list-plans");
  await page.getByText("Python", { exact: true }).click();
  await page.goto("/docs/reference/subscriptions/create-subscription");
  expect(await page.getByRole("radio", { name: "Python" }).isChecked()).toBe(true);
  const sample = page.locator(".panel", { hasText: "requests.post" });
  await sample.hover();
  await sample.getByRole("button", { name: "Copy" }).click();
  await sample.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^import os\n/);
});

test("without scripts a page has its text, its menu and the choice of language", async ({
  open,
}) => {
  const { page, problems } = await open({ javaScriptEnabled: false });
  await page.goto("/docs/reference/plans/list-plans");
  expect(await page.getByRole("searchbox").count()).toBe(0);
  await page.getByText("Go", { exact: true }).click();
  await page.getByText("package main").waitFor();
  await page.getByRole("navigation", { name: "Documentation" }).getByText("Guide").click();
  await untilTitle(page, "Guide for platforms");
  expect(problems).toEqual([]);
});

test("on a phone the menu opens and closes by its button", async ({ open }) => {
  const { page } = await open({ viewport: { width: 390, height: 844 } });
  await page.goto("/docs/guide");
  const menu = page.getByRole("navigation", { name: "Documentation" });
  expect(await menu.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).click();
  await menu.getByRole("link", { name: "Webhooks", exact: true }).click();
  await untilTitle(page, "Webhooks");
  await page.getByRole("button", { name: "Menu" }).click();
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "hidden" });
});

test("a page runs no script that someone adds to it", async ({ open }) => {
  const { page, problems } = await open();
  await page.goto("/docs");
  const add =
    "(() => { const added = document.createElement('script');" +
    "added.textContent = 'window.hit = true';" +
    "document.head.append(added); return window.hit === true; })()";
  expect(await page.evaluate(add)).toBe(false);
  await expect.poll(() => problems.join()).toContain("Content Security Policy");
});

test("the keyboard skips the menu, and reaches a wide table", async ({ open }) => {
  const { page } = await open();
  await page.goto("/docs/configuration");
  await page.keyboard.press("Tab");
  const focused = "document.activeElement.outerHTML.slice(0, 60)";
  expect(await page.evaluate(focused)).toContain('class="skip"');
  await page.keyboard.press("Enter");
  expect(await page.evaluate(focused)).toContain('<main id="content"');
  const table = page.getByRole("group", { name: "Table: " }).first();
  await table.focus();
  expect(await page.evaluate(focused)).toContain('class="wide"');
});

test("axe finds no fault in a page of each kind, and no faint text in dark ones", async ({
  open,
}) => {
  const faultsOf = async (page: Page, options: axe.RunOptions) => {
    await page.evaluate(axe.source);
    const run = `axe.run(${JSON.stringify(options)})`;
    const { violations, passes } = await page.evaluate<axe.AxeResults>(run);
    expect(passes.length).toBeGreaterThan(0);
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  };
  const { page } = await open();
  for (const path of kinds) {
    await page.goto(path);
    expect([path, await faultsOf(page, {})]).toEqual([path, []]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  for (const path of ["/docs/guide", "/docs/configuration", "/docs/reference/plans/list-plans"]) {
    await page.goto(path);
    expect([path, await faultsOf(page, { runOnly: ["color-contrast"] })]).toEqual([path, []]);
  }
});

test("no page is wider than a narrow screen", async ({ open }) => {
  const { page } = await open({ viewport: { width: 320, height: 640 } });
  for (const path of [...kinds, ...longest]) {
    await page.goto(path);
    const width = "document.documentElement.scrollWidth";
    expect([path, await page.evaluate(width)]).toEqual([path, 320]);
  }
});

test("each page is served by its entity tag", async ({ system }) => {
  const ask = (tag: string) =>
    fetch(`${system.baseUrl}/docs/reference`, { headers: { "if-none-match": tag } });
  const etag = (await ask("")).headers.get("etag") ?? "";
  expect((await ask(etag)).status).toBe(304);
  expect(await (await fetch(`${system.baseUrl}/llms.txt`)).text()).toContain("](docs/guide.md)");
});

test("pages for operators are on the admin port, not on the public one", async ({ system }) => {
  const statuses = async (path: string) =>
    Promise.all(
      [system.baseUrl, system.adminUrl].map(async (url) => (await fetch(url + path)).status),
    );
  expect(await statuses("/docs/guide")).toEqual([200, 200]);
  expect(await statuses("/docs/operations/run")).toEqual([404, 200]);
  expect(await statuses("/docs/operations/run.md")).toEqual([404, 200]);
});

test("the OpenAPI document is also served as YAML", async ({ system }) => {
  const [json, yaml] = await Promise.all(
    ["json", "yaml"].map((form) => fetch(`${system.baseUrl}/v1/openapi.${form}`)),
  );
  expect(yaml?.headers.get("content-type")).toBe("application/yaml");
  expect(parse((await yaml?.text()) ?? "")).toEqual(await json?.json());
});
