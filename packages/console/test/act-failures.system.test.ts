/** Acts that fail: each says whether something was done, and loses nothing that was typed. */
import { create, toBinary } from "@bufbuild/protobuf";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { ErrorDetailSchema } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import { effectButton, openAct, stateOf, subscribe, typeUnits, untilDone } from "./acts-fixture.ts";
import { consoleTest } from "./console-fixture.ts";

const change = "**/billing.admin.v1.SubscriptionService/ChangeUnits";

const reasonOf = (page: Page) => page.getByLabel("Reason").inputValue();

consoleTest(
  "an act without an answer is repeated with its key, and done once",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Lost answer");
    const { page } = await open();
    const keys: (string | undefined)[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/ChangeUnits")) keys.push(request.headers()["idempotency-key"]);
    });
    await openAct(page, on, id, "units");
    await typeUnits(page, "13");
    await page.route(change, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await effectButton(page, "13").click();
    await page.getByText(/It is not known whether this was done/).waitFor();
    expect(await page.getByLabel("New total of seats").isDisabled()).toBe(true);
    await page.unroute(change);
    await page.getByRole("button", { name: /^Try again: Change to 13 seats/ }).click();
    await untilDone(page, /^Done: Raised to 13 seats/);
    expect(new Set(keys).size).toBe(1);
    expect(keys.length).toBe(2);
    await expect.poll(() => page.getByText(/Units from 10 to 13/).count()).toBe(1);
  },
);

consoleTest(
  "an act after the session's end is done once signed in again, in place",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Session");
    const { page } = await open();
    await openAct(page, on, id, "units");
    await typeUnits(page, "14");
    await page.context().clearCookies();
    // A read in the background may have opened the dialog over the button.
    await effectButton(page, "14").dispatchEvent("click");
    await page.getByText("Your session has ended").waitFor();
    expect((await stateOf(on, id)).units).toBe(10);
    await page.getByLabel("Operator's token").fill(data.operatorToken ?? "");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Your session has ended").waitFor({ state: "hidden" });
    expect(await reasonOf(page)).toBe("Their new office");
    await effectButton(page, "14").and(page.locator(":enabled")).click();
    await untilDone(page, /^Done: Raised to 14 seats/);
  },
);

/** Answers of the service, with what the drawer says and whether the fields wait. */
const answers = [
  ["rate_limited", "resource_exhausted", 429, "Too many requests", false],
  ["temporarily_unavailable", "unavailable", 503, "Nothing was changed", false],
  ["request_in_progress", "aborted", 409, "Another request is in progress", true],
  ["internal_error", "internal", 500, "It is not known whether this was done", true],
] as const;

consoleTest(
  "an act that is refused or not done says so, and goes on from there",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Refusals");
    const { page } = await open();
    await openAct(page, on, id, "units");
    await typeUnits(page, "15");
    for (const [code, connect, status, words, isOpen] of answers) {
      const detail = create(ErrorDetailSchema, { code, message: "Not now", requestId: "r-1" });
      const value = Buffer.from(toBinary(ErrorDetailSchema, detail)).toString("base64");
      const json = {
        code: connect,
        message: "Not now",
        details: [{ type: ErrorDetailSchema.typeName, value }],
      };
      await page.route(change, (route) => route.fulfill({ status, json }));
      await effectButton(page, "15").click();
      await page.getByRole("alert").getByText(code).waitFor();
      await page.getByRole("alert").getByText(words).waitFor();
      expect(await page.getByLabel("New total of seats").isDisabled()).toBe(isOpen);
      expect(await reasonOf(page)).toBe("Their new office");
      await page.unroute(change);
    }
    await effectButton(page, "15").click();
    await untilDone(page, /^Done: Raised to 15 seats/);
  },
);

consoleTest(
  "a preview older than a minute is loaded again before the act",
  async ({ open, data, system }) => {
    const on = { data, system };
    const id = await subscribe(on, "Old preview");
    const { page } = await open();
    await page.clock.install();
    await openAct(page, on, id, "units");
    await typeUnits(page, "16");
    await page.clock.fastForward("01:05");
    await page.getByText("This preview is older than a minute.").waitFor();
    expect(await effectButton(page, "16").isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Load again" }).click();
    await effectButton(page, "16").and(page.locator(":enabled")).click();
    await untilDone(page, /^Done: Raised to 16 seats/);
  },
);
