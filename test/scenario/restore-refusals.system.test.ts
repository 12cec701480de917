/**
 * Every refusal of a restoration: shape, code, message and order; and that a refusal leaves nothing
 * behind.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { setOrganisation, tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { checkedAsk, type Refused, refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import type { LifeBuilder } from "./life-builder.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { callsTo, protocols } from "./procedures.ts";
import { rowsOf } from "./row-builder.ts";
import type { Json } from "./units-builder.ts";

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
const notSetToEnd = "The subscription is neither ended nor set to end at the end of its period.";
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
  test("runs, is pending or is in its last cycle is not set to end", async ({
    system,
    builder,
  }) => {
    const bodies = [april, { start_date: "2026-05-01" }, { ...april, end_after_cycles: 1 }];
    const organisation = await builder.sandbox();
    for (const body of bodies) {
      const { id } = await builder.subscribe(organisation, body);
      expect(await message(system, builder, organisation, id)).toBe(notSetToEnd);
    }
  });

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
  const set = (system: TestSystem, table: "customers" | "plans", id: string, status: string) =>
    system.pool.query(`UPDATE ${table} SET status = $2 WHERE id = $1`, [id, status]);

  test("an inactive customer prevents a restoration until it is active again", async ({
    system,
    builder,
  }) => {
    const organisation = await builder.sandbox();
    const { id, customer } = await builder.subscribe(organisation, {
      ...april,
      customer_code: "GLOBEX",
    });
    await builder.ended(organisation, id, periodEnd);
    await set(system, "customers", customer, "inactive");
    expect(await message(system, builder, organisation, id)).toBe("The customer is not active.");
    await set(system, "customers", customer, "active");
    expect((await builder.restored(organisation, id)).cancel_at_period_end).toBe(false);
  });

  test.for(["draft", "inactive"])("a plan that is %s prevents a restoration", async (status, {
    system,
    builder,
  }) => {
    const { organisation, id } = await endedOne(builder);
    const { plan } = await builder.subscription(organisation, id);
    await set(system, "plans", plan, status);
    expect(await message(system, builder, organisation, id)).toBe(
      `The plan is ${status}: it must be active or legacy.`,
    );
    await set(system, "plans", plan, "legacy");
    expect((await builder.restored(organisation, id)).status).toBe("active");
  });
});

describe.concurrent("a restoration in Setup Mode", () => {
  const setupMode = (system: TestSystem, { organisationId }: CreatedOrganisation, isOn: boolean) =>
    setOrganisation(system.pool, organisationId, { setupMode: isOn });

  test("is refused if a document would be issued, and not otherwise", async ({
    system,
    builder,
  }) => {
    const organisation = await builder.sandbox({ invoice_create_days: 20 });
    await builder.setClock(organisation, "2026-04-16");
    const { id } = await builder.subscribe(organisation, april);
    await builder.ended(organisation, id, periodEnd);
    await setupMode(system, organisation, true);
    const why =
      "The organisation is in Setup Mode: invoice INV-0002 would have to be issued again.";
    expect(await message(system, builder, organisation, id)).toBe(why);
    await setupMode(system, organisation, false);
    await builder.restored(organisation, id);
    expect(await builder.summaries(organisation, id)).toHaveLength(3);
  });
});

describe("another running operation", () => {
  test("refuses a restoration and is named", async ({ system, builder }) => {
    const organisation = await builder.sandbox({ invoice_create_days: 20 });
    await builder.setClock(organisation, "2026-04-16");
    const { id } = await builder.subscribe(organisation, april);
    await builder.ended(organisation, id, periodEnd);
    await builder.posted(organisation);
    const terminationJob = randomUUID();
    const { organisationId } = organisation;
    await system.pool.query(
      `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, first_sent_at,
        lease_until)
        VALUES ($1, $2, 'end_subscription', 'sending', $3, now(), now() + interval '1 hour')`,
      [terminationJob, organisationId, id],
    );
    const why = await message(system, builder, organisation, id);
    expect(why).toMatch(
      /^Another operation on this subscription is still running: the subscription is being ended/,
    );
    await tables(system.pool).ledgerJob.deleteMany({ where: { id: terminationJob } });
    expect((await builder.restored(organisation, id)).cancel_at_period_end).toBe(false);
  });
});

test("a restoration is refused alike over every protocol", async ({ system, builder, own }) => {
  const call = callsTo(system.baseUrl);
  const running = await builder.subscribe(own, april);
  const cases: [string, string, string][] = [
    [running.id, "invalid_state", "FailedPrecondition"],
    [randomUUID(), "subscription_not_found", "NotFound"],
    ["none", "subscription_not_found", "NotFound"],
  ];
  for (const [id, code, connectCode] of cases) {
    const rest = (await builder.restore(own, id)).json as Json;
    for (const protocol of protocols) {
      const called = await call(protocol, "RestoreSubscription", { id }, { key: own.apiKey });
      expect([protocol, called.code, called.detail?.code]).toEqual([protocol, connectCode, code]);
      expect(called.detail?.message).toBe(rest.error.message);
    }
  }
});
