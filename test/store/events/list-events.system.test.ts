/**
 * The list of events in PostgreSQL: its filters, its order, and what a page reads among many
 * events. EVENT-6, EVENT-7.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { describe, expect } from "vitest";
import {
  type EventType,
  eventTypes,
  type ObjectKind,
  objectKinds,
} from "../../../src/domain/events/event.ts";
import { instantOf } from "../../../src/domain/usage/parse.ts";
import {
  type EventFilters,
  type EventReader,
  getEvent,
  listEvents,
} from "../../../src/store/events/list-events.ts";
import { perFile } from "../../support/file-fixture.ts";
import { tables } from "../../support/rows.ts";
import { planModes, rowsRead, type SentStatement } from "../../support/rows-read.ts";
import { publishingTest } from "./publish-fixture.ts";

const all: EventFilters = { types: null, objectId: null, createdFrom: null, createdBefore: null };
const newest = { limit: 100, startingAfter: null };

/**
 * As many events of the organisation, one a minute until now; the body of each is its number. With
 * a test clock all were published just now, and it was moved a minute before each.
 */
async function addMany(
  pool: pg.Pool,
  organisationId: string,
  count: number,
  [created, clock] = ["now() - ($2 - i) * interval '1 minute'", "NULL::timestamptz"],
): Promise<void> {
  await pool.query(
    `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body,
      created_at, clock_at)
    SELECT gen_random_uuid(), $1, CASE WHEN i = 7 THEN 'invoice.voided'
        WHEN i % 2 = 0 THEN 'invoice.updated' ELSE 'subscription.updated' END,
      CASE WHEN i = 7 OR i % 2 = 0 THEN 'invoice' ELSE 'subscription' END,
      md5((i % 9973)::text)::uuid, i, i::text, ${created}, ${clock}
    FROM generate_series(1, $2) i`,
    [organisationId, count],
  );
}

/** Events of an organisation, so many that a walk over them shows. */
const many = 40_000;

const test = publishingTest
  .extend("filled", perFile, async ({ fixture }) => {
    const own = await fixture.sandbox("2026-03-01");
    const other = await fixture.sandbox("2026-03-01");
    const byClock = await fixture.sandbox("2026-03-01");
    await tables(fixture.pool).outboxEntry.deleteMany();
    await addMany(fixture.pool, other, 2_000);
    await addMany(fixture.pool, own, many);
    await addMany(fixture.pool, byClock, many, ["now()", "now() - ($2 - i) * interval '1 minute'"]);
    await fixture.pool.query("VACUUM ANALYZE events");
    return { own, byClock };
  })
  .extend("own", perFile, async ({ filled }) => filled.own);

const reader = (organisationId: string, change: Partial<EventReader> = {}): EventReader => ({
  organisationId,
  kinds: objectKinds,
  livemode: true,
  ...change,
});

const minutesAgo = (minutes: number) => instantOf(new Date(Date.now() - minutes * 60_000));

test("a page has the newest bodies, and the next one continues after its last", async ({
  fixture,
  own,
}) => {
  const first = await listEvents(fixture.pool, reader(own), all, { ...newest, limit: 2 });
  expect(first).toEqual({ data: [`${many}`, `${many - 1}`], hasMore: true });
  const rows = await tables(fixture.pool).event.findMany({
    where: { organisationId: own, body: "2" },
    select: { id: true },
  });
  const startingAfter = rows[0]?.id ?? "";
  const last = await listEvents(fixture.pool, reader(own), all, { limit: 2, startingAfter });
  expect(last).toEqual({ data: ["1"], hasMore: false });
  const unknown = listEvents(fixture.pool, reader(own), all, {
    ...newest,
    startingAfter: randomUUID(),
  });
  await expect(unknown).rejects.toMatchObject({ param: "starting_after" });
});

test("filters combine, and a reader sees the kinds of objects that it may see alone", async ({
  fixture,
  own,
}) => {
  const bodies = async (filters: Partial<EventFilters>, kinds: readonly ObjectKind[]) =>
    (await listEvents(fixture.pool, reader(own, { kinds }), { ...all, ...filters }, newest)).data;
  const voided: readonly EventType[] = ["invoice.voided"];
  expect(await bodies({ types: voided }, objectKinds)).toEqual(["7"]);
  expect(await bodies({ types: ["invoice.paid"] }, objectKinds)).toEqual([]);
  const { rows } = await fixture.pool.query<{ id: string; seventh: string }>(
    "SELECT id, object_id AS seventh FROM events WHERE organisation_id = $1 AND body = '7'",
    [own],
  );
  const [{ id, seventh } = { id: "", seventh: "" }] = rows;
  const ofObject = [7 + 4 * 9973, 7 + 3 * 9973, 7 + 2 * 9973, 7 + 9973, 7]
    .filter((number) => number <= many)
    .map(String);
  expect(await bodies({ objectId: seventh }, objectKinds)).toEqual(ofObject);
  expect(await bodies({ objectId: seventh, types: voided }, objectKinds)).toEqual(["7"]);
  expect(await bodies({ objectId: seventh, types: voided }, ["customer"])).toEqual([]);
  expect(await getEvent(fixture.pool, reader(own), id)).toBe("7");
  expect(await getEvent(fixture.pool, reader(own, { kinds: ["customer"] }), id)).toBeNull();
  expect(await getEvent(fixture.pool, reader(randomUUID()), id)).toBeNull();
});

test("a range has the events from its first instant to before its last", async ({
  fixture,
  own,
}) => {
  const { rows } = await fixture.pool.query<{ from: Date; before: Date }>(
    `SELECT min(created_at) AS from, max(created_at) AS before FROM events
      WHERE organisation_id = $1 AND body IN ('1000', '1003')`,
    [own],
  );
  const [{ from, before } = { from: new Date(0), before: new Date(0) }] = rows;
  // The driver reads milliseconds, and the events have microseconds.
  const range = {
    createdFrom: instantOf(from),
    createdBefore: instantOf(before),
  };
  const list = async (filters: Partial<EventFilters>) =>
    (await listEvents(fixture.pool, reader(own), { ...all, ...filters }, newest)).data;
  expect(await list(range)).toEqual(["1002", "1001", "1000"]);
  expect(await list({ ...range, types: ["invoice.updated"] })).toEqual(["1002", "1000"]);
  expect(await list({ ...range, types: ["invoice.voided"] })).toEqual([]);
  expect((await list({ createdBefore: range.createdBefore }))[0]).toBe("1002");
  expect(await list({ createdFrom: instantOf(new Date("9999-12-31T23:59:59Z")) })).toEqual([]);
  expect(await list({ createdBefore: -62_167_219_200_000_000n })).toEqual([]);
});

test("an event that is numbered after a later one is in its range all the same", async ({
  fixture,
}) => {
  const own = await fixture.sandbox("2026-03-01");
  const add = (body: string, secondsAgo: number) =>
    fixture.pool.query(
      `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body,
          created_at)
        VALUES (gen_random_uuid(), $1, 'invoice.updated', 'invoice', gen_random_uuid(), 1, $2,
          '2026-03-01T12:00:00Z'::timestamptz - $3 * interval '1 second')`,
      [own, body, secondsAgo],
    );
  // A publisher began first and came last.
  await add("later", 0);
  await add("sooner", 9);
  const list = async (filters: Partial<EventFilters>) =>
    (await listEvents(fixture.pool, reader(own), { ...all, ...filters }, newest)).data;
  const between = instantOf(new Date("2026-03-01T11:59:55Z"));
  expect(await list({ createdFrom: between })).toEqual(["later"]);
  expect(await list({ createdBefore: between })).toEqual(["sooner"]);
});

test("a range of a sandbox is by the instants that its bodies show", async ({ fixture }) => {
  const own = await fixture.sandbox("2026-03-01");
  await fixture.subscribe(own);
  await fixture.publish(own);
  await fixture.setClock(own, "2026-05-01");
  await fixture.subscribe(own);
  await fixture.publish(own);
  const createdFrom = instantOf(new Date("2026-04-01T00:00:00Z"));
  const inSandbox = reader(own, { livemode: false });
  const list = async (filters: Partial<EventFilters>) => {
    const { data } = await listEvents(fixture.pool, inSandbox, { ...all, ...filters }, newest);
    return data.map((body) => JSON.parse(body).created.slice(0, 7));
  };
  const [before, since] = [await list({ createdBefore: createdFrom }), await list({ createdFrom })];
  expect(new Set(before)).toEqual(new Set(["2026-03"]));
  expect(new Set(since)).toEqual(new Set(["2026-05"]));
  expect(before.length + since.length).toBe((await list({})).length);
});

test("a range of a sandbox whose clock stands has all of its events or none", async ({
  fixture,
}) => {
  const own = await fixture.sandbox("2026-03-01");
  await addMany(fixture.pool, own, 9, ["now()", "'2026-03-01'::date + i / 3"]);
  const list = async (createdFrom: string, createdBefore: string) => {
    const range = [createdFrom, createdBefore].map((at) => instantOf(new Date(at)));
    const filters = { ...all, createdFrom: range[0] ?? null, createdBefore: range[1] ?? null };
    const inSandbox = reader(own, { livemode: false });
    return (await listEvents(fixture.pool, inSandbox, filters, newest)).data.join("");
  };
  expect(await list("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z")).toBe("543");
  expect(await list("2026-03-02T00:00:01Z", "2026-03-03T00:00:01Z")).toBe("876");
  expect(await list("2026-03-02T00:00:01Z", "2026-03-03T00:00:00Z")).toBe("");
  expect(await list("2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z")).toBe("");
  expect(await list("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z")).toBe("");
});

test("test events of an endpoint are not listed", async ({ fixture }) => {
  const own = await fixture.sandbox("2026-03-01");
  await fixture.pool.query(
    `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
      VALUES (gen_random_uuid(), $1, 'webhook_endpoint.test', 'webhook_endpoint',
        gen_random_uuid(), 1, '{}')`,
    [own],
  );
  expect((await listEvents(fixture.pool, reader(own), all, newest)).data).toEqual([]);
});

const pages = planModes.flatMap((mode) => [
  { mode, livemode: true, owner: "a live organisation" },
  { mode, livemode: false, owner: "a sandbox" },
]);

describe.for(pages)("a page among many events of $owner, by $mode,", ({ mode, livemode }) => {
  const objectId = "c20ad4d7-6fe9-7759-aa27-a0c99bff6710";
  const cases: readonly (readonly [name: string, filters: () => Partial<EventFilters>])[] = [
    ["without a filter", () => ({})],
    ["of a kind that is rare", () => ({ types: ["invoice.voided"] })],
    ["of kinds that never occur", () => ({ types: ["customer.created", "invoice.paid"] })],
    ["of all kinds", () => ({ types: eventTypes })],
    ["of one object", () => ({ objectId })],
    ["of an old range", () => ({ createdBefore: minutesAgo(many - 300) })],
    [
      "of a rare kind in a range",
      () => ({
        types: ["invoice.voided"],
        createdFrom: minutesAgo(many / 2),
        createdBefore: minutesAgo(many / 2 - 60),
      }),
    ],
    ["of the time before all", () => ({ createdBefore: minutesAgo(10 * many) })],
  ];

  test.for(cases)("%s reads at most a thousand rows", async ([, filters], { fixture, filled }) => {
    const own = livemode ? filled.own : filled.byClock;
    const sent: SentStatement[] = [];
    const recording = {
      query: async (statement: SentStatement) => {
        sent.push(statement);
        return { rows: [], fields: [] };
      },
    } as unknown as pg.Pool;
    const range = { ...all, ...filters() };
    await listEvents(recording, reader(own, { livemode }), range, { ...newest, limit: 25 });
    const [statement] = sent;
    if (statement === undefined) throw new Error("nothing was sent");
    expect(await rowsRead(fixture.pool, statement, mode)).toBeLessThan(1_000);
  });
});
