/** Changes become events in one transaction: combined for each object, numbered, for the endpoints that want them, each once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeObject } from "../../../src/main/render-event-object.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { deleteExpiredEvents } from "../../../src/store/events/delete-expired-events.ts";
import { createOutboxStore, findChanged, findNews } from "../../../src/store/events/outbox.ts";
import { publishChunk } from "../../../src/store/events/publish-changes.ts";
import { createPublishingActivities } from "../../../src/worker/activities/events/publish-changes.ts";
import {
  eventsOf,
  expectAllPublished,
  publishAll,
  shownTexts,
} from "../../support/published-events.ts";
import { poolBefore, type TellingWorld, tellingWorld } from "./publish-fixture.ts";

let world: TellingWorld;

beforeAll(async () => {
  world = await tellingWorld();
});

afterAll(() => world?.drop());

/** A subscription that was told of, with its invoice. */
async function toldSubscription(): Promise<{
  readonly own: string;
  readonly id: string;
  readonly invoice: string;
}> {
  const own = await world.listening();
  const id = await world.subscribe(own);
  const events = await world.newEvents(own);
  return {
    own,
    id,
    invoice: events.find(({ type }) => type === "invoice.created")?.data.object.id ?? "",
  };
}

/** An order that tells as the service does. */
const order = { write: writeObject };
const later = () => new Date(Date.now() + 3_600_000);

describe("what is told", () => {
  test("of what is new: the object as it is retrieved, byte for byte, without anything of before", async () => {
    const own = await world.sandbox("2026-03-01");
    await world.endpoint(own);
    await world.subscribe(own);
    const events = await world.newEvents(own);
    expect(events.map(({ type }) => type)).toEqual([
      "customer.created",
      "subscription.created",
      "invoice.created",
    ]);
    // By the sandbox's own clock, as all else of it.
    expect(events.map(({ created }) => created.slice(0, 10))).toEqual(Array(3).fill("2026-03-01"));
    const shown = await shownTexts(world.pool, own);
    const bodies = await world.pool.query<{ body: string }>(
      "SELECT body FROM events WHERE organisation_id = $1",
      [own],
    );
    for (const { body } of bodies.rows) {
      const { id, type, created, data } = JSON.parse(body);
      const text = shown[`${data.object.object} ${data.object.id}`];
      expect(body).toBe(
        `{"id":"${id}","object":"event","type":"${type}","api_version":"1.0.0","created":"${created}","livemode":false,` +
          `"sequence":1,"data":{"object":${text},"previous_attributes":null}}`,
      );
    }
  });

  test("of changes in one window is one event, with what was otherwise before all of them, and the next window's comes after it", async () => {
    const { own, id } = await toldSubscription();
    await world.set("subscriptions", id, "label = 'a'");
    await world.set("subscriptions", id, "label = 'b', invoice_reference = 'x'");
    expect(await world.news(own)).toEqual([
      'subscription.updated 2 {"label":"","invoice_reference":""}',
    ]);
    await world.set("subscriptions", id, "label = 'c'");
    expect(await world.news(own)).toEqual(['subscription.updated 3 {"label":"b"}']);
    expect(await world.news(own)).toEqual([]);
  });

  test("of what is as it was before the window is nothing, and takes no number", async () => {
    const { own, id } = await toldSubscription();
    await world.set("subscriptions", id, "label = 'a'");
    await world.set("subscriptions", id, "label = ''");
    expect(await world.marks(own)).toBe(2);
    expect(await world.news(own)).toEqual([]);
    await world.set("subscriptions", id, "label = 'a'");
    expect(await world.news(own)).toEqual(['subscription.updated 2 {"label":""}']);
  });

  test("of an end is ended, of one that was restored in the window updated alone, of one that was created in it both", async () => {
    const { own, id } = await toldSubscription();
    const end = "status = 'ended', ended_at = now(), end_date = '2026-03-10', due_at = NULL";
    const restore = "status = 'active', ended_at = NULL, end_date = NULL, due_at = '2026-04-01'";
    await world.set("subscriptions", id, end);
    await world.set("subscriptions", id, restore);
    expect(await world.news(own)).toEqual(["subscription.updated 2 {}"]);
    await world.set("subscriptions", id, `${end}, label = 'x'`);
    expect(await world.news(own)).toEqual([
      'subscription.ended 3 {"status":"active","end_date":null,"label":"","renewal_value":"125.0000"}',
    ]);
    await world.set("subscriptions", id, restore);
    expect((await world.newEvents(own)).map(({ type }) => type)).toEqual(["subscription.updated"]);
    const short = await world.subscribe(own);
    await world.set("subscriptions", short, end);
    const events = (await world.newEvents(own)).filter(({ data }) => data.object.id === short);
    expect(
      events.map(({ type, sequence, data }) => [type, sequence, data.previous_attributes]),
    ).toEqual([
      ["subscription.created", 1, null],
      ["subscription.ended", 2, null],
    ]);
  });

  test("of an invoice says what it is now: paid, voided, deleted, updated", async () => {
    const { own, invoice } = await toldSubscription();
    const types: string[] = [];
    const statuses = ["draft", "approved", "paid", "approved", "voided", "deleted"];
    for (const status of statuses) {
      await world.set("invoices", invoice, `status = '${status}', ledger_invoice_id = 'ledger'`);
      types.push(...(await world.newEvents(own)).map(({ type }) => type));
    }
    expect(types).toEqual(
      ["updated", "updated", "paid", "updated", "voided", "deleted"].map(
        (word) => `invoice.${word}`,
      ),
    );
  });

  test("of an object of before there were webhooks, or an endpoint: an update, of which only the endpoint's lack was no loss", async () => {
    const own = await world.sandbox("2026-03-01");
    const id = await world.subscribe(own);
    // As if the triggers were made after it.
    await world.pool.query("DELETE FROM outbox WHERE object_id = $1", [id]);
    await world.set("subscriptions", id, "label = 'a'");
    // Nobody listens: nothing is told, but what would have been is kept.
    expect(await world.news(own)).toEqual([]);
    await world.endpoint(own);
    await world.set("subscriptions", id, "label = 'b'");
    expect(await world.news(own)).toEqual(['subscription.updated 1 {"label":"a"}']);
    const other = await world.subscribe(own);
    await world.pool.query("DELETE FROM outbox WHERE object_id = $1", [other]);
    await world.set("subscriptions", other, "label = 'a'");
    const events = (await world.newEvents(own)).filter(({ data }) => data.object.id === other);
    expect(events).toMatchObject([
      { type: "subscription.updated", sequence: 1, data: { previous_attributes: {} } },
    ]);
  });

  test("of a customer whose contact is still being made is nothing until it is there", async () => {
    const own = await world.listening();
    const { rows } = await world.pool.query<{ id: string }>(
      `INSERT INTO customers (id, organisation_id, code, name, email, status)
        VALUES (gen_random_uuid(), $1, 'NEW', 'New', 'n@new.example', 'active') RETURNING id`,
      [own],
    );
    const id = rows[0]?.id ?? "";
    await world.set("customers", id, "name = 'Newer'");
    expect(await world.news(own)).toEqual([]);
    await world.set("customers", id, "ledger_contact_id = 'contact'");
    await world.set("customers", id, "status = 'inactive'");
    expect(await world.news(own)).toEqual(["customer.created 1 null"]);
    await world.set("customers", id, "status = 'active'");
    expect(await world.news(own)).toEqual(['customer.updated 2 {"status":"inactive"}']);
  });
});

test("deliveries are written for the enabled endpoints that want the kind, and no other organisation's", async () => {
  const own = await world.sandbox("2026-03-01");
  const all = await world.endpoint(own);
  const invoices = await world.endpoint(own, ["invoice.created", "invoice.paid"]);
  await world.endpoint(own, [], "disabled");
  await world.endpoint(await world.sandbox("2026-03-01"));
  await world.subscribe(own);
  await publishAll(world.pool, own);
  const { rows } = await world.pool.query(
    `SELECT d.organisation_id, d.endpoint_id, e.type, d.state, d.attempts, d.due_at <= now() AS due
      FROM webhook_deliveries d JOIN events e ON e.id = d.event_id WHERE e.organisation_id = $1 ORDER BY e.seq, d.seq`,
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

test("where all endpoints are disabled events are kept all the same, so that they can be sent later", async () => {
  const own = await world.sandbox("2026-03-01");
  await world.endpoint(own, [], "disabled");
  expect(await world.news(own)).toEqual(["customer.created 1 null"]);
});

describe("nothing is lost or told twice", () => {
  test("where a chunk breaks off before it is committed", async () => {
    const { own, id } = await toldSubscription();
    await world.set("subscriptions", id, "label = 'a'");
    const objects = await findChanged(world.pool, own, later(), 10);
    const onLoaded = () => {
      throw new Error("killed");
    };
    await expect(publishChunk(world.pool, own, objects, { ...order, onLoaded })).rejects.toThrow(
      "killed",
    );
    expect(await world.marks(own)).toBe(1);
    expect(await world.news(own)).toEqual(['subscription.updated 2 {"label":""}']);
    // The same chunk once more, as an activity that is repeated after its answer was lost.
    expect(await publishChunk(world.pool, own, objects, order)).toEqual({
      events: 0,
      deliveries: 0,
    });
  });

  test("where something changes after the snapshot: that is told next, as a change of what was told", async () => {
    const { own, id } = await toldSubscription();
    await world.set("subscriptions", id, "label = 'a'");
    const pool = poolBefore(world.pool, "take_marks", () =>
      world.set("subscriptions", id, "label = 'b', units = 11"),
    );
    const objects = await findChanged(world.pool, own, later(), 10);
    expect(await publishChunk(pool, own, objects, order)).toMatchObject({ events: 1 });
    expect((await eventsOf(world.pool, own)).at(-1)?.data).toMatchObject({
      object: { label: "a", units: 10 },
      previous_attributes: { label: "" },
    });
    expect(await world.news(own)).toEqual([
      'subscription.updated 3 {"units":10,"label":"a","renewal_value":"125.0000"}',
    ]);
  });

  test("where what changed is committed long after it was marked", async () => {
    const { own, id } = await toldSubscription();
    const client = await world.pool.connect();
    await client.query("BEGIN");
    await client.query("UPDATE subscriptions SET label = 'a' WHERE id = $1", [id]);
    expect(await world.news(own)).toEqual([]);
    await client.query("COMMIT");
    client.release();
    expect(await world.news(own)).toEqual(['subscription.updated 2 {"label":""}']);
  });

  test("where two tell at once: one of them gives way, and tries again", async () => {
    const { own, id } = await toldSubscription();
    await world.set("subscriptions", id, "label = 'a'");
    const objects = await findChanged(world.pool, own, later(), 10);
    const during: unknown[] = [];
    const pool = poolBefore(world.pool, "load_published", async () => {
      during.push(
        await publishChunk(world.pool, own, objects, order).catch((error: Error) => error.message),
      );
    });
    expect(await publishChunk(pool, own, objects, order)).toMatchObject({ events: 1 });
    expect(during).toEqual([expect.stringMatching(/^another process tells the changes/)]);
    // One whose snapshot is of before the other's commit is broken off by the database, and finds
    // nothing to tell when it is run again.
    await world.set("subscriptions", id, "label = 'b'");
    const late = poolBefore(world.pool, "take_marks", async () => {
      await world.pool.query("DELETE FROM outbox WHERE organisation_id = $1", [own]);
    });
    expect(await publishChunk(late, own, objects, order)).toMatchObject({ events: 0 });
    await world.set("subscriptions", id, "label = 'c'");
    expect(await world.news(own)).toEqual(['subscription.updated 3 {"label":"a"}']);
  });
});

describe("a round of telling", () => {
  const startsOf = (answer = true) => {
    const started: string[] = [];
    const activities = createPublishingActivities({
      store: createOutboxStore(world.pool, writeObject),
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

  test("tells all that changed, and starts the deliveries to its endpoint", async () => {
    const own = await world.listening();
    for (let count = 0; count < 3; count++) await world.subscribe(own);
    const { publishBatch, started } = startsOf();
    const input = { organisationId: own, until: later().toISOString() };
    // With the customer of before.
    expect(await publishBatch(input)).toEqual({ told: 6, started: 1, isMore: false });
    const text =
      "SELECT DISTINCT endpoint_id AS id FROM webhook_deliveries WHERE organisation_id = $1";
    const { rows } = await world.pool.query<{ id: string }>(text, [own]);
    expect(started).toEqual(rows.map(({ id }) => `${own} ${id}`));
    await world.pool.query(
      "UPDATE webhook_deliveries SET due_at = now() + interval '1 hour' WHERE organisation_id = $1",
      [own],
    );
    expect(await publishBatch(input)).toEqual({ told: 0, started: 0, isMore: false });
  });

  test("leaves deliveries to a later one where the engine takes none, and nothing that is told waits for that", async () => {
    const own = await world.listening();
    const { publishBatch } = startsOf(false);
    expect(await publishBatch({ organisationId: own, until: later().toISOString() })).toEqual({
      told: 0,
      started: 0,
      isMore: false,
    });
    expect(
      await startsOf().publishBatch({ organisationId: own, until: later().toISOString() }),
    ).toMatchObject({
      started: 1,
    });
  });

  test("puts an object off that cannot be told, and tells the others", async () => {
    const own = await world.listening();
    const [bad, good] = [await world.subscribe(own), await world.subscribe(own)];
    const write: typeof writeObject = (object) => {
      if (object.kind === "subscription" && object.shown.subscription.id === bad)
        throw new Error("no word for it");
      return writeObject(object);
    };
    const objects = await findChanged(world.pool, own, later(), 10);
    const { events, untold } = await createOutboxStore(world.pool, write).tell(
      own,
      objects,
      () => undefined,
    );
    expect(untold).toEqual([{ kind: "subscription", id: bad, error: new Error("no word for it") }]);
    expect(events).toBe(objects.length - 1);
    expect((await eventsOf(world.pool, own)).map(({ data }) => data.object.id)).toContain(good);
    expect(await findChanged(world.pool, own, new Date(), 10)).toEqual([]);
    await world.pool.query("UPDATE outbox SET recorded_at = now() WHERE organisation_id = $1", [
      own,
    ]);
    expect(await world.news(own)).toEqual(["subscription.created 1 null"]);
  });

  test("combines up to its instant, and whole minutes later where it takes long", async () => {
    const { own, id, invoice } = await toldSubscription();
    const mark = (object: string, kind: string, age: string) =>
      world.pool.query(
        `INSERT INTO outbox (organisation_id, object_kind, object_id, change, recorded_at)
          VALUES ($1, $2, $3, 'updated', now() - $4::interval)`,
        [own, kind, object, age],
      );
    await mark(id, "subscription", "70 seconds");
    await mark(invoice, "invoice", "-1 hour");
    const found = async (inSeconds: number) => {
      const until = new Date(Date.now() + inSeconds * 1_000);
      return (await findChanged(world.pool, own, until, 10)).map(({ kind }) => kind);
    };
    expect(await found(1_800)).toEqual(["subscription"]);
    expect(await found(7_200)).toEqual(["subscription", "invoice"]);
    // Its instant was before the mark, and is a whole minute later by now.
    expect(await found(-90)).toEqual(["subscription"]);
    expect(await found(-86_400)).toEqual(["subscription"]);
    expect(await findChanged(world.pool, own, later(), 1)).toEqual([{ kind: "subscription", id }]);
    await world.pool.query("DELETE FROM outbox WHERE organisation_id = $1", [own]);
  });
});

test("a quiet minute is one statement for changes and one for deliveries, and who has marks is found by the first", async () => {
  const [marked, other, quiet] = [
    await world.listening(),
    await world.listening(),
    await world.listening(),
  ];
  await expectAllPublished(world.pool);
  for (const own of [marked, other])
    await world.set("subscriptions", await world.subscribe(own), "label = 'a'");
  const { organisationIds, now } = await findNews(world.pool, null, 500);
  expect(organisationIds).toEqual([marked, other].sort());
  expect(Math.abs(now.getTime() - Date.now())).toBeLessThan(60_000);
  expect((await findNews(world.pool, organisationIds[0] ?? "", 500)).organisationIds).toEqual(
    organisationIds.slice(1),
  );
  expect((await findNews(world.pool, null, 1)).organisationIds).toEqual(
    organisationIds.slice(0, 1),
  );
  expect(organisationIds).not.toContain(quiet);

  for (const own of [marked, other]) await publishAll(world.pool, own);
  await world.pool.query("UPDATE webhook_deliveries SET due_at = now() + interval '1 hour'");
  const statements: unknown[] = [];
  const pool = {
    query: (statement: never) => {
      statements.push(statement);
      return world.pool.query(statement);
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

test("events are kept for 30 days, longer where one is still being delivered, and go with deliveries and attempts", async () => {
  const own = await world.listening();
  const endpoint = await world.endpoint(own);
  const event = async (age: string, state: string | null): Promise<string> => {
    const id = newId();
    await world.pool.query(
      `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body, created_at)
        VALUES ($1, $2, 'customer.updated', 'customer', $1, 1, '{}', now() - $3::interval)`,
      [id, own, age],
    );
    if (state === null) return id;
    await world.pool.query(
      `WITH made AS (INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id, state, due_at, finished_at, attempts)
          VALUES ($1, $2, $1, $3, $4, CASE $4 WHEN 'pending' THEN now() END, CASE $4 WHEN 'pending' THEN NULL ELSE now() END, 1))
        SELECT 1`,
      [id, own, endpoint, state],
    );
    await world.pool.query(
      "INSERT INTO webhook_attempts (organisation_id, delivery_id, number, at, latency_ms) VALUES ($1, $2, 1, now(), 1)",
      [own, id],
    );
    return id;
  };
  await event("31 days", null);
  await event("31 days", "delivered");
  await event("32 days", "exhausted");
  const kept = [
    await event("31 days", "pending"),
    await event("29 days", "delivered"),
    await event("29 days", null),
  ];
  expect(await deleteExpiredEvents(world.pool, 2)).toBe(2);
  expect(await deleteExpiredEvents(world.pool, 2)).toBe(1);
  expect(await deleteExpiredEvents(world.pool, 2)).toBe(0);
  const left = await world.pool.query<{ id: string }>(
    "SELECT id FROM events WHERE object_id = id ORDER BY id",
  );
  expect(left.rows.map(({ id }) => id)).toEqual(kept.sort());
  const attempts = await world.pool.query(
    "SELECT delivery_id AS id FROM webhook_attempts ORDER BY 1",
  );
  expect(attempts.rows.map(({ id }) => id)).toEqual(kept.slice(0, 2).sort());
});

test("after all of this every object was told as it is shown, by its own chunk of any size", async () => {
  const own = await world.listening();
  for (let count = 0; count < 5; count++) await world.subscribe(own);
  expect(await publishAll(world.pool, own, 3)).toBe(4);
  await expectAllPublished(world.pool);
});
