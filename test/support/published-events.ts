/**
 * Publishes changes without any process, and asserts the rule that holds afterwards: the published
 * object is the shown object. EVENT-1, EVENT-3.
 */
import type pg from "pg";
import { writeObject } from "../../src/present/event-objects.ts";
import { customerListing } from "../../src/store/customers/customers.ts";
import { getThese, type Listing } from "../../src/store/database/page.ts";
import { creditNoteListing } from "../../src/store/documents/credit-notes.ts";
import { invoiceListing } from "../../src/store/documents/invoices.ts";
import { findChangedObjects } from "../../src/store/events/outbox.ts";
import { publishChunk } from "../../src/store/events/publish-changes.ts";
import type { ObjectKey, ShownObject } from "../../src/store/events/shown-objects.ts";
import { subscriptionListing } from "../../src/store/subscriptions/subscriptions.ts";
import { tables } from "./rows.ts";
import { until as wait } from "./system.ts";

/** An event as a receiver reads it; its constant members left out. */
export interface PublishedEvent {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly livemode: boolean;
  readonly sequence: number;
  readonly data: {
    readonly object: Readonly<Record<string, unknown>> & { readonly id: string };
    readonly previous_attributes: Readonly<Record<string, unknown>> | null;
  };
}

/**
 * Publishes all outbox entries of an organisation. Returns the number of chunks of at most so many
 * objects.
 */
export async function publishAll(
  pool: pg.Pool,
  organisationId: string,
  chunkSize = 200,
): Promise<number> {
  const { rows } = await pool.query<{ now: Date }>("SELECT now() + interval '1 second' AS now");
  const until = rows[0]?.now ?? new Date();
  return untilSolePublisher(async () => {
    const objects = await findChangedObjects(pool, organisationId, until, 100_000);
    let chunks = 0;
    for (let at = 0; at < objects.length; at += chunkSize) {
      await publishChunk(pool, organisationId, objects.slice(at, at + chunkSize), {
        write: writeObject,
      });
      chunks += 1;
    }
    return chunks;
  });
}

/** The work's result; if another process publishes, it is repeated, as an activity is. */
export async function untilSolePublisher<T>(work: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  await wait("no other process publishes", async () => {
    try {
      result = await work();
      return true;
    } catch (error) {
      if (/^(another process|could not serialize)/.test((error as Error).message)) return false;
      throw error;
    }
  });
  return result as T;
}

/** The events of an organisation, oldest first. */
export async function eventsOf(
  pool: pg.Pool,
  organisationId: string,
): Promise<readonly PublishedEvent[]> {
  const rows = await tables(pool).event.findMany({
    where: { organisationId },
    orderBy: { seq: "asc" },
    select: { body: true },
  });
  return rows.map(({ body }) => JSON.parse(body) as PublishedEvent);
}

/** The texts of all objects of an organisation as they are shown now, by kind and id. */
export async function shownTexts(
  client: Pick<pg.Pool, "query">,
  organisationId: string,
): Promise<Readonly<Record<string, string>>> {
  const texts: Record<string, string> = {};
  const add = async <Row extends pg.QueryResultRow, T>(
    listing: Listing<Row, T>,
    named: (shown: T) => ShownObject & ObjectKey,
  ) => {
    const { rows } = await client.query(
      `SELECT id FROM ${listing.table} WHERE organisation_id = $1`,
      [organisationId],
    );
    const ids = rows.map((row: { id: string }) => row.id);
    for (const shown of await getThese(client, organisationId, listing, ids)) {
      const object = named(shown);
      texts[`${object.kind} ${object.id}`] = writeObject(object);
    }
  };
  await add(customerListing, (shown) => ({ kind: "customer", id: shown.id, shown }));
  await add(subscriptionListing, (shown) => ({
    kind: "subscription",
    id: shown.subscription.id,
    shown,
  }));
  await add(invoiceListing, (shown) => ({ kind: "invoice", id: shown.id, shown }));
  await add(creditNoteListing, (shown) => ({ kind: "credit_note", id: shown.id, shown }));
  return texts;
}

/**
 * Asserts that the last published state of each object of these organisations (of all, if left out)
 * is its shown state, once the outbox is empty: no change lacks an entry. Rows inserted without
 * triggers were never published, and count from their first change on.
 */
export async function expectAllPublished(
  pool: pg.Pool,
  organisationIds?: readonly string[],
): Promise<void> {
  const all = await tables(pool).organisation.findMany({ orderBy: { id: "asc" } });
  for (const id of organisationIds ?? all.map((row) => row.id)) {
    let wrong: readonly object[] = [];
    // An object that still changes is published by the next attempt.
    await wait(
      () => `all is published: ${JSON.stringify(wrong)}`,
      async () => {
        await publishAll(pool, id);
        const published = await pool.query<{ name: string; object: string }>(
          `SELECT object_kind || ' ' || object_id AS name, object FROM published_snapshots
            WHERE organisation_id = $1`,
          [id],
        );
        const texts = await shownTexts(pool, id);
        wrong = published.rows
          .filter(({ name, object }) => texts[name] !== object)
          .map(({ name, object }) => ({ published: object, shown: texts[name] }));
        return published.rows.length > 0 && wrong.length === 0;
      },
    );
  }
}
