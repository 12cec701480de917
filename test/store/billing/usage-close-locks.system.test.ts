/**
 * The locks and the cost of a close in PostgreSQL: usage that is stored at the same time waits, and
 * only its sums are read. INVARIANT-4, USAGE-11.
 */
import type pg from "pg";
import { expect } from "vitest";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import {
  bucketsOf,
  bucketText,
  lockToBill,
  lockToStore,
} from "../../../src/store/billing/usage-locks.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { sql } from "../../../src/store/database/sql/sql.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { listeningPool } from "./observed-pool.ts";
import { usageTest as test, type UsageFixture } from "./usage-fixture.ts";

/** The number of sessions that wait for an advisory lock. */
async function waiting(fixture: UsageFixture): Promise<number> {
  const { rows } = await fixture.pool.query(
    `SELECT count(*)::int AS waiting FROM pg_locks
      WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0].waiting;
}

test("a close waits for usage that is being stored, and bills it", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  const rows = await tables(fixture.pool).meter.findMany({
    where: { organisationId: organisation },
    select: { id: true },
  });
  await fixture.setClock(organisation, "2026-04-10");
  const closing = await inTransaction(fixture.pool, async (client) => {
    await lockToStore(client, [id]);
    const values = [organisation, id, rows[0]?.id];
    await client.query(
      `INSERT INTO usage_events
        (organisation_id, event_id, subscription_id, meter_id, period_index, bill, quantity,
          occurred_at)
        VALUES ($1, 'in time', $2, $3, 0, 0, 5, '2026-04-09')`,
      values,
    );
    const begun = billChunk(fixture.pool, organisation);
    await until("the close waits", async () => (await waiting(fixture)) === 1);
    return { begun };
  });
  expect(await closing.begun).toMatchObject({ performed: 1 });
  expect(await fixture.bills(id)).toEqual(["0: 1 of 5.0000 in 0, 2.5000 on INV-0002"]);
});

test("usage that is stored during a close waits for it and is in the next bill", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  await fixture.setClock(organisation, "2026-04-10");
  let storing: Promise<void> | null = null;
  const outcome = await billChunk(fixture.pool, organisation, {
    onPerformed: async () => {
      storing = fixture.use(organisation, id, ["5", "2026-04-09"], ["1", "2026-04-10"]);
      await until("the report waits", async () => (await waiting(fixture)) === 1);
    },
  });
  expect(outcome).toMatchObject({ performed: 1 });
  await storing;
  expect(await fixture.bills(id)).toEqual([]);
  await fixture.setClock(organisation, "2026-05-10");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual([
    "1: 1 of 5.0000 in 0, 2.5000 on INV-0003",
    "1: 1 of 1.0000 in 1, 0.5000 on INV-0003",
  ]);
});

test("a close bills what is free while another one holds the lock of the first due", async ({
  fixture,
}) => {
  const [organisation, first] = await fixture.metered();
  const ids = [first, await fixture.subscribe(organisation), await fixture.subscribe(organisation)];
  await fixture.setClock(organisation, "2026-04-10");
  const { rows } = await fixture.pool.query<{ bucket: number }>(
    `SELECT ${bucketText(sql`id`)} AS bucket FROM unnest($1::uuid[]) WITH ORDINALITY AS r(id, n)
      ORDER BY n`,
    [ids],
  );
  const buckets = rows.map(({ bucket }) => bucket);
  expect(buckets).toEqual(ids.flatMap((id) => bucketsOf([id])));
  const held = ids.filter((_, at) => buckets[at] === buckets[0]).length;
  await inTransaction(fixture.pool, async (client) => {
    await lockToBill(client, [first]);
    expect(await billChunk(fixture.pool, organisation)).toMatchObject({ performed: 3 - held });
  });
  expect(await billChunk(fixture.pool, organisation)).toMatchObject({ performed: held });
});

test("a close of a plan without meters needs no lock and no further statement", async ({
  fixture,
}) => {
  const statements = async (isMetered: boolean) => {
    const own = await fixture.sandbox("2026-03-10");
    if (isMetered) await fixture.meter(own);
    await fixture.subscribe(own);
    await fixture.setClock(own, "2026-04-10");
    const sent: string[] = [];
    let locks = -1;
    await billChunk(
      listeningPool(fixture.pool, ({ name, text }) => void sent.push(name ?? text.slice(0, 20))),
      own,
      {
        onPerformed: async (client) => {
          const { rows } = await client.query(
            `SELECT count(*)::int AS locks FROM pg_locks
              WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
          );
          locks = rows[0].locks;
        },
      },
    );
    return { sent: sent.filter((text) => !text.startsWith("SELECT count(*)")), locks };
  };
  const plain = await statements(false);
  const metered = await statements(true);
  expect([plain.locks, metered.locks]).toEqual([0, 1]);
  expect(metered.sent.filter((text) => !plain.sent.includes(text))).toEqual([
    "read_by_index",
    "lock_usage_to_bill",
    "load_open_usage",
  ]);
  expect(plain.sent.filter((text) => !metered.sent.includes(text))).toEqual([]);
  expect(plain.sent.length).toBe(metered.sent.length - 3);
});

test("a close reads the sums by their key and no event, by every plan", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  await fixture.use(organisation, id, ["4", "2026-03-10"], ["3", "2026-03-10"]);
  await fixture.setClock(organisation, "2026-04-10");
  const sent: pg.QueryConfig[] = [];
  const listening = listeningPool(fixture.pool, (statement) => void sent.push(statement));
  const plan = async (mode: string): Promise<string> =>
    inTransaction(fixture.pool, async (client) => {
      await client.query(`SET LOCAL plan_cache_mode = ${mode}; SET LOCAL enable_seqscan = off`);
      const sums = sent.find(({ name }) => name === "load_open_usage")?.text;
      await client.query(`PREPARE sums AS ${sums}`);
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, TIMING off) EXECUTE sums ('${organisation}', ARRAY['${id}']::uuid[])`,
      );
      await client.query("DEALLOCATE sums");
      return rows.map((row) => row["QUERY PLAN"]).join("\n");
    });
  await billChunk(listening, organisation);
  await fixture.use(organisation, id, ["5", "2026-04-10"]);
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    const text = await plan(mode);
    expect(text).toMatch(/usage_sums_pkey/);
    expect(text).not.toMatch(/Seq Scan/);
    const events = text.match(/usage_events_\d+_subscription_id.*$/gm) ?? [];
    expect(events.length).toBeGreaterThan(0);
    for (const scan of events) expect(scan).toMatch(/never executed/);
  }
});
