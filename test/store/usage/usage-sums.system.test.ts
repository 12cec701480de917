/**
 * The sums of usage in PostgreSQL: they follow what is stored, voided and billed, and usage from
 * before they were introduced is summed beside writers. INVARIANT-10.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { lockToStore } from "../../../src/store/billing/usage-locks.ts";
import { sumEarlierBatch, sumEarlierUsage } from "../../../src/store/billing/usage-sums.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { listUsage } from "../../../src/store/usage/read-usage.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { expectSumsOfEvents } from "../../support/usage-sums.ts";
import { isWaiting, usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";

/** The sums of a subscription: `bill 0: 2 of 5.0000 in 0`. */
async function sumsOf({ pool }: UsageFixture, id: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ sum: string }>(
    `SELECT format('bill %s: %s of %s in %s', bill, events, quantity, period_index) AS sum
      FROM usage_sums WHERE subscription_id = $1 ORDER BY bill, period_index, meter_id`,
    [id],
  );
  return rows.map(({ sum }) => sum);
}

/** Two voids may choose the same event. */
function unlessVoided(error: unknown): void {
  if (!(error instanceof Refusal && error.code === "invalid_state")) throw error;
}

/** Voids the event of this quantity as an operator does. */
async function voidOf({ pool }: UsageFixture, organisation: string, quantity: string) {
  const event = await tables(pool).usageEvent.findFirst({
    where: { organisationId: organisation, quantity, voidedAt: null },
  });
  await operatorWrites(pool).voidUsageEvent(organisation, event?.eventId ?? "");
}

/** Stores an event as the version before this one does, and as an older one did. */
async function storeAsBefore(
  client: pg.Pool | pg.PoolClient,
  organisation: string,
  id: string,
  quantity: string,
): Promise<void> {
  await client.query(
    `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
        bill, quantity, occurred_at, created_at)
      SELECT s.organisation_id, $3, s.id, m.meter_id, s.current_period, s.usage_bill, $4,
        '2026-03-10T12:00:00Z', now()
      FROM subscriptions s JOIN plan_meters m ON m.organisation_id = $1 AND m.plan_id = s.plan_id
      WHERE s.organisation_id = $1 AND s.id = $2
      ON CONFLICT (organisation_id, event_id) DO NOTHING`,
    [organisation, id, randomUUID(), quantity],
  );
}

/** Brings an organisation into the state right after the migration that introduced the sums. */
async function forgetSums({ pool }: UsageFixture, organisation: string): Promise<void> {
  await tables(pool).usageSum.deleteMany({ where: { organisationId: organisation } });
  await pool.query(
    `INSERT INTO unsummed_usage (organisation_id, subscription_id)
      SELECT organisation_id, id FROM subscriptions WHERE organisation_id = $1`,
    [organisation],
  );
}

test("a sum follows reports, voids, bills and late events", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  await fixture.use(organisation, id, ["4", "2026-03-10"], ["0.5", "2026-03-10"]);
  await fixture.use(organisation, id, ["3", "2026-03-10"]);
  expect(await sumsOf(fixture, id)).toEqual(["bill 0: 3 of 7.5000 in 0"]);
  await voidOf(fixture, organisation, "4");
  expect(await sumsOf(fixture, id)).toEqual(["bill 0: 2 of 3.5000 in 0"]);
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  await fixture.use(organisation, id, ["2", "2026-03-11"], ["1", "2026-04-10"]);
  await voidOf(fixture, organisation, "2");
  expect(await sumsOf(fixture, id)).toEqual([
    "bill 0: 2 of 3.5000 in 0",
    "bill 1: 0 of 0.0000 in 0",
    "bill 1: 1 of 1.0000 in 1",
  ]);
  await fixture.use(organisation, id, ["6", "2026-03-12"]);
  await fixture.setClock(organisation, "2026-05-10");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual([
    "0: 2 of 3.5000 in 0, 1.7500 on INV-0002",
    "1: 1 of 6.0000 in 0, 3.0000 on INV-0003",
    "1: 1 of 1.0000 in 1, 0.5000 on INV-0003",
  ]);
  await expectSumsOfEvents(fixture);
});

test("a statement takes its sums in the order of their key", async ({ fixture }) => {
  const [organisation, one] = await fixture.metered();
  const other = await fixture.subscribe(organisation);
  const [first = "", last = ""] = [one, other].toSorted();
  const both = `WITH ids AS (SELECT unnest($2::uuid[]) AS id)
    INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
      bill, quantity, occurred_at)
    SELECT $1, gen_random_uuid(), ids.id, m.id, 0, 0, 1, '2026-03-10T12:00:00Z'
    FROM ids JOIN meters m ON m.organisation_id = $1`;
  const { waits } = await inTransaction(fixture.pool, async (client) => {
    await storeAsBefore(client, organisation, first, "1");
    const waits = fixture.pool.query(both, [organisation, [last, first]]);
    waits.catch(() => undefined);
    await until("the statement waits for the first sum", () => isWaiting(fixture));
    // It holds no later one.
    await storeAsBefore(fixture.pool, organisation, last, "1");
    return { waits };
  });
  await waits;
  await expectSumsOfEvents(fixture);
});

test("usage that is not summed yet is read, billed and voided as before", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  await fixture.use(organisation, id, ["4", "2026-03-10"], ["3", "2026-03-10"]);
  await forgetSums(fixture, organisation);
  await storeAsBefore(fixture.pool, organisation, id, "2");
  await voidOf(fixture, organisation, "3");
  const page = await listUsage(fixture.pool, organisation, id, {
    meterCode: null,
    limit: 10,
    after: null,
  });
  expect(page?.data).toMatchObject([{ events: 2n }]);
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual(["0: 2 of 6.0000 in 0, 3.0000 on INV-0002"]);
  await fixture.use(organisation, id, ["5", "2026-04-10"]);
  await sumEarlierUsage(fixture.url, () => undefined);
  expect(await sumsOf(fixture, id)).toEqual([
    "bill 0: 2 of 6.0000 in 0",
    "bill 1: 1 of 5.0000 in 1",
  ]);
  await expectSumsOfEvents(fixture);
});

test("earlier usage is summed once, beside reports and voids and after a kill", async ({
  fixture,
}) => {
  const [organisation, first] = await fixture.metered();
  const ids = [first];
  while (ids.length < 8) ids.push(await fixture.subscribe(organisation));
  for (const id of ids) await fixture.use(organisation, id, ["4", "2026-03-10"]);
  await forgetSums(fixture, organisation);
  // A batch that is killed while it waits for a report.
  await inTransaction(fixture.pool, async (client) => {
    await lockToStore(client, ids);
    const killed = expect(sumEarlierBatch(fixture.pool, 3)).rejects.toThrow();
    await until("the batch is killed", async () => {
      const { rowCount } = await fixture.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount !== 0;
    });
    await killed;
  });
  let isOver = false;
  const report = async () => {
    while (!isOver)
      for (const id of ids) {
        await fixture.use(organisation, id, ["1", "2026-03-10"], ["2", "2026-03-10"]);
        await voidOf(fixture, organisation, "2").catch(unlessVoided);
      }
  };
  const reporting = Promise.all([report(), report()]);
  reporting.catch(() => undefined);
  try {
    expect(await sumEarlierBatch(fixture.pool, 3)).toBe(3);
    await Promise.all([1, 2].map(() => sumEarlierUsage(fixture.url, () => undefined)));
  } finally {
    isOver = true;
  }
  await reporting;
  expect(await tables(fixture.pool).unsummedUsage.count()).toBe(0);
  await expectSumsOfEvents(fixture);
});
