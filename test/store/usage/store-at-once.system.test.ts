/** A report of usage is one statement, by facts that are true when it stores. USAGE-11. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { bucketsOf, lockToBill } from "../../../src/store/billing/usage-locks.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { createFactsCache } from "../../../src/store/usage/facts-cache.ts";
import { createMeterCatalogue, loadFacts } from "../../../src/store/usage/ingest-facts.ts";
import { storeAtOnce } from "../../../src/store/usage/store-at-once.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";

/** The pool, and the names of the statements that were sent by it outside transactions. */
function observed(pool: pg.Pool) {
  const sent: string[] = [];
  const listening = new Proxy(pool, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name === "connect") sent.push("a transaction");
      if (name !== "query") return value.bind(target);
      return (statement: pg.QueryConfig) => {
        sent.push(statement.name ?? statement.text);
        return target.query(statement);
      };
    },
  });
  return { pool: listening, taken: () => sent.splice(0) };
}

function event(subscription: string, at: string) {
  const [quantity, occurredAt] = [readQuantity("1"), readTimestamp(at)];
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const meter = { by: "code", value: "api-calls" } as const;
  return { eventId: randomUUID(), subscription, meter, quantity, occurredAt };
}

const now = new Date("2026-03-12T12:00:00Z");
const noon = "2026-03-12T12:00:00Z";

/** The bill of each stored event of a subscription, in the order of their instants. */
async function billsOf({ pool }: UsageFixture, id: string): Promise<readonly number[]> {
  const { rows } = await pool.query<{ bill: number }>(
    "SELECT bill FROM usage_events WHERE subscription_id = $1 ORDER BY occurred_at",
    [id],
  );
  return rows.map(({ bill }) => bill);
}

test("a second report of a subscription is one statement, also with a duplicate two", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  const { pool, taken } = observed(fixture.pool);
  const { usage } = createStore(pool).tenant(organisation, now);
  const first = event(id, noon);
  expect(await usage.report([first], now)).toEqual([{ status: "created" }]);
  taken();
  expect(await usage.report([event(id, noon)], now)).toEqual([{ status: "created" }]);
  expect(taken()).toEqual(["store_usage_reports"]);
  const statuses = (await usage.report([first, event(id, noon)], now)).map((one) => one.status);
  expect(statuses).toEqual(["duplicate", "created"]);
  expect(taken()).toEqual(["store_usage_reports", "load_stored_usage"]);
});

test("a report after a change is evaluated again, and nothing is stored by old facts", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  const { pool, taken } = observed(fixture.pool);
  const { usage } = createStore(pool).tenant(organisation, now);
  await usage.report([event(id, noon)], now);
  await fixture.pool.query("UPDATE subscriptions SET usage_bill = 7 WHERE id = $1", [id]);
  taken();
  expect(await usage.report([event(id, "2026-03-12T12:00:01Z")], now)).toEqual([
    { status: "created" },
  ]);
  expect(taken()).toEqual(["store_usage_reports", "usage_facts", "store_usage_reports"]);
  expect(await billsOf(fixture, id)).toEqual([0, 7]);
  await fixture.pool.query(
    `WITH changed AS (UPDATE meters SET status = 'inactive' WHERE organisation_id = $1)
      UPDATE organisations SET catalogue_version = catalogue_version + 1 WHERE id = $1`,
    [organisation],
  );
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
  expect(await usage.report([event(id, noon)], now)).toEqual([{ status: "created" }]);
});

test("single reports that come together share transactions", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  await usage.report([event(id, noon)], now);
  const count = 60;
  const reports = Array.from({ length: count }, () => usage.report([event(id, noon)], now));
  for (const verdicts of await Promise.all(reports))
    expect(verdicts).toEqual([{ status: "created" }]);
  const { rows } = await fixture.pool.query<{ stored: number; transactions: number }>(
    `SELECT count(*)::int AS stored, count(DISTINCT xmin::text)::int AS transactions
      FROM usage_events WHERE subscription_id = $1`,
    [id],
  );
  expect(rows[0]?.stored).toBe(count + 1);
  expect(rows[0]?.transactions).toBeLessThan(10);
});

const rememberNothing = () => ({
  catalogue: createMeterCatalogue(),
  facts: createFactsCache(),
  resends: { expected: 0 },
});

/** Metered organisations whose subscriptions share no lock. */
async function meteredApart(fixture: UsageFixture, count: number) {
  for (;;) {
    const owners = [];
    for (let made = 0; made < count; made += 1) owners.push(await fixture.metered());
    if (bucketsOf(owners.map(([, id]) => id)).length === count) return owners;
  }
}

test("one statement stores for several organisations, except where facts or locks refuse", async ({
  fixture,
}) => {
  const owners = await meteredApart(fixture, 4);
  const ids = owners.map(([, id]) => id);
  const { pool, taken } = observed(fixture.pool);
  const remembered = rememberNothing();
  const shared = event(ids[0] ?? "", noon);
  const batches = owners.map(([organisationId, id]) => ({
    organisationId,
    reported: [{ ...shared, subscription: id }, event(id, noon)],
    subscriptionIds: [id],
    now,
  }));
  const early = batches.map((batch, at) => ({
    ...batch,
    reported: batch.reported.slice(at === 3 ? 1 : 2),
  }));
  await storeAtOnce(pool, remembered, early, { waits: false, isFresh: true });
  taken();
  await fixture.pool.query("UPDATE subscriptions SET usage_bill = 7 WHERE id = $1", [ids[1]]);
  const stored = await inTransaction(fixture.pool, async (tx) => {
    await lockToBill(tx, ids.slice(2, 3));
    return storeAtOnce(pool, remembered, batches, { waits: false, isFresh: false });
  });
  const created = { status: "created" };
  expect(stored.map((one) => one?.verdicts ?? null)).toEqual([
    [created, created],
    null,
    null,
    [created, { status: "duplicate" }],
  ]);
  expect(taken()).toEqual(["store_usage_reports", "load_stored_usage"]);
  for (const [at, count] of [2, 0, 0, 2].entries())
    expect(await billsOf(fixture, ids[at] ?? "")).toHaveLength(count);
});

test("a report is not rejected for a subscription that has come since its facts", async ({
  fixture,
}) => {
  const [organisationId, id] = await fixture.metered();
  const before = await loadFacts(fixture.pool, organisationId, []);
  const facts = { ...createFactsCache(), find: () => before };
  const remembered = { ...rememberNothing(), facts };
  const batch = { organisationId, reported: [event(id, noon)], subscriptionIds: [id], now };
  const manner = { waits: false, isFresh: false };
  expect(await storeAtOnce(fixture.pool, remembered, [batch], manner)).toEqual([null]);
});
