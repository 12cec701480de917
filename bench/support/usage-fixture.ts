/**
 * The fixture of usage reports: organisations with keys, meters and running subscriptions, and the
 * batches that report their usage.
 */
import assert from "node:assert/strict";
import pg from "pg";
import { addPlatforms, organisationCount } from "./platforms.ts";
import type { MeasuredSystem } from "./system.ts";
import { type Batch, batchOf, measuredEvents } from "./usage-batches.ts";
import { type FloorBatch, floorBatchOf } from "./usage-floor.ts";
import { addMeters } from "./usage-meters.ts";

const subscriptions = 25;

/**
 * The numbers of batches that differ in more than their ids: reports of a hundred events, and of
 * one.
 */
const hundreds = 2 * organisationCount;
const singles = 4 * organisationCount;

const runningText = `
WITH day AS (
  SELECT date_trunc('month', now() AT TIME ZONE 'Pacific/Auckland')::date AS start
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone,
    start_date, billing_day, current_period, renewal_date, units, minimum_units, discount_percent,
      due_at, request_hash, usage_bill,
    usage_billed)
  SELECT gen_random_uuid(), $1, (SELECT id FROM customers WHERE organisation_id = $1 ORDER BY seq
    LIMIT 1), p.id, 'active', 'NZD', 'month', 1,
    'Pacific/Auckland', day.start - interval '1 month', 1, 1, day.start + interval '1 month', 10, 1,
      0, '2100-01-01', '\\x00', 1, 1
  FROM generate_series(1, $2::int), day, plans p WHERE p.organisation_id = $1 AND p.code = 'team'
  RETURNING id, start_date, renewal_date
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units)
  SELECT $1, s.id, n, nullif(n, 0) - 1, s.start_date + n * interval '1 month',
    s.start_date + (n + 1) * interval '1 month', 10
  FROM subscription s, generate_series(0, 1) n
)
SELECT id FROM subscription`;

/**
 * Adds so many subscriptions in their second month, with nothing due. Returns their ids. On the
 * first day of a month usage of an hour ago is late. It is accepted anyway.
 */
async function addRunningSubscriptions(
  pool: pg.Pool,
  organisationId: string,
  count: number,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(runningText, [organisationId, count]);
  return rows.map(({ id }) => id);
}

/** The organisations whose usage is measured. Batches take the organisations in turn. */
export interface UsageBuilder {
  readonly organisationIds: readonly string[];
  readonly keys: readonly (readonly string[])[];
  readonly hundreds: readonly Batch[];
  readonly singles: readonly Batch[];
  /** Other organisations with the same data, for the floor. */
  readonly floor: {
    readonly organisationIds: readonly string[];
    readonly hundreds: readonly FloorBatch[];
    readonly singles: readonly FloorBatch[];
  };
}

interface Owner {
  readonly organisationId: string;
  readonly keys: readonly string[];
  readonly subscriptions: readonly string[];
  readonly meterIds: readonly string[];
}

/** Creates the whole fixture. */
export async function addUsageFixture(system: MeasuredSystem): Promise<UsageBuilder> {
  const [measured, bare] = [await addOwners(system, "Measured"), await addOwners(system, "Floor")];
  const reportsOf = (events: number) => (owner: Owner, index: number, from: number) =>
    batchOf(index, measuredEvents(owner.subscriptions, from, events));
  const floorsOf = (events: number) => (owner: Owner, _: number, from: number) =>
    floorBatchOf(
      owner.organisationId,
      measuredEvents(owner.subscriptions, from, events),
      owner.meterIds,
    );
  return {
    organisationIds: measured.map(({ organisationId }) => organisationId),
    keys: measured.map(({ keys }) => keys),
    hundreds: batchesOf(measured, hundreds, reportsOf(100)),
    singles: batchesOf(measured, singles, reportsOf(1)),
    floor: {
      organisationIds: bare.map(({ organisationId }) => organisationId),
      hundreds: batchesOf(bare, hundreds, floorsOf(100)),
      singles: batchesOf(bare, singles, floorsOf(1)),
    },
  };
}

async function addOwners(system: MeasuredSystem, kind: string): Promise<readonly Owner[]> {
  const { pool } = system;
  const owners: Owner[] = [];
  for (const { organisationId, keys } of await addPlatforms(system, kind)) {
    const meterIds = await addMeters(pool, organisationId);
    owners.push({
      organisationId,
      keys,
      meterIds,
      subscriptions: await addRunningSubscriptions(pool, organisationId, subscriptions),
    });
  }
  return owners;
}

/** Creates so many batches. Owners alternate, and each batch starts with other subscriptions. */
function batchesOf<T>(
  owners: readonly Owner[],
  count: number,
  make: (owner: Owner, index: number, from: number) => T,
): readonly T[] {
  return Array.from({ length: count }, (_, number) => {
    const index = number % owners.length;
    const owner = owners[index];
    assert(owner);
    return make(owner, index, 37 * Math.floor(number / owners.length));
  });
}

/** Rejects unless these organisations have so many events, each id once. */
export async function requireStoredOnce(
  databaseUrl: string,
  organisationIds: readonly string[],
  acknowledged: number,
): Promise<void> {
  // Not by the pool: its statements are limited to ten seconds.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT coalesce(sum(times), 0)::int AS stored, count(*)::int AS different
        FROM (SELECT count(*) AS times FROM usage_events WHERE organisation_id = ANY ($1)
          GROUP BY organisation_id, event_id) ids`,
      [organisationIds],
    );
    assert.deepEqual(
      rows,
      [{ stored: acknowledged, different: acknowledged }],
      "what was acknowledged as new is stored, each event once",
    );
  } finally {
    await client.end();
  }
}
