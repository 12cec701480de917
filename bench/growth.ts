/**
 * Reports usage over REST in batches of 100 while the table of events is small (ten thousand) and
 * once it is large: as many millions as the argument says, 100 without one. Prints the processor
 * time of a batch, of everything except the load generator, at both sizes.
 *
 * Needs half a gigabyte of disk for each million.
 *
 * Aim: a batch at 100 million events costs at most one and a half times what it costs at ten
 * thousand. USAGE-1
 */
import assert from "node:assert/strict";
import pg from "pg";
import { cpuSecondsUsed } from "./support/cpu.ts";
import { median, printFigure } from "./support/figure.ts";
import { publishAll } from "./support/publish-all.ts";
import { isShort } from "./support/short.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";
import { addUsageFixture, type UsageBuilder } from "./support/usage-fixture.ts";
import { startUsageLoad, type UsageLoad } from "./support/usage-load.ts";

const million = 1_000_000;
const smallSize = 10_000;
const repetitions = 5;
const durationMs = 4_000;

/** As many as keep PostgreSQL busy: twice the service's own connections to it. */
const connections = 24;

/** The subscriptions of the measured organisations, to be filled in turn. */
const placesText = `
CREATE TEMP TABLE places AS
SELECT row_number() OVER () - 1 AS place, s.organisation_id, s.id,
  (SELECT id FROM meters m WHERE m.organisation_id = s.organisation_id LIMIT 1) AS meter_id
FROM subscriptions s WHERE s.organisation_id = ANY ($1)`;

/** Ids as random as those of reports. They are a character longer, so none is of a report. */
const fillText = `
INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index, bill,
  quantity, occurred_at)
SELECT p.organisation_id, md5(n::text) || '-', p.id, p.meter_id, 1, 1, 1, now()
FROM generate_series($1::bigint, $2::bigint) n
  JOIN places p ON p.place = n % (SELECT count(*) FROM places)`;

/**
 * Fills the table without its triggers and its primary key, which is built at the end. The sums are
 * left without these events.
 */
async function fill(
  { databaseUrl }: MeasuredSystem,
  { organisationIds }: UsageBuilder,
  [from, to]: readonly [number, number],
): Promise<void> {
  // Not by the pool: its statements are limited to ten seconds.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(placesText, [organisationIds]);
    await client.query("SET maintenance_work_mem = '2GB'; SET synchronous_commit = off");
    await client.query("ALTER TABLE usage_events DISABLE TRIGGER USER");
    await client.query("ALTER TABLE usage_events DROP CONSTRAINT usage_events_pkey");
    for (let first = from + 1; first <= to; first += 5 * million)
      await client.query(fillText, [first, Math.min(to, first + 5 * million - 1)]);
    await client.query("ALTER TABLE usage_events ADD PRIMARY KEY (organisation_id, event_id)");
    await client.query("ALTER TABLE usage_events ENABLE TRIGGER USER");
    await client.query("VACUUM ANALYZE usage_events");
    await client.query("CHECKPOINT");
  } finally {
    await client.end();
  }
}

/** Milliseconds of processor time of a batch, and how long its answer takes. */
async function measure(
  { baseUrl }: MeasuredSystem,
  load: UsageLoad,
  { keys, hundreds: batches }: UsageBuilder,
  first: number,
): Promise<{ readonly sent: number; readonly cpuMs: number; readonly p50Ms: number }> {
  const before = cpuSecondsUsed(load.pid);
  const result = await load.run({
    port: Number(new URL(baseUrl).port),
    ...{ keys, batches, first, connections, durationMs, duplicates: null, perSecond: null },
  });
  assert.equal(result.failures, 0, result.failure ?? "");
  assert.equal(result.created, 100 * result.answers, "every event is new");
  const cpuMs = (1_000 * (cpuSecondsUsed(load.pid) - before)) / result.answers;
  return { sent: result.sent.count, cpuMs, p50Ms: result.p50Ms };
}

/** Prints the figures of both sizes. */
export async function run(): Promise<void> {
  const largeSize = million * (isShort ? 1 : Number(process.argv[3] ?? 100));
  const system = await startMeasuredSystem();
  const load = startUsageLoad();
  try {
    const fixture = await addUsageFixture(system);
    await publishAll(system);
    let next = 0;
    const measureAll = async (name: string, floor?: number) => {
      const runs = [];
      for (let repetition = 0; repetition < repetitions; repetition++) {
        const one = await measure(system, load, fixture, next);
        next += one.sent;
        runs.push(one);
      }
      const cpuMs = median(runs.map((one) => one.cpuMs));
      printFigure(`growth_${name}_batch100_cpu`, cpuMs, "ms", floor);
      printFigure(`growth_${name}_batch100_p50`, median(runs.map((one) => one.p50Ms)), "ms");
      return cpuMs;
    };
    await fill(system, fixture, [0, smallSize]);
    next += (await measure(system, load, fixture, next)).sent;
    const small = await measureAll("small");
    await fill(system, fixture, [smallSize, largeSize]);
    // Once without being counted: after a checkpoint each page is logged whole at its first change.
    next += (await measure(system, load, fixture, next)).sent;
    await measureAll("large", small);
  } finally {
    load.stop();
    await system.stop();
  }
}
