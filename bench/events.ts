/**
 * What events cost an organisation without an endpoint: objects that the relay publishes a second.
 * The floor is the same without events: the snapshots alone. Then without the indexes of the list,
 * and the pages that the list reads among many events.
 *
 * Aim: a publication costs at most half more with its events, and each page takes under 10 ms.
 */
import assert from "node:assert/strict";
import type pg from "pg";
import { objectKinds } from "../src/domain/events/event.ts";
import { instantOf } from "../src/domain/usage/parse.ts";
import { writeObject } from "../src/main/worker/render-event-object.ts";
import { type EventFilters, listEvents } from "../src/store/events/list-events.ts";
import { findChangedObjects } from "../src/store/events/outbox.ts";
import { publishChunk } from "../src/store/events/publish-changes.ts";
import { type MeasuredDatabase, startMeasuredDatabase } from "./support/database.ts";
import { median, printFigure } from "./support/figure.ts";

/** Objects of each measurement, and of a transaction of the relay. */
const [objects, chunkSize] = [6_000, 200];

/** How often each way is measured. They alternate, so that other work affects all of them. */
const repetitions = 3;

/** Events of the organisation whose list is measured, one a second, and those of an insert. */
const [listed, insertedAtOnce] = [200_000, 10_000];

const pagesOfEach = 50;

/** Runs the measurement. */
export async function run(): Promise<void> {
  const database = await startMeasuredDatabase();
  try {
    await measurePublishing(database);
    await measureList(database);
  } finally {
    await database.stop();
  }
}

async function measurePublishing(database: MeasuredDatabase): Promise<void> {
  const { pool } = database;
  const bare = withoutEvents(pool);
  const speeds = { events: [] as number[], snapshots: [] as number[] };
  // The first repetition compiles and warms up.
  for (let repetition = 0; repetition <= repetitions; repetition += 1) {
    speeds.events.push(await publish(database, pool));
    speeds.snapshots.push(await publish(database, bare));
  }
  const speed = median(speeds.events.slice(1));
  printFigure("events_published", speed, "objects/s", median(speeds.snapshots.slice(1)));
  await pool.query("DROP INDEX events_organisation_id_type_seq_idx");
  await pool.query("DROP INDEX events_organisation_id_created_at_idx");
  const unlisted: number[] = [];
  for (let repetition = 0; repetition < repetitions; repetition += 1)
    unlisted.push(await publish(database, pool));
  printFigure("events_published_without_list_indexes", median(unlisted), "objects/s", speed);
  await pool.query(
    "CREATE INDEX events_organisation_id_type_seq_idx ON events (organisation_id, type, seq)",
  );
  await pool.query(
    "CREATE INDEX events_organisation_id_created_at_idx ON events (organisation_id, created_at)",
  );
}

/** Publishes new customers of a new organisation. Returns how many a second. */
async function publish({ pool, organisation }: MeasuredDatabase, by: pg.Pool): Promise<number> {
  const own = await organisation("Publishing");
  await pool.query(
    `INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
    SELECT gen_random_uuid(), $1, 'C-' || i, 'Customer ' || i, 'customer@' || i || '.example',
      'active', gen_random_uuid()
    FROM generate_series(1, $2) i`,
    [own, objects],
  );
  const later = new Date(Date.now() + 3_600_000);
  const changed = await findChangedObjects(pool, own, later, 2 * objects);
  assert.ok(changed.length >= objects, "every customer has its entry");
  const began = performance.now();
  for (let at = 0; at < changed.length; at += chunkSize) {
    const chunk = changed.slice(at, at + chunkSize);
    await publishChunk(by, own, chunk, { write: writeObject });
  }
  return changed.length / ((performance.now() - began) / 1_000);
}

/** The columns of events and deliveries among the values of `save_publication`. */
const eventColumns = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/** The pool, of which a publication saves the snapshots alone. */
function withoutEvents(pool: pg.Pool): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    return new Proxy(client, {
      get: (target, member) => {
        const value = Reflect.get(target, member);
        if (typeof value !== "function") return value;
        if (member !== "query") return value.bind(target);
        return (statement: string | pg.QueryConfig) => {
          if (typeof statement === "string" || statement.name !== "save_publication")
            return target.query(statement);
          const values = (statement.values ?? []).map((one, index) =>
            eventColumns.includes(index) ? [] : one,
          );
          return target.query({ ...statement, values });
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}

async function measureList({ pool, organisation }: MeasuredDatabase): Promise<void> {
  const own = await organisation("Listing");
  for (let from = 1; from <= listed; from += insertedAtOnce)
    await pool.query(
      `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body,
        created_at)
      SELECT gen_random_uuid(), $1,
        CASE WHEN i = 9 THEN 'invoice.voided' ELSE 'invoice.updated' END, 'invoice',
        gen_random_uuid(), 1, '{"id":"' || repeat('x', 1500) || '"}',
        now() - ($2 - i) * interval '1 second'
      FROM generate_series($3::int, $4::int) i`,
      [own, listed, from, from + insertedAtOnce - 1],
    );
  await pool.query("ANALYZE events");
  const reader = { organisationId: own, kinds: objectKinds, livemode: true };
  const all: EventFilters = { types: null, objectId: null, createdFrom: null, createdBefore: null };
  const old = instantOf(new Date(Date.now() - (listed / 2) * 1_000));
  const pages: Readonly<Record<string, EventFilters>> = {
    newest: all,
    rare_kind: { ...all, types: ["invoice.voided"] },
    old_range: { ...all, createdBefore: old },
  };
  for (const [name, filters] of Object.entries(pages)) {
    const times: number[] = [];
    for (let page = 0; page < pagesOfEach; page += 1) {
      const began = performance.now();
      const { data } = await listEvents(pool, reader, filters, { limit: 25, startingAfter: null });
      times.push(performance.now() - began);
      assert.ok(data.length > 0, "the page has events");
    }
    printFigure(`events_page_${name}`, median(times), "ms");
  }
}
