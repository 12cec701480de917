/** BillingService over the wire: what is due, what is parked and why, and retrying it. POSTING-8 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { perFile } from "../../support/file-fixture.ts";
import { fromNow, setOrganisation, tables } from "../../support/rows.ts";
import { type TestSystem, until } from "../../support/system.ts";
import { adminTest } from "./fixtures.ts";
import { askWith } from "./request.ts";

const test = adminTest.extend("admin", perFile, async ({ system }) =>
  askWith(system, await system.operator("admin", "Ada")),
);

async function sandbox(system: TestSystem): Promise<CreatedOrganisation> {
  return system.organisation(
    { livemode: false, timezone: "UTC" },
    { test_clock: "2026-04-01T12:00:00Z" },
  );
}

async function setClock(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
  day: string,
): Promise<void> {
  await setOrganisation(system.pool, organisationId, { testClock: new Date(`${day}T12:00:00Z`) });
}

async function subscribe(system: TestSystem, { apiKey }: CreatedOrganisation): Promise<string> {
  const body = { customer_code: "ACME", plan_code: "team", units: 10 };
  const answer = await system.ask("POST", "/v1/subscriptions", {
    key: apiKey,
    idempotencyKey: randomUUID(),
    body,
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.json.id;
}

/** Its next invoice is more than an invoice may carry. */
async function spoil(system: TestSystem, id: string): Promise<void> {
  await tables(system.pool).subscription.updateMany({
    where: { id },
    data: { units: 1_000_000_000, priceOverride: 999_999_999 },
  });
}

const periodsOf = (system: TestSystem, id: string): Promise<number> =>
  tables(system.pool).period.count({ where: { subscriptionId: id } });

test("parked subscriptions are listed with their reason and retried", async ({
  system,
  admin,
  runs,
}) => {
  const organisation = await sandbox(system);
  const own = { organisation: organisation.organisationId };
  const [good, bad, worse] = [
    await subscribe(system, organisation),
    await subscribe(system, organisation),
    await subscribe(system, organisation),
  ];
  for (const id of [bad, worse]) await spoil(system, id);
  expect(await admin.done("BillingService/ListParkedSubscriptions", own)).toEqual({});
  await setClock(system, organisation, "2026-05-01");
  await runs.untilDone(organisation.organisationId);
  // On a slow machine their next attempt would come during the checks.
  await tables(system.pool).subscription.updateMany({
    where: { id: { in: [bad, worse] } },
    data: { parkedUntil: fromNow(60) },
  });
  expect(await periodsOf(system, good)).toBe(2);
  expect(await admin.done("BillingService/GetBilling", own)).toEqual({ parked: 2 });
  const { data, hasMore } = await admin.done("BillingService/ListParkedSubscriptions", {
    ...own,
    limit: 1,
  });
  expect(data).toMatchObject([
    {
      id: worse,
      status: "SUBSCRIPTION_STATUS_ACTIVE",
      renewalDate: "2026-05-01",
      reason:
        "The amount of Team comes to 999999999000000000.0000: " +
        "less than 1000000000000000.0000 can be billed at once.",
      attempts: 1,
    },
  ]);
  expect(Date.parse(data[0].nextAttemptAt)).toBeGreaterThan(Date.now());
  expect(hasMore).toBe(true);
  const rest = await admin.done("BillingService/ListParkedSubscriptions", {
    ...own,
    startingAfter: worse,
  });
  expect(rest.data.map(({ id }: { id: string }) => id)).toEqual([bad]);

  await tables(system.pool).subscription.updateMany({
    where: { id: bad },
    data: { units: 10, priceOverride: null },
  });
  const retry = { ...own, id: bad };
  const { subscription } = await admin.done("BillingService/RetrySubscription", retry);
  expect(subscription).toMatchObject({ id: bad, attempts: 1 });
  expect(Date.parse(subscription.nextAttemptAt)).toBeLessThanOrEqual(Date.now());
  expect(await admin.lastEntry()).toMatchObject({
    operation: "billing.admin.v1.BillingService/RetrySubscription",
    operatorName: "Ada",
    targetKind: "subscription",
    target: bad,
    organisation: own.organisation,
    before: { parked_reason: expect.stringContaining("can be billed at once"), parked_attempts: 1 },
  });
  await until("it is billed", async () => (await periodsOf(system, bad)) === 2);
  const entry = await admin.lastEntry();
  expect(await admin.refused("BillingService/RetrySubscription", retry)).toBe("invalid_state");
  expect((await admin.lastEntry()).id).toBe(entry.id);
  await admin.done("BillingService/RetrySubscription", { ...own, id: worse });
  await until("it is parked again", async () => {
    const { data } = await admin.done("BillingService/ListParkedSubscriptions", own);
    return data[0].attempts === 2;
  });
});

test("an operator starts billing at once, with an audit entry if anything was due", async ({
  system,
  admin,
}) => {
  const organisation = await sandbox(system);
  const own = { organisation: organisation.organisationId };
  const id = await subscribe(system, organisation);
  const before = await admin.lastEntry();
  expect(await admin.done("BillingService/RunBilling", own)).toEqual({ started: true });
  expect((await admin.lastEntry())?.id).toBe(before?.id);
  await inTransaction(system.pool, async (client) => {
    await client.query("SET LOCAL idle_in_transaction_session_timeout = 0");
    // The lock stops a scheduled run from billing it before it is counted.
    await client.query("SELECT 1 FROM subscriptions WHERE id = $1 FOR NO KEY UPDATE", [id]);
    await setClock(system, organisation, "2026-05-01");
    expect(await admin.done("BillingService/RunBilling", own)).toEqual({ due: 1, started: true });
    expect(await admin.lastEntry()).toMatchObject({
      operation: "billing.admin.v1.BillingService/RunBilling",
      target: own.organisation,
      after: { due: 1, parked: 0 },
    });
  });
  await until("it is billed", async () => {
    await admin.done("BillingService/RunBilling", own);
    return (await periodsOf(system, id)) === 2;
  });
});

test("an unknown organisation or subscription is refused", async ({ system, admin }) => {
  const organisation = await sandbox(system);
  const own = { organisation: organisation.organisationId };
  const nobody = { organisation: randomUUID() };
  const other = await subscribe(system, await sandbox(system));
  for (const method of ["GetBilling", "ListParkedSubscriptions", "RunBilling"]) {
    expect(await admin.refused(`BillingService/${method}`, nobody)).toBe("organisation_not_found");
  }
  const retry = "BillingService/RetrySubscription";
  expect(await admin.refused(retry, { ...nobody, id: other })).toBe("organisation_not_found");
  expect(await admin.refused(retry, { ...own, id: other })).toBe("subscription_not_found");
  expect(await admin.refused(retry, { ...own, id: "x" })).toBe("subscription_not_found");
  const after = { ...own, startingAfter: other };
  expect(await admin.refused("BillingService/ListParkedSubscriptions", after)).toBe(
    "invalid_parameter starting_after",
  );
  const reader = askWith(system, await system.operator("read-only", "Rita"));
  expect(await reader.refused("BillingService/RunBilling", own)).toBe("insufficient_role");
  expect(await reader.refused(retry, { ...own, id: other })).toBe("insufficient_role");
  expect(await reader.done("BillingService/GetBilling", own)).toEqual({});
});
