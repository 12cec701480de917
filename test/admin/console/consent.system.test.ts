/**
 * A consent that begins in the console, in headless Chromium: the ledger is another site, so the
 * browser comes back without the cookie, and the page there leads to the console, which has it.
 * ADMIN-4, ADMIN-18
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningChromium, startChromium } from "../../support/chromium.ts";
import { allow } from "../../support/slowness.ts";
import {
  type AuthorisationFixture,
  newOrganisation,
  service,
  startAuthorisationFixture,
  statusOf,
  stopAuthorisationFixture,
} from "../oauth/authorisation-fixture.ts";
import { createTenant } from "../services/request.ts";

let fixture: AuthorisationFixture;
let chromium: RunningChromium;
let page: Page;
/** The callback is on `localhost`, so the console is too. The demo ledger is on `127.0.0.1`. */
let site: string;

beforeAll(async () => {
  [fixture, chromium] = await Promise.all([startAuthorisationFixture(), startChromium()]);
  site = `http://localhost:${new URL(fixture.system.adminUrl).port}`;
  page = await (await chromium.browser.newContext()).newPage();
  page.setDefaultTimeout(allow(30_000));
  await page.goto(`${site}/console/sign-in`);
});
afterAll(async () => {
  await chromium?.stop();
  await stopAuthorisationFixture();
});

/** Sends JSON as a page of the console does. Returns the status and the answer. */
async function post(path: string, body: object) {
  const [status, text] = await page.evaluate(
    async ([address = "", json = ""]) => {
      const headers = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
      const answer = await fetch(address, { method: "POST", headers, body: json });
      return [answer.status, await answer.text()] as const;
    },
    [path, JSON.stringify(body)],
  );
  return { status, json: text === "" ? null : JSON.parse(text) };
}

const call = (method: string, body: object = {}) => post(`/billing.admin.v1.${method}`, body);

test("a strict cookie survives the return from the ledger's site", async () => {
  const token = await fixture.system.operator("owner", "Petra");
  expect((await post("/console/session", { token })).status).toBe(204);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({
    name: "billing",
    httpOnly: true,
    sameSite: "Strict",
    domain: "localhost",
    path: "/",
  });
  expect(await page.evaluate("document.cookie")).toBe("");
  const organisation = await newOrganisation();
  const tenant = await createTenant(fixture.system);
  const begun = await call(`${service}/BeginLedgerAuthorisation`, { organisation });
  expect(begun.status).toBe(200);

  const returned = page.waitForRequest((sent) => sent.url().startsWith(fixture.callback));
  await page.goto(begun.json.url);
  expect(new URL(page.url()).hostname).toBe("127.0.0.1");
  await page.locator(`input[value="${tenant.tenantId}"]`).check();
  await page.getByRole("button", { name: "Allow access" }).click();
  expect((await (await returned).allHeaders()).cookie).toBeUndefined();
  await page.getByRole("heading", { name: "Connected" }).waitFor();
  expect(await statusOf(organisation)).toBe("CONNECTED");

  const back = page.getByRole("link", { name: "Back to the console" });
  const asked = page.waitForRequest((sent) => sent.url().includes("/console/o/"));
  await back.click();
  expect((await (await asked).allHeaders()).cookie).toContain("billing=");
  expect(page.url()).toBe(`${site}/console/o/${organisation}/ledger`);
  const session = await call("SessionService/GetSession");
  expect(session).toMatchObject({ status: 200, json: { operator: { name: "Petra" } } });
});

test("a page of another site gets nothing by the console's cookie", async () => {
  const other = await page.context().newPage();
  await other.goto(fixture.system.demoUrl);
  const outcome = await other.evaluate(
    (address) =>
      fetch(address, {
        method: "POST",
        credentials: "include",
        headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
        body: "{}",
      }).then(
        ({ status }) => String(status),
        () => "refused",
      ),
    `${site}/billing.admin.v1.SessionService/GetSession`,
  );
  expect(outcome).toBe("refused");
  await other.close();
});
