/** The built console over a started service with the data of a first start, in a real browser. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { preview } from "vite";
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

/** The policy under which the page is served. */
const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self' 'nonce-__NONCE__'"],
  ...["img-src 'self' data:", "font-src 'self'", "connect-src 'self'", "form-action 'self'"],
  ...["base-uri 'none'", "frame-ancestors 'none'"],
].join("; ");

/** Tests on the page. `open` opens one; what it says on its console, and asks of others, is kept. */
export const consoleTest = systemTest
  .extend("settings", perFile, { env: { SECRET_KEY: secretKey } })
  .extend("data", perFile, firstStart)
  .extend(
    "chromium",
    perFile,
    started(startChromium, (chromium: RunningChromium) => chromium.stop()),
  )
  .extend("origin", perFile, async ({ system, data }, { onCleanup }): Promise<string> => {
    await ensureConsole(() => undefined);
    const headers = { Authorization: `Bearer ${data.operatorToken}` };
    const server = await preview({
      configFile: join(import.meta.dirname, "../vite.config.ts"),
      logLevel: "error",
      preview: {
        port: 0,
        host: "127.0.0.1",
        headers: { "Content-Security-Policy": policy },
        proxy: { "^/billing\\.admin\\.v1\\.": { target: system.adminUrl, headers } },
      },
    });
    onCleanup(() => server.close());
    return new URL(server.resolvedUrls?.local[0] ?? "").origin;
  })
  .extend("open", async ({ chromium, origin }, { onCleanup }) => {
    const contexts: BrowserContext[] = [];
    onCleanup(async () => {
      for (const context of contexts) await context.close();
    });
    return async (options: BrowserContextOptions = {}): Promise<OpenedPage> => {
      const asked = { baseURL: origin, locale: "en-GB", ...options };
      const context = await chromium.browser.newContext(asked);
      contexts.push(context);
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

/** Waits until the page shows what it has read. */
export async function untilShown(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
}
