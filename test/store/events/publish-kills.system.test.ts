/** Whoever tells may be killed at each step, or find another at it: every change is told once, and no delivery is forgotten. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publishingCrashPoints } from "../../../src/crash-points.ts";
import { writeObject } from "../../../src/main/render-event-object.ts";
import { createOutboxStore } from "../../../src/store/events/outbox.ts";
import { createPublishingActivities } from "../../../src/worker/activities/events/publish-changes.ts";
import {
  eventsOf,
  expectAllPublished,
  untilSolePublisher,
} from "../../support/published-events.ts";
import { type TellingWorld, tellingWorld } from "./publish-fixture.ts";

let world: TellingWorld;

beforeAll(async () => {
  world = await tellingWorld();
});

afterAll(() => world?.drop());

const program = fileURLToPath(new URL("publish-once.ts", import.meta.url));

/** The signal by which a process that tells ends, having been told to die at a point. */
async function killedAt(point: string, organisationId: string): Promise<string | null> {
  const child = spawn(process.execPath, [program, world.url, organisationId], {
    env: { ...process.env, BILLING_CRASH_AT: point },
    stdio: "inherit",
  });
  return new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
}

/** What another process does after it; the endpoints whose deliveries it starts. */
async function tellOn(organisationId: string): Promise<readonly string[]> {
  const started: string[] = [];
  const { publishBatch } = createPublishingActivities({
    store: createOutboxStore(world.pool, writeObject),
    onUnpublished: (_, { error }) => {
      throw error;
    },
    startEvents: async () => true,
    startDeliveries: async ({ endpointId }) => started.push(endpointId) > 0,
  });
  const until = new Date(Date.now() + 60_000).toISOString();
  // What the killed one held is free once the database has noticed.
  await untilSolePublisher(() => publishBatch({ organisationId, until }));
  return started.sort();
}

/** Marks, events and deliveries of an organisation beside those of its customer, and whether the deliveries are due. */
async function counts(organisationId: string): Promise<object> {
  const { rows } = await world.pool.query(
    `SELECT (SELECT count(*)::int FROM outbox WHERE organisation_id = $1) AS marks, count(DISTINCT e.id)::int AS events,
      count(d.id)::int AS deliveries, bool_and(d.due_at <= now()) AS due
    FROM events e LEFT JOIN webhook_deliveries d ON d.event_id = e.id WHERE e.organisation_id = $1 AND e.object_kind <> 'customer'`,
    [organisationId],
  );
  return rows[0];
}

const told = { marks: 0, events: 4, deliveries: 4, due: true };
const after: Readonly<Record<(typeof publishingCrashPoints)[number], object>> = {
  // Nothing of the chunk is there: two subscriptions with their invoices and lines, and a delivery of before.
  publishing_loaded: { marks: 6, events: 0, deliveries: 0, due: null },
  publishing_saved: told,
  delivery_started: told,
};

test.each(publishingCrashPoints)("killed at %s", async (point) => {
  const own = await world.listening();
  await world.pool.query("DELETE FROM webhook_deliveries WHERE organisation_id = $1", [own]);
  for (let count = 0; count < 2; count++) await world.subscribe(own);
  expect(await killedAt(point, own)).toBe("SIGKILL");
  expect(await counts(own)).toEqual(after[point]);
  const started = await tellOn(own);
  const { rows } = await world.pool.query<{ id: string }>(
    "SELECT DISTINCT endpoint_id AS id FROM webhook_deliveries WHERE organisation_id = $1",
    [own],
  );
  expect(started).toEqual(rows.map(({ id }) => id));
  // Started or not, they are due until somebody claims them.
  expect(await counts(own)).toEqual(told);
  await expectAllPublished(world.pool, [own]);
});

test("four at once tell each change once", async () => {
  const own = await world.listening();
  for (let count = 0; count < 20; count++) await world.subscribe(own);
  await Promise.all([1, 2, 3, 4].map(() => tellOn(own)));
  const events = await eventsOf(world.pool, own);
  expect(events).toHaveLength(41);
  expect(new Set(events.map(({ data }) => data.object.id)).size).toBe(41);
  const { rows } = await world.pool.query(
    "SELECT 1 FROM webhook_deliveries WHERE organisation_id = $1",
    [own],
  );
  expect(rows).toHaveLength(41);
});
