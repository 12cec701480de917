/** What tests of acts on subscriptions begin with. */
import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { TestSystem } from "../../../test/support/system.ts";
import type { CreatedFirstData } from "../../dev/src/demo/first-data.ts";
import { untilShown } from "./console-fixture.ts";

/** Where the tests are. */
interface Place {
  readonly system: TestSystem;
  readonly data: CreatedFirstData;
}

/** Creates a subscription of ten seats in the sandbox. Returns its id. */
export async function subscribe({ system, data }: Place, label: string): Promise<string> {
  const answer = await system.ask("POST", "/v1/subscriptions", {
    key: data.testKey,
    idempotencyKey: randomUUID(),
    body: { customer_code: "ACME", plan_code: "team", units: 10, label },
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.json.id;
}

/** Returns how a subscription is. */
export async function stateOf({ system, data }: Place, id: string) {
  const answer = await system.ask("GET", `/v1/subscriptions/${id}`, { key: data.testKey });
  return answer.json;
}

/** Opens the page of a subscription, with the drawer of an act. */
export async function openAct(page: Page, { data }: Pick<Place, "data">, id: string, act: string) {
  await page.goto(`/console/o/${data.sandbox.organisationId}/subscriptions/${id}?act=${act}`);
  await page.getByRole("dialog").waitFor();
  await untilShown(page);
}

/** Types units and a reason, and waits for the preview. */
export async function typeUnits(page: Page, units: string): Promise<void> {
  await page.getByLabel("New total of seats").fill(units);
  await page.getByLabel("Reason").fill("Their new office");
  await effectButton(page, units).and(page.locator(":enabled")).waitFor();
}

/** The button that changes to these units. */
export function effectButton(page: Page, units: string) {
  return page.getByRole("button", { name: new RegExp(`Change to ${units} seats`) });
}

/** Waits until the page says that the act was done, as it was previewed. */
export async function untilDone(page: Page, words: RegExp): Promise<void> {
  const said = page.getByRole("region", { name: "What was done" });
  await said.getByText(words).waitFor();
  await said.getByText("All of it came as previewed.").waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
}
