/**
 * A subscription's usage by period and meter in PostgreSQL: what is open, billed and late, what it
 * comes to so far, and what the statement reads among much usage. USAGE-16.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { describe, expect } from "vitest";
import { formatDecimal, formatShort } from "../../../src/domain/money/decimal.ts";
import {
  listUsage,
  type UsageOfMeter,
  type UsageQuery,
} from "../../../src/store/usage/read-usage.ts";
import { tables } from "../../support/rows.ts";
import { rowsRead, type SentStatement } from "../../support/rows-read.ts";
import { type UsageFixture, usageTest } from "../billing/usage-fixture.ts";

const everything: UsageQuery = { meterCode: null, limit: 100, after: null };

/** `0 api-calls: 5 of 2, billed 5 for 2.5000, late 0, so far 2.5000`. */
function summaryOf(usage: UsageOfMeter): string {
  const { period, meter, events, quantity, billedQuantity, lateQuantity } = usage;
  return [
    `${period.index} ${meter.code}: ${formatShort(quantity)} of ${events}`,
    `billed ${formatShort(billedQuantity)} for ${formatDecimal(usage.billedAmount)}`,
    `late ${formatShort(lateQuantity)}`,
    `so far ${formatDecimal(usage.amount)}`,
  ].join(", ");
}

/** The usage of a subscription in short, newest first. */
async function shown(
  { pool }: UsageFixture,
  organisationId: string,
  id: string,
  query: Partial<UsageQuery> = {},
): Promise<readonly string[]> {
  const page = await listUsage(pool, organisationId, id, { ...everything, ...query });
  return (page?.data ?? []).map(summaryOf);
}

const test = usageTest;

describe("the usage of a period", () => {
  test("comes to what its bill then charges", async ({ fixture }) => {
    const [own, id] = await fixture.metered();
    await fixture.use(own, id, ["4.5", "2026-03-10"], ["0.5", "2026-03-10T11:00:00Z"]);
    expect(await shown(fixture, own, id)).toEqual([
      "0 api-calls: 5 of 2, billed 0 for 0.0000, late 0, so far 2.5000",
    ]);
    await fixture.setClock(own, "2026-04-10");
    await fixture.use(own, id, ["1", "2026-04-10"]);
    await fixture.bill(own);
    expect(await shown(fixture, own, id)).toEqual([
      "1 api-calls: 1 of 1, billed 0 for 0.0000, late 0, so far 0.5000",
      "0 api-calls: 5 of 2, billed 5 for 2.5000, late 0, so far 2.5000",
    ]);
    expect(await fixture.bills(id)).toEqual(["0: 2 of 5.0000 in 0, 2.5000 on INV-0002"]);
  });

  test("has late usage, before and after its bill, at the price of the whole", async ({
    fixture,
  }) => {
    const own = await fixture.sandbox("2026-03-10");
    await fixture.meter(own, {
      type: "volume",
      tiers: [
        [10, "2", null],
        [null, "1", null],
      ],
    });
    const id = await fixture.subscribe(own);
    await fixture.use(own, id, ["10", "2026-03-10"]);
    await fixture.setClock(own, "2026-04-10");
    await fixture.bill(own);
    // Eleven cost 11.00, ten cost 20.00.
    await fixture.use(own, id, ["1", "2026-03-11"]);
    expect(await shown(fixture, own, id)).toEqual([
      "0 api-calls: 11 of 2, billed 10 for 20.0000, late 1, so far 11.0000",
    ]);
    await fixture.setClock(own, "2026-05-10");
    await fixture.bill(own);
    expect(await shown(fixture, own, id)).toEqual([
      "0 api-calls: 11 of 2, billed 11 for 11.0000, late 1, so far 11.0000",
    ]);
  });

  test("costs nothing if the period began in Setup Mode, and voided events do not count", async ({
    fixture,
  }) => {
    const [own, id] = await fixture.metered({ setup_mode: true });
    await fixture.use(own, id, ["4", "2026-03-10"], ["3", "2026-03-10"]);
    expect(await shown(fixture, own, id)).toEqual([
      "0 api-calls: 7 of 2, billed 0 for 0.0000, late 0, so far 0.0000",
    ]);
    await tables(fixture.pool).usageEvent.updateMany({
      where: { subscriptionId: id, quantity: 4 },
      data: { voidedAt: new Date(), voidReason: "A test" },
    });
    expect(await shown(fixture, own, id)).toEqual([
      "0 api-calls: 3 of 1, billed 0 for 0.0000, late 0, so far 0.0000",
    ]);
  });
});

test("usage pages by period and meter, and a filter selects a meter", async ({ fixture }) => {
  const [own, id] = await fixture.metered();
  await fixture.meter(own, { code: "storage", name: "Storage", price: "2" });
  const uses = ["2026-03-10", "2026-04-10", "2026-05-10"];
  for (const day of uses) {
    await fixture.setClock(own, day);
    await fixture.bill(own);
    await fixture.use(own, id, ["1", day], ["1", day, "storage"]);
  }
  const whole = await listUsage(fixture.pool, own, id, everything);
  expect(whole?.data).toHaveLength(6);
  expect(whole?.data.map(({ period }) => period.index)).toEqual([2, 2, 1, 1, 0, 0]);
  for (const limit of [1, 2, 4]) {
    const seen: UsageOfMeter[] = [];
    for (;;) {
      const last = seen.at(-1);
      const after = last && { periodIndex: last.period.index, meterId: last.meter.id };
      const query = { ...everything, limit, after: after ?? null };
      const page = await listUsage(fixture.pool, own, id, query);
      seen.push(...(page?.data ?? []));
      if (!page?.hasMore) break;
    }
    expect(seen).toEqual(whole?.data);
  }
  const stored = await shown(fixture, own, id, { meterCode: "storage" });
  expect(stored).toEqual([
    "2 storage: 1 of 1, billed 0 for 0.0000, late 0, so far 2.0000",
    "1 storage: 1 of 1, billed 1 for 2.0000, late 0, so far 2.0000",
    "0 storage: 1 of 1, billed 1 for 2.0000, late 0, so far 2.0000",
  ]);
  expect(await shown(fixture, own, id, { meterCode: "gone" })).toEqual([]);
});

test("another organisation's subscription and an unknown one have no list", async ({ fixture }) => {
  const [own, id] = await fixture.metered();
  const other = await fixture.sandbox("2026-03-10");
  await fixture.use(own, id, ["1", "2026-03-10"]);
  for (const [organisation, subscription] of [
    [other, id],
    [own, randomUUID()],
    [own, "abc"],
  ] as const)
    expect(await listUsage(fixture.pool, organisation, subscription, everything)).toBeNull();
});

test("a list among the usage of many subscriptions reads the subscription's own rows", async ({
  fixture,
}) => {
  const { pool } = fixture;
  const [own, id] = await fixture.metered();
  for (let count = 0; count < 40; count += 1) await fixture.subscribe(own);
  await pool.query(
    `INSERT INTO usage_bills (organisation_id, subscription_id, bill, period_index, meter_id,
      events, quantity, priced, amount)
    SELECT $1, s.id, i, i, m.id, 1, 1, 1, 0 FROM subscriptions s, meters m, generate_series(0, 99) i
    WHERE s.organisation_id = $1 AND m.organisation_id = $1`,
    [own],
  );
  await tables(pool).subscription.updateMany({ data: { usageBill: 200, usageBilled: 200 } });
  await pool.query(
    `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
      bill, quantity, occurred_at)
    SELECT $1, s.id || '-' || i, s.id, m.id, 0, 200, 1, '2026-03-10T12:00:00Z'
    FROM subscriptions s, meters m, generate_series(1, CASE WHEN s.id = $2 THEN 20 ELSE 1000 END) i
    WHERE s.organisation_id = $1 AND m.organisation_id = $1`,
    [own, id],
  );
  await pool.query("VACUUM ANALYZE usage_bills, usage_events, subscriptions");
  const sent: SentStatement[] = [];
  const recording = {
    query: async (statement: SentStatement) => {
      sent.push(statement);
      return pool.query({ ...statement, values: [...statement.values] });
    },
  } as unknown as pg.Pool;
  const page = await listUsage(recording, own, id, { ...everything, limit: 10 });
  expect(page).toMatchObject({ hasMore: true });
  const [statement] = sent;
  if (statement === undefined) throw new Error("nothing was sent");
  // 4,000 bills and 40,000 events are other subscriptions'.
  expect(await rowsRead(pool, statement, "force_custom_plan")).toBeLessThan(600);
});
