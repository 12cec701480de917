/**
 * The documentation as a person reads it: headless Chromium on the pages that the built API serves.
 */
import axe from "axe-core";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
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
      const { baseUrl: baseURL } = system;
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

/** One page of each kind. */
const kinds = [
  "/docs",
  "/docs/start",
  "/docs/guide",
  "/docs/configuration",
  "/docs/errors/rate_limited",
  "/docs/rules/units",
  "/docs/reference",
  "/docs/reference/usage-events",
  "/docs/reference/webhooks",
];

/** Pages that are too long for axe here, and have the widest words. */
const longest = [
  "/docs/operations/run",
  "/docs/reference/subscriptions",
  "/docs/reference/objects",
];

const untilTitle = (page: Page, name: string) =>
  page.getByRole("heading", { level: 1, name, exact: true }).waitFor();

test("a reader comes from the contents to a rule, an error and an operation", async ({
  open,
  system,
}) => {
  const { page, problems, hosts } = await open();
  await page.goto("/docs");
  const menu = page.getByRole("navigation", { name: "Documentation" });
  await menu.getByRole("link", { name: "Guide" }).click();
  await untilTitle(page, "Guide for platforms");
  await page.getByRole("main").getByRole("link", { name: "rules", exact: true }).click();
  await untilTitle(page, "Rules");
  await menu.getByRole("link", { name: "Errors" }).click();
  await page.getByRole("link", { name: "units_unchanged" }).click();
  await untilTitle(page, "units_unchanged");
  expect(await menu.locator('[aria-current="true"]').allInnerTexts()).toEqual(["Errors"]);
  await menu.getByRole("link", { name: "Reference" }).click();
  const summary = "Set the total number of units of a subscription";
  await page.getByRole("link", { name: summary }).click();
  await page.getByRole("heading", { name: summary }).waitFor();
  await page.getByRole("link", { name: "ChangeUnitsRequest" }).first().click();
  await page.waitForURL(/reference\/objects#changeunitsrequest$/);
  expect([...hosts]).toEqual([new URL(system.baseUrl).host]);
  expect(problems).toEqual([]);
});

test("the start shows its picture, and the style sheet applies", async ({ open }) => {
  const { page, problems } = await open();
  await page.goto("/docs/start");
  await page.waitForFunction("document.querySelector('main img').naturalWidth > 0");
  const display = "getComputedStyle(document.querySelector('header ul')).display";
  expect(await page.evaluate(display)).toBe("flex");
  expect(problems).toEqual([]);
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
  const { page, problems } = await open();
  for (const path of kinds) {
    await page.goto(path);
    expect([path, await faultsOf(page, {})]).toEqual([path, []]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  for (const path of ["/docs/guide", "/docs/configuration"]) {
    await page.goto(path);
    expect([path, await faultsOf(page, { runOnly: ["color-contrast"] })]).toEqual([path, []]);
  }
  expect(problems).toEqual([]);
});

test("no page is wider than a narrow screen", async ({ open }) => {
  const { page } = await open({ viewport: { width: 320, height: 640 } });
  for (const path of [...kinds, ...longest]) {
    await page.goto(path);
    const width = "document.documentElement.scrollWidth";
    expect([path, await page.evaluate(width)]).toEqual([path, 320]);
  }
});

test("each page is served by its entity tag, also beside the console", async ({ system }) => {
  const ask = (tag: string) =>
    fetch(`${system.baseUrl}/docs/reference`, { headers: { "if-none-match": tag } });
  const etag = (await ask("")).headers.get("etag") ?? "";
  expect((await ask(etag)).status).toBe(304);
  expect(await (await fetch(`${system.baseUrl}/llms.txt`)).text()).toContain("](docs/guide.md)");
  expect((await fetch(`${system.adminUrl}/docs`)).status).toBe(200);
});
