/**
 * Closes a month: renews 20,000 subscriptions with 1,000 usage events each, 20 million in all. The
 * billing run works as in a worker: it reads the sums under the lock, prices, writes the renewal
 * invoices and records the bill. The floor is one bare sum over the same events and the bare
 * renewals of as many other subscriptions. `npm run bench -- close 200` takes a hundredth.
 *
 * Aim: no sum differs, and all of it is closed within minutes. USAGE-9
 */
import assert from "node:assert/strict";
import type pg from "pg";
import { cpuSecondsUsed } from "./support/cpu.ts";
import { type MeasuredDatabase, startMeasuredDatabase } from "./support/database.ts";
import { addDueSubscriptions } from "./support/due-subscriptions.ts";
import { printFigure } from "./support/figure.ts";
import { renewAll, renewByBilling, renewByFloor } from "./support/renewing.ts";
import { addUsage, withClient } from "./support/usage-due.ts";
import { addMeters, meterCodes } from "./support/usage-meters.ts";
import { requireBilledOnce } from "./support/usage-recount.ts";

const organisations = 20;
const allSubscriptions = 20_000;
const eventsOfEach = 1_000;

/**
 * The warm-up closes these subscriptions before anything counts. Their events are summed as well.
 */
const warmUp = { subscriptions: 1_000, eventsOfEach: 20 };

/** The number of subscriptions: the argument after the measurement's name, or all. */
function subscriptionsWanted(): number {
  const wanted = Number(process.argv[3] ?? allSubscriptions);
  assert(
    wanted > 0 && wanted % organisations === 0,
    `the number of subscriptions is a multiple of ${organisations}`,
  );
  return wanted;
}

async function addOrganisations(
  database: MeasuredDatabase,
  kind: string,
  each: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 0; number < organisations; number++) {
    const id = await database.organisation(`${kind} ${number}`);
    await addMeters(database.pool, id);
    await addDueSubscriptions(database.pool, id, each);
    ids.push(id);
  }
  return ids;
}

const bareSumText = `SELECT count(*)::int AS sums, sum(events)::int AS events FROM (
  SELECT count(*) AS events, sum(quantity) FROM usage_events WHERE voided_at IS NULL
  GROUP BY subscription_id, bill, period_index, meter_id) sums`;

interface Sum {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/**
 * The bare sum over all events. The better of two runs counts, so that no run pays for filling the
 * cache of the other.
 */
async function sumBarely(databaseUrl: string, subscriptions: number, events: number): Promise<Sum> {
  const expected = {
    sums: (subscriptions + warmUp.subscriptions) * meterCodes.length,
    events: events + warmUp.subscriptions * warmUp.eventsOfEach,
  };
  return withClient(databaseUrl, async (client) => {
    let best: Sum = { seconds: Number.POSITIVE_INFINITY, cpuSeconds: 0 };
    for (let repetition = 0; repetition < 2; repetition++) {
      const cpuBefore = cpuSecondsUsed(null);
      const began = performance.now();
      const { rows } = await client.query(bareSumText);
      const seconds = (performance.now() - began) / 1_000;
      assert.deepEqual(rows, [expected]);
      if (seconds < best.seconds) best = { seconds, cpuSeconds: cpuSecondsUsed(null) - cpuBefore };
    }
    return best;
  });
}

/**
 * Compiles and plans the statements before anything counts, as in a worker that has run for a
 * minute.
 */
async function closeSome(database: MeasuredDatabase, databaseUrl: string): Promise<void> {
  const ids = [await database.organisation("Warm"), await database.organisation("Warm floor")];
  for (const id of ids) {
    await addMeters(database.pool, id);
    await addDueSubscriptions(database.pool, id, warmUp.subscriptions);
  }
  await addUsage(databaseUrl, ids.slice(0, 1), warmUp.eventsOfEach / meterCodes.length);
  await renewAll(renewByBilling(database.pool), ids.slice(0, 1), warmUp.subscriptions);
  await renewAll(renewByFloor(database.pool), ids.slice(1), warmUp.subscriptions);
}

function urlOf({ options: { connectionString } }: pg.Pool): string {
  assert(connectionString);
  return connectionString;
}

/**
 * Prints the figures. Rejects if a sum or an amount differs, or if an event was billed twice or not
 * at all.
 */
export async function run(): Promise<void> {
  const subscriptions = subscriptionsWanted();
  const each = subscriptions / organisations;
  const events = subscriptions * eventsOfEach;
  const database = await startMeasuredDatabase();
  try {
    const { pool } = database;
    const databaseUrl = urlOf(pool);
    await closeSome(database, databaseUrl);
    const measured = await addOrganisations(database, "Measured", each);
    const bare = await addOrganisations(database, "Floor", each);
    const began = performance.now();
    await addUsage(databaseUrl, measured, eventsOfEach / meterCodes.length);
    printFigure(
      "close_events_generated",
      (events * 1_000) / (performance.now() - began),
      "events/s",
    );
    const sum = await sumBarely(databaseUrl, subscriptions, events);
    const floor = await renewAll(renewByFloor(pool), bare, subscriptions);
    const closed = await renewAll(renewByBilling(pool), measured, subscriptions);
    const floorSeconds = sum.seconds + floor.seconds;
    printFigure("close_periods", closed.perSecond, "periods/s", subscriptions / floorSeconds);
    printFigure("close_events", events / closed.seconds, "events/s", events / floorSeconds);
    const floorCost = (1e6 * sum.cpuSeconds) / subscriptions + floor.cpuMicroseconds;
    printFigure("close_periods_cost", closed.cpuMicroseconds, "cpu-us/period", floorCost);
    printFigure("close_floor_sum", events / sum.seconds, "events/s");
    printFigure("close_floor_renewals", floor.perSecond, "renewals/s");
    printFigure("close_seconds", closed.seconds, "s", floorSeconds);
    await requireBilledOnce(databaseUrl, measured, { subscriptions, events });
    printFigure("close_billed_once", events, "events");
  } finally {
    await database.stop();
  }
}
