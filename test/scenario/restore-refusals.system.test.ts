/**
 * Refusals of a restoration over HTTP, one for each fact that is read of the database, which leave
 * nothing behind. The domain holds every refusal and their order.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { checkedAsk, type Refused, refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import type { LifeBuilder } from "./life-builder.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { rowsOf } from "./row-builder.ts";

/** `own` is on 16 April and issues no renewal invoice ahead. */
const test = scenarioTest.extend("own", perFile, async ({ builder }) => {
  const own = await builder.sandbox();
  await builder.setClock(own, "2026-04-16");
  return own;
});

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const conflict = refused(409, "invalid_state");
const passed = "The renewal date 2026-05-01 has passed: create a new subscription instead.";

/** The refusal of a restoration and its preview, which leave everything as it was. */
async function refusal(
  system: TestSystem,
  builder: LifeBuilder,
  organisation: CreatedOrganisation,
  id: string,
  body: unknown = {},
): Promise<Refused> {
  const before = await rowsOf(system, organisation);
  const answer = await builder.restore(organisation, id, undefined, body);
  const asked = { key: organisation.apiKey, body };
  await expectRefusedAlike(checkedAsk(system), `/v1/subscriptions/${id}/restore`, asked, answer);
  expect(await rowsOf(system, organisation)).toBe(before);
  return refusalOf(answer);
}

/** The message of `invalid_state`, of a restoration that leaves everything as it was. */
async function message(
  system: TestSystem,
  builder: LifeBuilder,
  organisation: CreatedOrganisation,
  id: string,
): Promise<string> {
  expect(await refusal(system, builder, organisation, id)).toEqual(conflict);
  return (await builder.restore(organisation, id)).json.error.message;
}

/** An ended subscription in a new organisation. */
async function endedOne(
  builder: LifeBuilder,
  changes: Record<string, unknown> = {},
): Promise<{ organisation: CreatedOrganisation; id: string }> {
  const organisation = await builder.sandbox(changes);
  const { id } = await builder.subscribe(organisation, april);
  await builder.ended(organisation, id, now);
  return { organisation, id };
}

describe("a body that is no empty object", () => {
  test.for<[string, string, string | null]>([
    ["a list", "[]", null],
    ["the id of the path", '{"id":"x"}', "id"],
    ["an unknown member", '{"when":"now"}', "when"],
  ] as const)("is a fault of the body, before the id is checked: %s", async ([_, body, param], {
    system,
    builder,
    own,
  }) => {
    expect(await refusal(system, builder, own, randomUUID(), body)).toEqual(
      refused(422, "invalid_parameter", param),
    );
  });
});

describe.concurrent("a subscription that", () => {
  test("ended can be restored until the day before its renewal date, in its own zone", async ({
    system,
    builder,
  }) => {
    const { organisation, id } = await endedOne(builder);
    // 1 May has begun in Paris, and not yet in UTC.
    await builder.setClock(organisation, "2026-04-30T22:00:00Z");
    expect(await message(system, builder, organisation, id)).toBe(passed);
    await builder.setClock(organisation, "2026-07-01");
    expect(await message(system, builder, organisation, id)).toBe(passed);
    await builder.setClock(organisation, "2026-04-30T21:59:59Z");
    expect((await builder.restored(organisation, id)).status).toBe("active");
  });

  test("was set to end is complete from its renewal date on", async ({ system, builder }) => {
    const organisation = await builder.sandbox();
    const { id } = await builder.subscribe(organisation, april);
    await builder.ended(organisation, id, periodEnd);
    await builder.setClock(organisation, "2026-05-01");
    // What is due is performed before, and stays so.
    const answer = await builder.restore(organisation, id);
    expect([refusalOf(answer), answer.json.error.message]).toEqual([conflict, passed]);
    expect((await builder.subscription(organisation, id)).status).toBe("complete");
    expect(await message(system, builder, organisation, id)).toBe(passed);
  });
});

describe.concurrent("the customer and the plan", () => {
  test("that are inactive prevent a restoration until they are active again", async ({
    system,
    builder,
  }) => {
    const organisation = await builder.sandbox();
    const { id, customer, plan } = await builder.subscribe(organisation, {
      ...april,
      customer_code: "GLOBEX",
    });
    await builder.ended(organisation, id, periodEnd);
    const rows = tables(system.pool);
    const setCustomer = (status: string) =>
      rows.customer.updateMany({ where: { id: customer }, data: { status } });
    const setPlan = (status: string) =>
      rows.plan.updateMany({ where: { id: plan }, data: { status } });
    await setCustomer("inactive");
    expect(await message(system, builder, organisation, id)).toBe("The customer is not active.");
    await setCustomer("active");
    await setPlan("inactive");
    expect(await message(system, builder, organisation, id)).toBe(
      "The plan is inactive: it must be active or legacy.",
    );
    await setPlan("legacy");
    expect((await builder.restored(organisation, id)).cancel_at_period_end).toBe(false);
  });
});
