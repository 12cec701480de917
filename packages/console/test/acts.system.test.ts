/** Acts on subscriptions: previewed, then done, by whom and how, and as it was previewed. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { tables } from "../../../test/support/rows.ts";
import { effectButton, openAct, stateOf, subscribe, typeUnits, untilDone } from "./acts-fixture.ts";
import { consoleTest, untilShown } from "./console-fixture.ts";
import { look } from "./looks.ts";

const focused = "document.activeElement.textContent";

/** Goes on by the keyboard to the next element with this name. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let stops = 0; stops < 12; stops += 1) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate("document.activeElement.tagName")) === name) return;
  }
  throw new Error(`the keyboard does not come to a ${name}`);
}

consoleTest(
  "units are changed by the keyboard alone, and what came is said",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Keyboard");
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions/${id}`);
    await untilShown(page);
    await page.getByRole("button", { name: "Change units" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("12");
    await page.getByRole("button", { name: /12 seats and (?:raise|issue)/ }).waitFor();
    await tabTo(page, "TEXTAREA");
    await page.keyboard.type("Their new office");
    await effectButton(page, "12").and(page.locator(":enabled")).waitFor();
    await tabTo(page, "BUTTON");
    await page.keyboard.press("Enter");
    await untilDone(page, /^Done: Raised to 12 seats\. Invoice INV-\d+ (?:was raised by|of) NZD/);
    await expect.poll(() => page.evaluate(focused)).toMatch(/Units from 10 to 12|INV-|event/);
    expect((await stateOf(on, id)).units).toBe(12);
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "an end that removes invoices asks for the customer's code",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "End and restore");
    const { page, problems } = await open();
    await openAct(page, on, id, "end");
    await page.getByLabel(/^Now/).check();
    await page.getByLabel(/^Delete its unsent invoices/).check();
    await page.getByLabel("Reason").fill("They asked for it");
    const events = page.getByRole("region", { name: "Events" });
    await events.getByText("invoice.deleted").waitFor();
    await events.getByText("No endpoint is sent them.").waitFor();
    const kinds = await events.getByRole("listitem").allInnerTexts();
    expect(kinds).toEqual(["subscription.ended", "invoice.deleted"]);
    const button = page.getByRole("button", { name: /End now and remove invoice INV-/ });
    await page.getByLabel(/type the customer's code: ACME/).fill("OTHER");
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel(/type the customer's code: ACME/).fill("ACME");
    await button.click();
    await untilDone(page, /^Done: Ended\. Invoice INV-\d+ was removed/);
    expect((await stateOf(on, id)).status).toBe("ended");
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByLabel("Reason").fill("A mistake");
    await page.getByRole("button", { name: /Restore it/ }).click();
    await untilDone(page, /^Done: Restored/);
    expect((await stateOf(on, id)).status).toBe("active");
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "a subscription is created from a customer, a plan and terms",
  async ({ open, data }) => {
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions`);
    await page.getByRole("link", { name: "New subscription" }).click();
    await page.getByLabel("Find a customer").fill("init");
    await page.getByRole("link", { name: /INITECH/ }).click();
    await page.getByRole("link", { name: /team/ }).click();
    await page.getByLabel("Units: seats").fill("7");
    await page.getByLabel("Label").fill("From the console");
    await page.getByLabel("Reason").fill("Signed today");
    await page.getByText("Verified in this browser").waitFor();
    const faults = await look(page, "subscriptions/new");
    await page
      .getByRole("button", { name: /Create it and issue an invoice of NZD.87\.50/ })
      .click();
    await page.getByRole("heading", { level: 1, name: "From the console" }).waitFor();
    await untilDone(page, /^Done: Created\. Invoice INV-\d+ of NZD.87\.50 was issued/);
    expect(faults).toEqual([]);
    expect(problems).toEqual([]);
  },
);

consoleTest(
  "an operator overtaken by another is refused, and previews again",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Two operators");
    const { page } = await open();
    await openAct(page, on, id, "units");
    await typeUnits(page, "12");
    const other = await open();
    await openAct(other.page, on, id, "units");
    await typeUnits(other.page, "11");
    await effectButton(other.page, "11").click();
    await untilDone(other.page, /^Done: Raised to 11 seats/);
    await effectButton(page, "12").click();
    await page.getByText(/changed since the preview, so nothing was done/).waitFor();
    expect(await page.getByLabel("Reason").inputValue()).toBe("Their new office");
    await page.getByText("from 11").waitFor();
    await effectButton(page, "12").and(page.locator(":enabled")).click();
    await untilDone(page, /^Done: Raised to 12 seats/);
    expect((await stateOf(on, id)).units).toBe(12);
  },
);

consoleTest(
  "an end that waits for a ledger which does not answer is broken off",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Waits");
    const pause = (until: string) =>
      system.pool.query(
        `UPDATE ledger_connections SET paused_until = ${until}, paused_reason = 'closed'
          WHERE organisation_id = $1`,
        [data.sandbox.organisationId],
      );
    await pause("now() + interval '1 day'");
    const ended = system.ask("POST", `/v1/subscriptions/${id}/end`, {
      key: data.testKey,
      idempotencyKey: "waits",
      body: { when: "now", delete_unsent_invoices: true },
    });
    const jobs = tables(system.pool).ledgerJob;
    const waits = { subscriptionId: id, kind: "end_subscription" };
    await expect.poll(() => jobs.count({ where: waits })).toBe(1);
    const { page, problems } = await open();
    await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions/${id}`);
    await page.getByRole("button", { name: "Break off what waits" }).click();
    const waiting = /^the subscription is being ended, 0 of 1 invoices removed/;
    await page.getByRole("dialog").getByText(waiting).waitFor();
    await page.getByLabel("Reason").fill("The ledger was closed");
    const button = page.getByRole("button", { name: "Break off, and issue nothing" });
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel(/type the customer's code: ACME/).fill("ACME");
    await button.click();
    await untilDone(page, /^Done: What waited was broken off\. Nothing was issued/);
    await page.getByRole("button", { name: "Break off what waits" }).waitFor({ state: "detached" });
    await ended;
    await pause("NULL");
    expect((await stateOf(on, id)).status).toBe("active");
    // Meanwhile the upcoming invoice is refused.
    expect(problems.filter((problem) => !problem.includes("400 (Bad Request)"))).toEqual([]);
  },
);

consoleTest("a reader's page has no act, also by its address", async ({ open, data, system }) => {
  const on = { data, system };
  const id = await subscribe(on, "Reader");
  const token = await system.operator("read-only");
  const { page } = await open({ token });
  const below = `/console/o/${data.sandbox.organisationId}/subscriptions`;
  await page.goto(`${below}/${id}?act=units`);
  await untilShown(page);
  const names = /Change|End|Restore|More/;
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(await page.getByRole("button", { name: names }).count()).toBe(0);
  await page.goto(below);
  await untilShown(page);
  expect(await page.getByRole("link", { name: "New subscription" }).count()).toBe(0);
  await page.goto(`${below}/new?customer=ACME&plan=team`);
  await page.getByText("Your role does not create subscriptions.").waitFor();
  expect(await page.locator("form").count()).toBe(0);
});

consoleTest(
  "each drawer has no fault of access, light and dark",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, `Long ${"name ".repeat(20)}`);
    const { page, problems } = await open();
    const faults: string[] = [];
    for (const act of ["units", "end", "restore", "break_off"]) {
      await openAct(page, on, id, act);
      if (act === "units") await typeUnits(page, "999");
      if (act === "end") await page.getByLabel(/^Now/).check();
      await page.getByLabel("Reason").fill("Because");
      await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
      faults.push(...(await look(page, act)));
    }
    expect(faults).toEqual([]);
    // A preview that is refused is answered so.
    expect(problems.filter((problem) => !problem.includes("400 (Bad Request)"))).toEqual([]);
  },
);
