/** Reports of usage share transactions, by facts that are true when they are stored. USAGE-11. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { ReportedUsage } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { bucketsOf, lockToBill } from "../../../src/store/billing/usage-locks.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { storeFree } from "../../../src/store/usage/store-batches.ts";
import { tables } from "../../support/rows.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";

const now = new Date("2026-03-12T12:00:00Z");
const noon = "2026-03-12T12:00:00Z";
const created = { status: "created" };

function event(subscription: string, at: string): ReportedUsage {
  const [quantity, occurredAt] = [readQuantity("1"), readTimestamp(at)];
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const meter = { by: "code", value: "api-calls" } as const;
  return { eventId: randomUUID(), subscription, meter, quantity, occurredAt };
}

/** The bill of each stored event of a subscription, in the order of their instants. */
async function billsOf({ pool }: UsageFixture, id: string): Promise<readonly number[]> {
  const rows = await tables(pool).usageEvent.findMany({
    where: { subscriptionId: id },
    orderBy: { occurredAt: "asc" },
    select: { bill: true },
  });
  return rows.map(({ bill }) => bill);
}

test("a report after a change of its subscription or meter is evaluated by the new state", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  await usage.report([event(id, noon)], now);
  await tables(fixture.pool).subscription.updateMany({ where: { id }, data: { usageBill: 7 } });
  expect(await usage.report([event(id, "2026-03-12T12:00:01Z")], now)).toEqual([created]);
  expect(await billsOf(fixture, id)).toEqual([0, 7]);
  await fixture.pool.query("UPDATE meters SET status = 'inactive' WHERE organisation_id = $1", [
    organisation,
  ]);
  const rejected = await usage.report([event(id, noon)], now);
  expect(rejected).toMatchObject([{ status: "rejected", code: "meter_inactive" }]);
  expect(await billsOf(fixture, id)).toEqual([0, 7]);
});

test("a subscription that ends is rejected, and takes usage once it runs again", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  await usage.report([event(id, noon)], now);
  const set = (status: string, ended: string | null) =>
    fixture.pool.query(
      `UPDATE subscriptions SET status = $2, end_date = $3::timestamptz::date,
        ended_at = $3::timestamptz WHERE id = $1`,
      [id, status, ended],
    );
  await set("ended", "2026-03-11T00:00:00Z");
  expect(await usage.report([event(id, noon)], now)).toMatchObject([
    { status: "rejected", code: "after_subscription_end" },
  ]);
  await set("active", null);
  expect(await usage.report([event(id, noon)], now)).toEqual([created]);
});

test("a report that names no subscription of its organisation is rejected", async ({ fixture }) => {
  const [organisation] = await fixture.metered();
  const [, other] = await fixture.metered();
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  for (const id of ["none", randomUUID(), other]) {
    const verdicts = await usage.report([event(id, noon)], now);
    expect(verdicts).toMatchObject([{ status: "rejected", code: "subscription_not_found" }]);
  }
});

test("single reports that come together share transactions", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  const count = 60;
  const reports = Array.from({ length: count }, () => usage.report([event(id, noon)], now));
  for (const verdicts of await Promise.all(reports)) expect(verdicts).toEqual([created]);
  const { rows } = await fixture.pool.query<{ stored: number; transactions: number }>(
    `SELECT count(*)::int AS stored, count(DISTINCT xmin::text)::int AS transactions
      FROM usage_events WHERE subscription_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ stored: count, transactions: 2 }]);
});

/** Metered organisations whose subscriptions share no lock. */
async function meteredApart(fixture: UsageFixture, count: number) {
  for (;;) {
    const owners = [];
    for (let made = 0; made < count; made += 1) owners.push(await fixture.metered());
    if (bucketsOf(owners.map(([, id]) => id)).length === count) return owners;
  }
}

test("one transaction stores for several organisations, except where a bill is under way", async ({
  fixture,
}) => {
  const owners = await meteredApart(fixture, 3);
  const ids = owners.map(([, id]) => id);
  const shared = event(ids[0] ?? "", noon);
  const batches = owners.map(([organisationId, id]) => ({
    organisationId,
    reported: [{ ...shared, subscription: id }, event(id, noon)],
    subscriptionIds: [id],
    now,
  }));
  const store = (some: typeof batches) => storeFree(fixture.pool, some);
  await store(batches.slice(2).map((batch) => ({ ...batch, reported: batch.reported.slice(1) })));
  const stored = await inTransaction(fixture.pool, async (tx) => {
    await lockToBill(tx, ids.slice(1, 2));
    return store(batches);
  });
  expect(stored.map((one) => one?.verdicts ?? null)).toEqual([
    [created, created],
    null,
    [created, { status: "duplicate" }],
  ]);
  for (const [at, count] of [2, 0, 2].entries())
    expect(await billsOf(fixture, ids[at] ?? "")).toHaveLength(count);
});

test("a report waits for its own bill, and those of other organisations do not", async ({
  fixture,
}) => {
  const owners = await meteredApart(fixture, 2);
  const store = createStore(fixture.pool);
  const report = ([organisation, id]: readonly [string, string]) =>
    store.tenant(organisation, now).usage.report([event(id, noon)], now);
  const [billed, other] = owners;
  if (billed === undefined || other === undefined) throw new Error("no organisations");
  const { waiting } = await inTransaction(fixture.pool, async (tx) => {
    await lockToBill(tx, [billed[1]]);
    const waiting = [report(billed), report(billed)];
    expect(await report(other)).toEqual([created]);
    expect(await billsOf(fixture, billed[1])).toEqual([]);
    return { waiting };
  });
  expect(await Promise.all(waiting)).toEqual([[created], [created]]);
});
