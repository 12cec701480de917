/**
 * A batch of the relay publishes an organisation's changes and starts its deliveries. It finds the
 * organisations with outbox entries in one statement. EVENT-1, EVENT-2.
 */
import { describe, expect } from "vitest";
import { writeObject } from "../../../src/present/event-objects.ts";
import {
  createOutboxStore,
  findChangedObjects,
  findChangedOrganisations,
} from "../../../src/store/events/outbox.ts";
import { createPublishingActivities } from "../../../src/worker/activities/events/publish-changes.ts";
import { eventsOf, expectAllPublished, publishAll } from "../../support/published-events.ts";
import { deliveriesOf, fromNow, tables } from "../../support/rows.ts";
import { type PublishingFixture, publishingTest as test } from "./publish-fixture.ts";

const later = () => new Date(Date.now() + 3_600_000);

describe("a batch of publishing", () => {
  const startsOf = (fixture: PublishingFixture, answer = true) => {
    const started: string[] = [];
    const activities = createPublishingActivities({
      store: createOutboxStore(fixture.pool, writeObject),
      onUnpublished: (_, { error }) => {
        throw error;
      },
      startEvents: async ({ organisationId, until }) =>
        answer && started.push(`${organisationId} ${until}`) > 0,
      startDeliveries: async ({ organisationId, endpointId }) =>
        answer && started.push(`${organisationId} ${endpointId}`) > 0,
    });
    return { started, ...activities };
  };

  test("publishes all changes and starts the deliveries to the endpoint", async ({ fixture }) => {
    const own = await fixture.listening();
    for (let count = 0; count < 3; count++) await fixture.subscribe(own);
    const { publishBatch, started } = startsOf(fixture);
    const input = { organisationId: own, until: later().toISOString() };
    // A slow machine needs several batches.
    const publishRest = async () => {
      for (let published = 0; ; ) {
        const batch = await publishBatch(input);
        published += batch.published;
        if (!batch.isMore) return { published, started: batch.started };
      }
    };
    expect(await publishRest()).toEqual({ published: 6, started: 1 });
    const deliveries = await deliveriesOf(fixture.pool, { organisationId: own });
    expect(new Set(started)).toEqual(
      new Set(deliveries.map(({ endpointId }) => `${own} ${endpointId}`)),
    );
    await tables(fixture.pool).webhookDelivery.updateMany({
      where: { organisationId: own },
      data: { dueAt: fromNow(60) },
    });
    expect(await publishRest()).toEqual({ published: 0, started: 0 });
  });

  test("leaves deliveries to a later batch if the engine accepts no start", async ({ fixture }) => {
    const own = await fixture.listening();
    const { publishBatch } = startsOf(fixture, false);
    expect(await publishBatch({ organisationId: own, until: later().toISOString() })).toEqual({
      published: 0,
      started: 0,
      isMore: false,
    });
    expect(
      await startsOf(fixture).publishBatch({ organisationId: own, until: later().toISOString() }),
    ).toMatchObject({
      started: 1,
    });
  });

  test("reschedules an object that cannot be published, and publishes the others", async ({
    fixture,
  }) => {
    const own = await fixture.listening();
    const [bad, good] = [await fixture.subscribe(own), await fixture.subscribe(own)];
    const write: typeof writeObject = (object) => {
      if (object.kind === "subscription" && object.shown.subscription.id === bad)
        throw new Error("not writable");
      return writeObject(object);
    };
    const objects = await findChangedObjects(fixture.pool, own, later(), 10);
    const { events, unpublished } = await createOutboxStore(fixture.pool, write).publish(
      own,
      objects,
      () => undefined,
    );
    expect(unpublished).toEqual([
      { kind: "subscription", id: bad, error: new Error("not writable") },
    ]);
    expect(events).toBe(objects.length - 1);
    expect((await eventsOf(fixture.pool, own)).map(({ data }) => data.object.id)).toContain(good);
    expect(await findChangedObjects(fixture.pool, own, new Date(), 10)).toEqual([]);
    await tables(fixture.pool).outboxEntry.updateMany({
      where: { organisationId: own },
      data: { recordedAt: new Date() },
    });
    expect(await fixture.publish(own)).toEqual(["subscription.created 1 null"]);
  });

  test("combines changes up to its instant, or whole minutes later if it takes long", async ({
    fixture,
  }) => {
    const { own, id, invoice } = await fixture.subscribed();
    const addEntry = (object: string, kind: string, age: string) =>
      fixture.pool.query(
        `INSERT INTO outbox (organisation_id, object_kind, object_id, change, recorded_at)
          VALUES ($1, $2, $3, 'updated', now() - $4::interval)`,
        [own, kind, object, age],
      );
    await addEntry(id, "subscription", "70 seconds");
    await addEntry(invoice, "invoice", "-1 hour");
    const found = async (inSeconds: number) => {
      const until = new Date(Date.now() + inSeconds * 1_000);
      return (await findChangedObjects(fixture.pool, own, until, 10)).map(({ kind }) => kind);
    };
    expect(await found(1_800)).toEqual(["subscription"]);
    expect(await found(7_200)).toEqual(["subscription", "invoice"]);
    // Its instant was before the entry, and is a whole minute later by now.
    expect(await found(-90)).toEqual(["subscription"]);
    expect(await found(-86_400)).toEqual(["subscription"]);
    expect(await findChangedObjects(fixture.pool, own, later(), 1)).toEqual([
      { kind: "subscription", id },
    ]);
    await tables(fixture.pool).outboxEntry.deleteMany({ where: { organisationId: own } });
  });
});

test("a minute without changes takes a statement for changes and one for deliveries", async ({
  fixture,
}) => {
  const [changed, other, unchanged] = [
    await fixture.listening(),
    await fixture.listening(),
    await fixture.listening(),
  ];
  await expectAllPublished(fixture.pool);
  for (const own of [changed, other])
    await fixture.set("subscriptions", await fixture.subscribe(own), "label = 'a'");
  const { organisationIds, now } = await findChangedOrganisations(fixture.pool, null, 500);
  expect(organisationIds).toEqual([changed, other].sort());
  expect(Math.abs(now.getTime() - Date.now())).toBeLessThan(60_000);
  expect(
    (await findChangedOrganisations(fixture.pool, organisationIds[0] ?? "", 500)).organisationIds,
  ).toEqual(organisationIds.slice(1));
  expect((await findChangedOrganisations(fixture.pool, null, 1)).organisationIds).toEqual(
    organisationIds.slice(0, 1),
  );
  expect(organisationIds).not.toContain(unchanged);

  for (const own of [changed, other]) await publishAll(fixture.pool, own);
  await tables(fixture.pool).webhookDelivery.updateMany({ data: { dueAt: fromNow(60) } });
  const statements: unknown[] = [];
  const pool = {
    query: (statement: never) => {
      statements.push(statement);
      return fixture.pool.query(statement);
    },
  };
  const { startChanged, startDeliveriesDue } = createPublishingActivities({
    store: createOutboxStore(pool as never, writeObject),
    onUnpublished: (_, { error }) => {
      throw error;
    },
    startEvents: async () => true,
    startDeliveries: async () => true,
  });
  expect(await startChanged({ after: null })).toEqual({ found: 0, started: 0, next: null });
  expect(statements).toHaveLength(1);
  expect(await startDeliveriesDue({ after: null })).toEqual({ found: 0, started: 0, next: null });
  expect(statements).toHaveLength(2);
});
