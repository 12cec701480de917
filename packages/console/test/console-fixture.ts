/** The built console over a started service with the data of a first start, in a real browser. */
import { randomBytes } from "node:crypto";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { type RunningChromium, startChromium } from "../../../test/support/chromium.ts";
import { perFile, started } from "../../../test/support/file-fixture.ts";
import { systemTest } from "../../../test/support/fixtures.ts";
import { allow } from "../../../test/support/slowness.ts";
import type { TestSystem } from "../../../test/support/system.ts";
import { type CreatedFirstData, createFirstData } from "../../dev/src/demo/first-data.ts";
import { beginningOfHistory, createSandboxHistory } from "../../dev/src/demo/sandbox-history.ts";
import { ensureConsole } from "../../dev/src/processes/console-build.ts";

const secretKey = randomBytes(32).toString("base64");

/** A page with what went wrong in it, and the hosts from which it loaded something. */
export interface OpenedPage {
  readonly page: Page;
  readonly problems: string[];
  readonly hosts: ReadonlySet<string>;
}

interface OnSystem {
  readonly system: TestSystem;
}

/** The data of a first start: a live organisation, and a sandbox with a subscription per state. */
async function firstStart({ system }: OnSystem): Promise<CreatedFirstData> {
  const { baseUrl, adminUrl, databaseUrl, demoUrl: demoLedgerUrl } = system;
  const sandboxClock = beginningOfHistory(new Date());
  const data = await createFirstData({ databaseUrl, demoLedgerUrl, secretKey, sandboxClock });
  if (data === null) throw new Error("the database was empty");
  const { sandbox, operatorToken } = data;
  const where = { baseUrl, adminUrl, databaseUrl, demoLedgerUrl };
  await createSandboxHistory({ ...where, sandbox, operatorToken });
  return data;
}

/** How a page is opened. `token`: whose session it is, the first operator's by default. */
interface OpenOptions extends BrowserContextOptions {
  readonly token?: string;
}

/** Tests on the page. `open` opens one, and keeps what it says and what it asks of others. */
export const consoleTest = systemTest
  .extend("settings", perFile, async () => {
    await ensureConsole(() => undefined);
    return { env: { SECRET_KEY: secretKey } };
  })
  .extend("data", perFile, firstStart)
  .extend(
    "chromium",
    perFile,
    started(startChromium, (chromium: RunningChromium) => chromium.stop()),
  )
  .extend("open", async ({ chromium, system, data }, { onCleanup }) => {
    const contexts: BrowserContext[] = [];
    onCleanup(async () => {
      for (const context of contexts) await context.close();
    });
    return async ({ token, ...options }: OpenOptions = {}): Promise<OpenedPage> => {
      const asked = { baseURL: system.adminUrl, locale: "en-GB", ...options };
      const context = await chromium.browser.newContext(asked);
      contexts.push(context);
      await signIn(context, system.adminUrl, token ?? data.operatorToken ?? "");
      const page = await context.newPage();
      page.setDefaultTimeout(allow(15_000));
      const problems: string[] = [];
      const hosts = new Set<string>();
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      page.on("pageerror", (error) => problems.push(error.message));
      page.on("request", (request) => hosts.add(new URL(request.url()).origin));
      return { page, problems, hosts };
    };
  });

/** Signs in as the page does. */
async function signIn(context: BrowserContext, origin: string, token: string): Promise<void> {
  const headers = { Origin: origin, "Connect-Protocol-Version": "1" };
  const answer = await context.request.post("/console/session", { headers, data: { token } });
  expect(answer.status(), await answer.text()).toBe(204);
}

/** Waits until the page shows what it has read. */
export async function untilShown(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
}
