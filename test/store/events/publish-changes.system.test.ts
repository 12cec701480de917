/**
 * One transaction publishes the changes of a chunk. They are combined for each object, numbered,
 * and written once with a delivery for each endpoint that subscribes to them. EVENT-1 to EVENT-4.
 */
import { describe, expect } from "vitest";
import { writeObject } from "../../../src/present/event-objects.ts";
import { findChangedObjects } from "../../../src/store/events/outbox.ts";
import { publishChunk } from "../../../src/store/events/publish-changes.ts";
import {
  eventsOf,
  expectAllPublished,
  publishAll,
  shownTexts,
} from "../../support/published-events.ts";
import { countDeliveries, tables } from "../../support/rows.ts";
import { poolBefore, publishingTest as test } from "./publish-fixture.ts";

/** Publishes as the service does. */
const order = { write: writeObject };
const later = () => new Date(Date.now() + 3_600_000);

describe("an event", () => {
  test("of a new object has its retrieval, byte for byte, and no previous attributes", async ({
    fixture,
  }) => {
    const own = await fixture.sandbox("2026-03-01");
    await fixture.endpoint(own);
    await fixture.subscribe(own);
    const events = await fixture.publishEvents(own);
    expect(events.map(({ type }) => type)).toEqual([
      "customer.created",
      "subscription.created",
      "invoice.created",
    ]);
    // By the sandbox's clock, like everything that is shown of it.
    expect(events.map(({ created }) => created.slice(0, 10))).toEqual(Array(3).fill("2026-03-01"));
    const shown = await shownTexts(fixture.pool, own);
    const where = { organisationId: own };
    for (const { body } of await tables(fixture.pool).event.findMany({ where })) {
      const { id, type, created, data } = JSON.parse(body);
      const text = shown[`${data.object.object} ${data.object.id}`];
      expect(body).toBe(
        `{"id":"${id}","object":"event","type":"${type}","api_version":"1.0.0",` +
          `"created":"${created}","livemode":false,"sequence":1,` +
          `"data":{"object":${text},"previous_attributes":null}}`,
      );
    }
  });

  test("combines the changes of a window, and the next window has the next sequence", async ({
    fixture,
  }) => {
    const { own, id } = await fixture.subscribed();
    await fixture.set("subscriptions", id, "label = 'a'");
    await fixture.set("subscriptions", id, "label = 'b', invoice_reference = 'x'");
    expect(await fixture.publish(own)).toEqual([
      'subscription.updated 2 {"label":"","invoice_reference":""}',
    ]);
    await fixture.set("subscriptions", id, "label = 'c'");
    expect(await fixture.publish(own)).toEqual(['subscription.updated 3 {"label":"b"}']);
    expect(await fixture.publish(own)).toEqual([]);
  });

  test("is not published and takes no sequence if the object is as before", async ({ fixture }) => {
    const { own, id } = await fixture.subscribed();
    await fixture.set("subscriptions", id, "label = 'a'");
    await fixture.set("subscriptions", id, "label = ''");
    expect(await fixture.entryCount(own)).toBe(2);
    expect(await fixture.publish(own)).toEqual([]);
    await fixture.set("subscriptions", id, "label = 'a'");
    expect(await fixture.publish(own)).toEqual(['subscription.updated 2 {"label":""}']);
  });

  test("is ended after an end, and only updated if a restoration followed", async ({ fixture }) => {
    const { own, id } = await fixture.subscribed();
    const end = "status = 'ended', ended_at = now(), end_date = '2026-03-10', due_at = NULL";
    const restore = "status = 'active', ended_at = NULL, end_date = NULL, due_at = '2026-04-01'";
    await fixture.set("subscriptions", id, end);
    await fixture.set("subscriptions", id, restore);
    expect(await fixture.publish(own)).toEqual(["subscription.updated 2 {}"]);
    await fixture.set("subscriptions", id, `${end}, label = 'x'`);
    expect(await fixture.publish(own)).toEqual([
      'subscription.ended 3 {"status":"active","end_date":null,"label":"",' +
        '"renewal_value":"125.0000"}',
    ]);
    await fixture.set("subscriptions", id, restore);
    expect((await fixture.publishEvents(own)).map(({ type }) => type)).toEqual([
      "subscription.updated",
    ]);
    const short = await fixture.subscribe(own);
    await fixture.set("subscriptions", short, end);
    const events = (await fixture.publishEvents(own)).filter(
      ({ data }) => data.object.id === short,
    );
    expect(
      events.map(({ type, sequence, data }) => [type, sequence, data.previous_attributes]),
    ).toEqual([
      ["subscription.created", 1, null],
      ["subscription.ended", 2, null],
    ]);
  });

  test("of an invoice states its status: paid, voided, deleted, or updated", async ({
    fixture,
  }) => {
    const { own, invoice } = await fixture.subscribed();
    const types: string[] = [];
    const statuses = ["draft", "approved", "paid", "approved", "voided", "deleted"];
    for (const status of statuses) {
      await fixture.set("invoices", invoice, `status = '${status}', ledger_invoice_id = 'ledger'`);
      types.push(...(await fixture.publishEvents(own)).map(({ type }) => type));
    }
    expect(types).toEqual(
      ["updated", "updated", "paid", "updated", "voided", "deleted"].map(
        (word) => `invoice.${word}`,
      ),
    );
  });

  test("of an object from before the triggers is updated, without previous values", async ({
    fixture,
  }) => {
    const own = await fixture.sandbox("2026-03-01");
    const id = await fixture.subscribe(own);
    // As if the triggers had been created after it.
    await tables(fixture.pool).outboxEntry.deleteMany({ where: { objectId: id } });
    await fixture.set("subscriptions", id, "label = 'a'");
    expect((await fixture.publish(own)).at(-1)).toBe("subscription.updated 1 {}");
    await fixture.set("subscriptions", id, "label = 'b'");
    expect(await fixture.publish(own)).toEqual(['subscription.updated 2 {"label":"a"}']);
    const other = await fixture.subscribe(own);
    await tables(fixture.pool).outboxEntry.deleteMany({ where: { objectId: other } });
    await fixture.set("subscriptions", other, "label = 'a'");
    const events = (await fixture.publishEvents(own)).filter(
      ({ data }) => data.object.id === other,
    );
    expect(events).toMatchObject([
      { type: "subscription.updated", sequence: 1, data: { previous_attributes: {} } },
    ]);
  });

  test("of a customer is not published before the contact exists in the ledger", async ({
    fixture,
  }) => {
    const own = await fixture.listening();
    const { rows } = await fixture.pool.query<{ id: string }>(
      `INSERT INTO customers (id, organisation_id, code, name, email, status)
        VALUES (gen_random_uuid(), $1, 'NEW', 'New', 'n@new.example', 'active') RETURNING id`,
      [own],
    );
    const id = rows[0]?.id ?? "";
    await fixture.set("customers", id, "name = 'Newer'");
    expect(await fixture.publish(own)).toEqual([]);
    await fixture.set("customers", id, "ledger_contact_id = 'contact'");
    await fixture.set("customers", id, "status = 'inactive'");
    expect(await fixture.publish(own)).toEqual(["customer.created 1 null"]);
    await fixture.set("customers", id, "status = 'active'");
    expect(await fixture.publish(own)).toEqual(['customer.updated 2 {"status":"inactive"}']);
  });
});

test("deliveries are written for enabled endpoints that subscribe to the kind", async ({
  fixture,
}) => {
  const own = await fixture.sandbox("2026-03-01");
  const all = await fixture.endpoint(own);
  const invoices = await fixture.endpoint(own, ["invoice.created", "invoice.paid"]);
  await fixture.endpoint(own, [], "disabled");
  await fixture.endpoint(await fixture.sandbox("2026-03-01"));
  await fixture.subscribe(own);
  await publishAll(fixture.pool, own);
  const { rows } = await fixture.pool.query(
    `SELECT d.organisation_id, d.endpoint_id, e.type, d.state, d.attempts, d.due_at <= now() AS due
      FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
      WHERE e.organisation_id = $1 ORDER BY e.seq, d.seq`,
    [own],
  );
  const pending = { organisation_id: own, state: "pending", attempts: 0, due: true };
  expect(rows).toEqual([
    { ...pending, endpoint_id: all, type: "customer.created" },
    { ...pending, endpoint_id: all, type: "subscription.created" },
    { ...pending, endpoint_id: all, type: "invoice.created" },
    { ...pending, endpoint_id: invoices, type: "invoice.created" },
  ]);
});

test("events are stored without an enabled endpoint, with no delivery", async ({ fixture }) => {
  const none = await fixture.sandbox("2026-03-01");
  const disabled = await fixture.sandbox("2026-03-01");
  await fixture.endpoint(disabled, [], "disabled");
  for (const own of [none, disabled]) {
    expect(await fixture.publish(own)).toEqual(["customer.created 1 null"]);
    expect(await countDeliveries(fixture.pool, { organisationId: own })).toBe(0);
  }
});

describe("no change is lost or published twice", () => {
  test("if a chunk fails before its commit", async ({ fixture }) => {
    const { own, id } = await fixture.subscribed();
    await fixture.set("subscriptions", id, "label = 'a'");
    const objects = await findChangedObjects(fixture.pool, own, later(), 10);
    const onLoaded = () => {
      throw new Error("killed");
    };
    await expect(publishChunk(fixture.pool, own, objects, { ...order, onLoaded })).rejects.toThrow(
      "killed",
    );
    expect(await fixture.entryCount(own)).toBe(1);
    expect(await fixture.publish(own)).toEqual(['subscription.updated 2 {"label":""}']);
    // The same chunk again, as an activity that is repeated after its answer was lost.
    expect(await publishChunk(fixture.pool, own, objects, order)).toEqual({
      events: 0,
      deliveries: 0,
    });
  });

  test("if an object changes after the snapshot: the next event has that change", async ({
    fixture,
  }) => {
    const { own, id } = await fixture.subscribed();
    await fixture.set("subscriptions", id, "label = 'a'");
    const pool = poolBefore(fixture.pool, "take_outbox_entries", () =>
      fixture.set("subscriptions", id, "label = 'b', units = 11"),
    );
    const objects = await findChangedObjects(fixture.pool, own, later(), 10);
    expect(await publishChunk(pool, own, objects, order)).toMatchObject({ events: 1 });
    expect((await eventsOf(fixture.pool, own)).at(-1)?.data).toMatchObject({
      object: { label: "a", units: 10 },
      previous_attributes: { label: "" },
    });
    expect(await fixture.publish(own)).toEqual([
      'subscription.updated 3 {"units":10,"label":"a","renewal_value":"125.0000"}',
    ]);
  });

  test("if a change is committed long after its entry was recorded", async ({ fixture }) => {
    const { own, id } = await fixture.subscribed();
    const client = await fixture.pool.connect();
    await client.query("BEGIN");
    await tables(client).subscription.updateMany({ where: { id }, data: { label: "a" } });
    expect(await fixture.publish(own)).toEqual([]);
    await client.query("COMMIT");
    client.release();
    expect(await fixture.publish(own)).toEqual(['subscription.updated 2 {"label":""}']);
  });

  test("if two processes publish at once: one of them fails and tries again", async ({
    fixture,
  }) => {
    const { own, id } = await fixture.subscribed();
    await fixture.set("subscriptions", id, "label = 'a'");
    const objects = await findChangedObjects(fixture.pool, own, later(), 10);
    const during: unknown[] = [];
    const pool = poolBefore(fixture.pool, "load_published_snapshots", async () => {
      during.push(
        await publishChunk(fixture.pool, own, objects, order).catch(
          (error: Error) => error.message,
        ),
      );
    });
    expect(await publishChunk(pool, own, objects, order)).toMatchObject({ events: 1 });
    expect(during).toEqual([expect.stringMatching(/^another process publishes the changes/)]);
    // The database aborts a transaction whose snapshot is from before the other's commit. The
    // repeated one finds no entries.
    await fixture.set("subscriptions", id, "label = 'b'");
    const late = poolBefore(fixture.pool, "take_outbox_entries", async () => {
      await tables(fixture.pool).outboxEntry.deleteMany({ where: { organisationId: own } });
    });
    expect(await publishChunk(late, own, objects, order)).toMatchObject({ events: 0 });
    await fixture.set("subscriptions", id, "label = 'c'");
    expect(await fixture.publish(own)).toEqual(['subscription.updated 3 {"label":"a"}']);
  });
});

test("the last snapshot of every object equals its retrieval, in chunks of any size", async ({
  fixture,
}) => {
  const own = await fixture.listening();
  for (let count = 0; count < 5; count++) await fixture.subscribe(own);
  expect(await publishAll(fixture.pool, own, 3)).toBe(4);
  await expectAllPublished(fixture.pool);
});
