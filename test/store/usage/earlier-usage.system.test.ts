/** An upgrade sums the usage that was stored before the sums were introduced. INVARIANT-10. */
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, inject, test } from "vitest";
import { migrationsFolder } from "../../../src/assets.ts";
import { sumEarlierUsage } from "../../../src/store/billing/usage-sums.ts";
import {
  migrate,
  withClient,
  withDatabase,
} from "../../../src/store/database/migrations/migrate.ts";
import { testPool } from "../../support/pool.ts";
import { expectSumsOfEvents } from "../../support/usage-sums.ts";

const migration = "20261128110000_usage_sums";

/** Two subscriptions, one of them with a meter and three events, one of which is voided. */
const earlierText = `
SET session_replication_role = replica;
WITH ids AS (SELECT gen_random_uuid() AS organisation, gen_random_uuid() AS metered,
  gen_random_uuid() AS plain, gen_random_uuid() AS meter),
m AS (INSERT INTO meters (id, organisation_id, code, name, unit_label, status)
  SELECT meter, organisation, 'calls', 'Calls', 'call', 'active' FROM ids),
p AS (INSERT INTO plan_meters (organisation_id, plan_id, position, meter_id, type, price)
  SELECT organisation, metered, 0, meter, 'per_unit', 1 FROM ids),
s AS (INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone, start_date, billing_day, current_period, renewal_date,
    units, minimum_units, discount_percent, due_at, request_hash, usage_bill, usage_billed)
  SELECT gen_random_uuid(), organisation, organisation, plan, 'active', 'NZD', 'month', 1, 'UTC',
    '2026-03-10', 10, 1, '2026-05-10', 0, 0, 0, '2026-05-10', '\\x00', 1, 1
  FROM ids, unnest(ARRAY[metered, plain]) AS plan RETURNING organisation_id, id, plan_id)
INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index, bill,
  quantity, occurred_at, voided_at, void_reason)
SELECT organisation, n, s.id, meter, 1, 1, n, '2026-04-20', CASE WHEN n = 3 THEN now() END,
  CASE WHEN n = 3 THEN 'Twice' END
FROM ids JOIN s ON s.plan_id = metered, generate_series(1, 3) n`;

test("an upgrade queues subscriptions with meters, and sums their events once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "earlier-usage-"));
  const server = inject("postgresUrl");
  const name = `earlier_usage_${randomUUID().replaceAll("-", "")}`;
  const url = withDatabase(server, name);
  const pool = testPool(url, 2, "earlier usage");
  const count = async (table: string) => (await pool.query(`SELECT FROM ${table}`)).rowCount;
  try {
    const isEarlier = (path: string) =>
      !/^\d{14}_/.test(basename(path)) || basename(path) < migration;
    await cp(migrationsFolder(), folder, { recursive: true, filter: isEarlier });
    await migrate(url, { migrationsFolder: folder });
    await withClient(url, (client) => client.query(earlierText));
    expect(await migrate(url)).toContain(migration);
    expect([await count("unsummed_usage"), await count("usage_sums")]).toEqual([1, 0]);
    const lines: string[] = [];
    for (let time = 0; time < 2; time += 1) await sumEarlierUsage(url, (line) => lines.push(line));
    expect(lines).toEqual(["summed the earlier usage of 1 subscriptions"]);
    expect([await count("unsummed_usage"), await count("usage_sums")]).toEqual([0, 1]);
    await expectSumsOfEvents({ pool });
  } finally {
    await pool.end();
    await withClient(server, (client) => client.query(`DROP DATABASE IF EXISTS ${name}`));
    await rm(folder, { recursive: true, force: true });
  }
});
