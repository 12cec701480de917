/**
 * Takes the pictures of the documentation from a service that runs with the data of a first start:
 * `BILLING_OPERATOR_TOKEN=op_… node packages/console/tools/pictures.ts`. They go to
 * `docs/images/console`. It adds subscriptions to the sandbox, each once.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startChromium } from "../../../test/support/chromium.ts";

const { BILLING_OPERATOR_TOKEN: token, CONSOLE_ADMIN_URL: origin = "http://127.0.0.1:8081" } =
  process.env;
const folder = join(import.meta.dirname, "../../../docs/images/console");

/** A documentation page loads each at once. */
const maxBytes = 150_000;

const headers = { Authorization: `Bearer ${token}`, "Connect-Protocol-Version": "1" };

/** Calls the admin API. The answer is as it comes. */
async function ask(method: string, body: object, idempotencyKey?: string) {
  const answer = await fetch(`${origin}/billing.admin.v1.${method}`, {
    method: "POST",
    headers: {
      ...headers,
      "Content-Type": "application/json",
      ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

const customers = ["ACME", "GLOBEX", "INITECH"];
const plans = ["growth", "team", "scale", "steps"];
const labels = ["Head office", "Warehouse", "Design studio", "Support", "Harbour site", "Research"];

/** Adds subscriptions that renew on many days, and returns when the figures have them. */
async function addSubscriptions(organisation: string, today: string): Promise<void> {
  for (let index = 0; index < 24; index++) {
    const began = new Date(Date.parse(today) - ((index * 5) % 27) * 86_400_000);
    const order = {
      organisation,
      reason: "Pictures of the documentation",
      customer_code: customers[index % customers.length],
      plan_code: plans[index % plans.length],
      units: 3 + ((index * 7) % 40),
      label: labels[index % labels.length],
      start_date: began.toISOString().slice(0, "YYYY-MM-DD".length),
    };
    await ask("SubscriptionService/CreateSubscription", order, `pictures-${index}`);
  }
  for (let tries = 0; tries < 100; tries++) {
    const { subscriptions = [] } = await ask("OverviewService/GetOverview", { organisation });
    const active = subscriptions.find(({ status }: { status: string }) => /ACTIVE/.test(status));
    if (active?.count >= 24) return;
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
  throw new Error("the overview does not count them");
}

async function take(page: Page, name: string): Promise<void> {
  await page.locator("h1").waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  await page.waitForLoadState("networkidle");
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  const { size } = statSync(path);
  if (size > maxBytes) throw new Error(`${name}.png has ${size} bytes`);
  console.log(`${name}.png ${Math.round(size / 1_000)} kB`);
}

/** Opens the page of the first row. */
async function openFirst(page: Page, list: string): Promise<void> {
  await page.goto(list);
  await page.locator("[data-row-link]").first().click();
  await page.waitForURL((url) => !url.href.endsWith(list));
}

const { data } = await ask("OrganisationService/ListOrganisations", {});
const { id } = data.find(({ livemode }: { livemode?: boolean }) => livemode !== true);
const { testClock } = await ask("TestClockService/GetTestClock", { organisation: id });
await addSubscriptions(id, testClock.now.slice(0, "YYYY-MM-DD".length));
mkdirSync(folder, { recursive: true });
const chromium = await startChromium();
try {
  const context = await chromium.browser.newContext({
    baseURL: origin,
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  await context.request.post("/console/session", {
    headers: { Origin: origin, "Connect-Protocol-Version": "1" },
    data: { token },
  });
  const page = await context.newPage();
  const below = `/console/o/${id}`;
  await page.goto(`${below}/overview`);
  await take(page, "overview");
  await page.emulateMedia({ colorScheme: "dark" });
  await take(page, "overview-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await openFirst(page, `${below}/subscriptions?label=Metered`);
  await page.getByText("Verified in this browser").first().waitFor();
  await page.getByText("How it came about").first().click();
  await take(page, "subscription");
  await page.goto(`${below}/attention`);
  await page.locator("main li a").first().click();
  await page.getByText("Verified in this browser").waitFor();
  await take(page, "refused-invoice");
  await page.goto(`${below}/calendar`);
  await take(page, "calendar");
  await page.emulateMedia({ colorScheme: "dark" });
  await openFirst(page, `${below}/plans?code=growth`);
  await take(page, "plan");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${below}/overview`);
  await take(page, "phone");
} finally {
  await chromium.stop();
}
