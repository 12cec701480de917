/**
 * Usage events that were exported and dropped: what proves a drop, what blocks it, and what stays.
 * USAGE-18.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { readExportedLines } from "../../../src/domain/usage/exported-lines.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { createAuditedTenants } from "../../../src/store/admin/audited-tenant.ts";
import { type Actor, createChanges } from "../../../src/store/admin/changes.ts";
import { checkUsageSums } from "../../../src/store/admin/usage/check-usage-sums.ts";
import { exportUsage } from "../../../src/store/admin/usage/drop-usage.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { listUsage } from "../../../src/store/usage/read-usage.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { expectSumsOfEvents } from "../../support/usage-sums.ts";
import { isWaiting, usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";

const actor: Actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "Test",
  requestId: null,
};

const april = new Date("2026-04-01T00:00:00Z");

const exported = ({ pool }: UsageFixture, organisation: string, before = april) =>
  exportUsage(pool, organisation, before, null).then(({ lines }) => lines);

function drop({ pool }: UsageFixture, organisation: string, lines: readonly string[]) {
  return createAuditedTenants(pool, createChanges(pool))(organisation, actor).dropUsage({
    lines: readExportedLines(lines),
    events: String(lines.length),
    checksum: "0".repeat(64),
    reason: "Kept in the archive",
  });
}

const idOf = (line = "{}"): string => (JSON.parse(line) as { id: string }).id;

/** Reports one event of this id. */
async function reportAs(
  { pool }: UsageFixture,
  organisation: string,
  subscription: string,
  eventId: string,
  meter = "api-calls",
) {
  const [quantity, occurredAt] = [readQuantity("9"), readTimestamp("2026-03-15T12:00:00Z")];
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const named = { by: "code", value: meter } as const;
  const event = { eventId, subscription, meter: named, quantity, occurredAt };
  const [verdict] = await createStore(pool)
    .tenant(organisation, new Date("2026-04-11T00:00:00Z"))
    .usage.report([event], new Date("2026-04-11T00:00:00Z"));
  return verdict;
}

const storedOf = ({ pool }: UsageFixture, organisation: string): Promise<number> =>
  tables(pool).usageEvent.count({ where: { organisationId: organisation } });

/** A sandbox with a bill of three events, one voided event, and an event of the open period. */
async function billed(fixture: UsageFixture): Promise<readonly [string, string]> {
  const [organisation, id] = await fixture.metered();
  await fixture.use(organisation, id, ["4", "2026-03-10"], ["3", "2026-03-10"]);
  await fixture.use(organisation, id, ["2", "2026-03-10"], ["1", "2026-03-10"]);
  await tables(fixture.pool).usageEvent.updateMany({
    where: { organisationId: organisation, quantity: 1 },
    data: { voidedAt: new Date(), voidReason: "Twice" },
  });
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  await fixture.use(organisation, id, ["5", "2026-04-10"]);
  return [organisation, id];
}

test("what a bill has taken is exported and dropped, and its ids stay taken", async ({
  fixture,
}) => {
  const [[organisation, id], [other]] = [await billed(fixture), await billed(fixture)];
  const lines = await exported(fixture, organisation);
  expect(lines.map((line) => JSON.parse(line).quantity).sort()).toEqual([
    "1.0000",
    "2.0000",
    "3.0000",
    "4.0000",
  ]);
  const bills = await fixture.bills(id);
  expect(await drop(fixture, organisation, lines)).toEqual({ dropped: 4, before: 0 });
  expect([await storedOf(fixture, organisation), await storedOf(fixture, other)]).toEqual([1, 5]);
  expect(await exported(fixture, organisation)).toEqual([]);
  for (const line of lines)
    expect(await reportAs(fixture, organisation, id, idOf(line))).toEqual({ status: "duplicate" });
  const rejected = await reportAs(fixture, organisation, id, idOf(lines[0]), "gone");
  expect(rejected).toEqual({ status: "duplicate" });
  expect(await reportAs(fixture, organisation, id, randomUUID())).toEqual({ status: "created" });
  expect(await reportAs(fixture, other, randomUUID(), idOf(lines[0]))).toMatchObject({
    status: "rejected",
  });
  await expectSumsOfEvents(fixture);
  expect((await checkUsageSums(fixture.pool, organisation, null)).differences).toEqual([]);
  await fixture.setClock(organisation, "2026-05-10");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual([
    ...bills,
    "1: 1 of 9.0000 in 0, 4.5000 on INV-0003",
    "1: 1 of 5.0000 in 1, 2.5000 on INV-0003",
  ]);
  const query = { meterCode: null, limit: 10, after: null };
  const usage = await listUsage(fixture.pool, organisation, id, query);
  expect(usage?.data.map(({ events }) => events)).toEqual([1n, 4n]);
  const { rows } = await fixture.pool.query(
    "SELECT after FROM audit_log WHERE organisation_id = $1 AND after ? 'dropped_usage_events'",
    [organisation],
  );
  expect(rows).toMatchObject([{ after: { dropped_usage_events: 4, exported_events: "4" } }]);
});

test("usage that no bill has taken is not exported, and its drop is refused", async ({
  fixture,
}) => {
  const [organisation, id] = await billed(fixture);
  await fixture.use(organisation, id, ["7", "2026-03-11"]);
  const lines = await exported(fixture, organisation, new Date("2026-05-01T00:00:00Z"));
  expect(lines).toHaveLength(4);
  await tables(fixture.pool).subscription.updateMany({ where: { id }, data: { usageBilled: 0 } });
  await expect(drop(fixture, organisation, lines)).rejects.toThrow(/is on no bill yet/);
  expect(await storedOf(fixture, organisation)).toBe(6);
});

test("a sum that differs from its events or its bill blocks the drop", async ({ fixture }) => {
  const [organisation, id] = await billed(fixture);
  const lines = await exported(fixture, organisation);
  const plant = (table: string, change: string) =>
    fixture.pool.query(`UPDATE ${table} SET ${change} WHERE subscription_id = $1 AND bill = 0`, [
      id,
    ]);
  const refused = () => expect(drop(fixture, organisation, lines)).rejects.toThrow(/differs from/);
  await plant("usage_sums", "quantity = quantity + 1");
  await refused();
  await plant("usage_sums", "quantity = quantity - 1, events = events + 1");
  await refused();
  await plant("usage_sums", "events = events - 1");
  const planted = "DELETE FROM usage_sums WHERE subscription_id = $1 AND bill = 0 RETURNING *";
  const { rows } = await fixture.pool.query(planted, [id]);
  await refused();
  await fixture.pool.query(
    "INSERT INTO usage_sums SELECT * FROM json_populate_record(NULL::usage_sums, $1)",
    [JSON.stringify(rows[0])],
  );
  expect(await storedOf(fixture, organisation)).toBe(5);
});

test("earlier usage that waits for its first sum blocks the drop", async ({ fixture }) => {
  const [organisation, id] = await billed(fixture);
  const lines = await exported(fixture, organisation);
  const waits = "INSERT INTO unsummed_usage (organisation_id, subscription_id) VALUES ($1, $2)";
  await fixture.pool.query(waits, [organisation, id]);
  await expect(drop(fixture, organisation, lines)).rejects.toThrow(/is on no bill yet/);
  await tables(fixture.pool).unsummedUsage.deleteMany({ where: { subscriptionId: id } });
  expect(await drop(fixture, organisation, lines)).toMatchObject({ dropped: 4 });
});

test("a line that is not the stored event blocks the drop", async ({ fixture }) => {
  const [[organisation], [other]] = [await billed(fixture), await billed(fixture)];
  const [first = "", ...rest] = await exported(fixture, organisation);
  const refused = (lines: readonly string[]) =>
    expect(drop(fixture, organisation, lines)).rejects.toThrow(/is stored as it was exported/);
  await refused([...rest, first.replace(/"quantity":"\d/, '"quantity":"8')]);
  await refused([...rest, first.replace(idOf(first), randomUUID())]);
  await refused(await exported(fixture, other));
  expect(await storedOf(fixture, organisation)).toBe(5);
});

test("a drop that was broken off goes on with the same lines", async ({ fixture }) => {
  const [organisation] = await billed(fixture);
  const lines = await exported(fixture, organisation);
  expect(await drop(fixture, organisation, lines.slice(0, 2))).toEqual({ dropped: 2, before: 0 });
  await expectSumsOfEvents(fixture);
  const { differences } = await checkUsageSums(fixture.pool, organisation, null);
  expect(differences).toEqual([]);
  expect(await drop(fixture, organisation, lines)).toEqual({ dropped: 2, before: 2 });
  expect(await drop(fixture, organisation, lines)).toEqual({ dropped: 0, before: 4 });
  await expectSumsOfEvents(fixture);
});

test("a drop that dies in its transaction has changed nothing", async ({ fixture }) => {
  const [organisation] = await billed(fixture);
  const lines = await exported(fixture, organisation);
  const dies = await inTransaction(fixture.pool, async (client) => {
    await client.query("SELECT FROM usage_sums WHERE organisation_id = $1 FOR UPDATE", [
      organisation,
    ]);
    const dropping = drop(fixture, organisation, lines);
    const dies = expect(dropping).rejects.toThrow();
    await until("the drop waits for a sum", () => isWaiting(fixture));
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return { dies };
  });
  await dies.dies;
  expect(await storedOf(fixture, organisation)).toBe(5);
  await expectSumsOfEvents(fixture);
  expect(await drop(fixture, organisation, lines)).toEqual({ dropped: 4, before: 0 });
});

test("a report that waits for a drop of its id is a duplicate", async ({ fixture }) => {
  const [organisation, id] = await billed(fixture);
  const lines = await exported(fixture, organisation);
  const eventId = idOf(lines[0]);
  const { verdict } = await inTransaction(fixture.pool, async (client) => {
    await client.query("SELECT keep_usage_ids($1, $2)", [organisation, [eventId]]);
    await tables(client).usageEvent.deleteMany({
      where: { organisationId: organisation, eventId },
    });
    const verdict = reportAs(fixture, organisation, id, eventId);
    await until("the report waits for the event", () => isWaiting(fixture));
    return { verdict };
  });
  expect(await verdict).toEqual({ status: "duplicate" });
  await expectSumsOfEvents(fixture);
});

test("the previous version cannot store a dropped id, and no event is deleted otherwise", async ({
  fixture,
}) => {
  const [organisation, id] = await billed(fixture);
  const lines = await exported(fixture, organisation);
  const deleted = "DELETE FROM usage_events WHERE organisation_id = $1";
  await expect(fixture.pool.query(deleted, [organisation])).rejects.toThrow(/stored for ever/);
  await drop(fixture, organisation, lines);
  const stored = fixture.pool.query(
    `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
        bill, quantity, occurred_at)
      SELECT $1, $2, $3, m.id, 1, 1, 1, '2026-04-10T12:00:00Z' FROM meters m
      WHERE m.organisation_id = $1 ON CONFLICT (organisation_id, event_id) DO NOTHING`,
    [organisation, idOf(lines[0]), id],
  );
  await expect(stored).rejects.toMatchObject({ constraint: "usage_events_not_dropped" });
});

test("ids are found among thousands that were dropped in any order", async ({ fixture }) => {
  const [organisation] = await fixture.metered();
  const ids = Array.from({ length: 3_000 }, (_, index) => `${(index * 7_919) % 3_001}-é😀`);
  for (let first = 0; first < ids.length; first += 500)
    await fixture.pool.query("SELECT keep_usage_ids($1, $2)", [
      organisation,
      ids.slice(first, first + 500),
    ]);
  const { rows } = await fixture.pool.query<{ id: string }>(
    "SELECT id FROM unnest($2::text[]) AS r(id) WHERE is_dropped_usage($1, id)",
    [organisation, [...ids, "", "0", "3000-é😀x", "zzz"]],
  );
  expect(rows).toHaveLength(ids.length);
  const { rows: blocks } = await fixture.pool.query<{ most: number; all: string }>(
    `SELECT max(cardinality(ids)) AS most, sum(cardinality(ids)) AS all FROM usage_event_ids
      WHERE organisation_id = $1`,
    [organisation],
  );
  expect(blocks).toEqual([{ most: 48, all: "3000" }]);
});
