/**
 * A publishing process is killed at each crash point, or meets another one. Every change is
 * published once, and no delivery is lost. EVENT-1.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { writeObject } from "../../../src/present/event-objects.ts";
import { createOutboxStore } from "../../../src/store/events/outbox.ts";
import { createPublishingActivities } from "../../../src/worker/activities/events/publish-changes.ts";
import { publishingCrashPoints } from "../../support/crash-points.ts";
import {
  eventsOf,
  expectAllPublished,
  untilSolePublisher,
} from "../../support/published-events.ts";
import { countDeliveries, deliveriesOf, tables } from "../../support/rows.ts";
import { type PublishingFixture, publishingTest as test } from "./publish-fixture.ts";

const program = fileURLToPath(new URL("publish-once.ts", import.meta.url));

/** Starts a process that ends at a crash point, and returns the signal that ended it. */
async function killedAt(
  fixture: PublishingFixture,
  point: string,
  organisationId: string,
): Promise<string | null> {
  const child = spawn(process.execPath, [program, fixture.url, organisationId], {
    env: { ...process.env, BILLING_CRASH_AT: point },
    stdio: "inherit",
  });
  return new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
}

/** Publishes as another process does, and returns the endpoints whose deliveries it starts. */
async function publishAfter(
  fixture: PublishingFixture,
  organisationId: string,
): Promise<readonly string[]> {
  const started: string[] = [];
  const { publishBatch } = createPublishingActivities({
    store: createOutboxStore(fixture.pool, writeObject),
    onUnpublished: (_, { error }) => {
      throw error;
    },
    startEvents: async () => true,
    startDeliveries: async ({ endpointId }) => started.push(endpointId) > 0,
  });
  const until = new Date(Date.now() + 60_000).toISOString();
  // The killed process holds its lock until the database has noticed.
  await untilSolePublisher(() => publishBatch({ organisationId, until }));
  return started.sort();
}

/**
 * Counts entries, events and deliveries of an organisation without those of its customer, and
 * returns whether the deliveries are due.
 */
async function counts(fixture: PublishingFixture, organisationId: string): Promise<object> {
  const { rows } = await fixture.pool.query(
    `SELECT (SELECT count(*)::int FROM outbox WHERE organisation_id = $1) AS entries,
        count(DISTINCT e.id)::int AS events, count(d.id)::int AS deliveries,
        bool_and(d.due_at <= now()) AS due
      FROM events e LEFT JOIN webhook_deliveries d ON d.event_id = e.id
      WHERE e.organisation_id = $1 AND e.object_kind <> 'customer'`,
    [organisationId],
  );
  return rows[0];
}

const published = { entries: 0, events: 4, deliveries: 4, due: true };
const after: Readonly<Record<(typeof publishingCrashPoints)[number], object>> = {
  // Nothing of the chunk is stored: two subscriptions with their invoices and lines.
  publishing_loaded: { entries: 6, events: 0, deliveries: 0, due: null },
  publishing_saved: published,
  delivery_started: published,
};

test.for(publishingCrashPoints)("a process killed at %s loses no change", async (point, {
  fixture,
}) => {
  const own = await fixture.listening();
  await tables(fixture.pool).webhookDelivery.deleteMany({ where: { organisationId: own } });
  for (let count = 0; count < 2; count++) await fixture.subscribe(own);
  expect(await killedAt(fixture, point, own)).toBe("SIGKILL");
  expect(await counts(fixture, own)).toEqual(after[point]);
  const started = await publishAfter(fixture, own);
  const deliveries = await deliveriesOf(fixture.pool, { organisationId: own });
  expect(started).toEqual([...new Set(deliveries.map(({ endpointId }) => endpointId))]);
  // Started or not, they are due until a process claims them.
  expect(await counts(fixture, own)).toEqual(published);
  await expectAllPublished(fixture.pool, [own]);
});

test("four concurrent processes publish each change once", async ({ fixture }) => {
  const own = await fixture.listening();
  for (let count = 0; count < 20; count++) await fixture.subscribe(own);
  await Promise.all([1, 2, 3, 4].map(() => publishAfter(fixture, own)));
  const events = await eventsOf(fixture.pool, own);
  expect(events).toHaveLength(41);
  expect(new Set(events.map(({ data }) => data.object.id)).size).toBe(41);
  expect(await countDeliveries(fixture.pool, { organisationId: own })).toBe(41);
});
