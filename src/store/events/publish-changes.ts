/**
 * Publishes a chunk: the outbox entries of some objects become events, with deliveries to the
 * endpoints that subscribe to them. One transaction works on one snapshot. Later changes have
 * entries that stay (EVENT-1).
 */
import type { CreditNote } from "../../domain/billing/credit-note.ts";
import type { Invoice } from "../../domain/billing/invoice.ts";
import type { Customer } from "../../domain/customers/customer.ts";
import {
  type ChangeMark,
  decideEvents,
  type EventType,
  eventBody,
  type ObjectKind,
} from "../../domain/events/event.ts";
import { customerListing } from "../customers/customers.ts";
import { newId } from "../database/ids.ts";
import { getThese } from "../database/page.ts";
import { type Connection, inTransaction, type Pool } from "../database/pool.ts";
import { creditNoteListing } from "../documents/credit-notes.ts";
import { invoiceListing } from "../documents/invoices.ts";
import { type PlannedSubscription, subscriptionListing } from "../subscriptions/subscriptions.ts";

/** An object as it is loaded for its retrieval. */
export type ShownObject =
  | { readonly kind: "customer"; readonly shown: Customer }
  | { readonly kind: "subscription"; readonly shown: PlannedSubscription }
  | { readonly kind: "invoice"; readonly shown: Invoice }
  | { readonly kind: "credit_note"; readonly shown: CreditNote };

/** Writes the JSON text of an object, as a retrieval returns it. */
export type WriteObject = (object: ShownObject) => string;

/** The key of an object. */
export interface ObjectName {
  readonly kind: ObjectKind;
  readonly id: string;
}

/** How to publish a chunk. */
export interface PublishingOrder {
  readonly write: WriteObject;
  /** Called when all is loaded and decided and nothing is written. */
  readonly onLoaded?: () => void;
}

/** How many events and deliveries a chunk wrote. */
export interface PublishedChunk {
  readonly events: number;
  readonly deliveries: number;
}

/** Another process publishes the organisation's changes at this moment. */
export class PublishingHeld extends Error {
  constructor(organisationId: string) {
    super(`another process tells the changes of organisation ${organisationId}`);
  }
}

/** First key of the advisory lock on publishing an organisation's changes: a word in ASCII. */
const lockClass = 0x74656c6c;

/** Plans made while the tables were small would scan grown tables. */
const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL enable_seqscan = off";

/** An enabled endpoint with the kinds that it subscribes to. No kinds means all. */
interface Listener {
  readonly id: string;
  readonly kinds: readonly string[];
}

interface Held {
  readonly livemode: boolean;
  readonly now: Date;
  /** Now by the organisation's clock, for its events and everything else that is shown of it. */
  readonly fetched_at: Date;
  readonly is_alone: boolean;
  /** True also for a disabled endpoint: it may be enabled again and have missed events resent. */
  readonly has_endpoints: boolean;
  readonly listeners: readonly Listener[] | null;
}

/** A changed object with its outbox entries. */
interface Marked extends ObjectName {
  readonly marks: readonly ChangeMark[];
}

interface Told {
  readonly sequence: bigint;
  readonly object: string;
}

/**
 * Publishes the changes of these objects and takes all their entries. Objects that were published
 * meanwhile are skipped. Throws `PublishingHeld` if another process publishes the organisation's
 * changes. The caller tries again.
 */
export async function publishChunk(
  pool: Pool,
  organisationId: string,
  objects: readonly ObjectName[],
  { write, onLoaded }: PublishingOrder,
): Promise<PublishedChunk> {
  return inTransaction(
    pool,
    async (client) => {
      const held = await hold(client, organisationId);
      const marked = await takeMarks(client, organisationId, objects);
      const texts = await loadTexts(client, organisationId, marked, write);
      const told = await loadPublished(client, organisationId, marked);
      const decided = decide(held, marked, texts, told);
      onLoaded?.();
      return save(client, organisationId, held, decided);
    },
    begin,
  );
}

async function hold(client: Connection, organisationId: string): Promise<Held> {
  const { rows } = await client.query<Held>({
    name: "hold_publishing",
    text: `SELECT o.livemode, now() AS now, coalesce(o.test_clock, now()) AS fetched_at,
        pg_try_advisory_xact_lock(${lockClass}, hashtext(o.id::text)) AS is_alone,
        EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.organisation_id = o.id) AS has_endpoints,
        (SELECT json_agg(json_build_object('id', e.id, 'kinds', e.kinds))
          FROM webhook_endpoints e WHERE e.organisation_id = o.id AND e.status = 'enabled') AS listeners
      FROM organisations o WHERE o.id = $1`,
    values: [organisationId],
  });
  const held = rows[0];
  if (held === undefined) throw new Error(`organisation ${organisationId} is gone`);
  if (!held.is_alone) throw new PublishingHeld(organisationId);
  return held;
}

/**
 * If another transaction has taken entries since the snapshot, this one is repeated: SQLSTATE 40001
 * (INVARIANT-6).
 */
async function takeMarks(
  client: Connection,
  organisationId: string,
  objects: readonly ObjectName[],
): Promise<readonly Marked[]> {
  const { rows } = await client.query<Marked>({
    name: "take_marks",
    text: `WITH taken AS (
        DELETE FROM outbox c USING unnest($2::text[], $3::uuid[]) AS o(kind, id)
        WHERE c.organisation_id = $1 AND c.object_kind = o.kind AND c.object_id = o.id
        RETURNING c.seq, c.object_kind, c.object_id, c.change
      )
      SELECT object_kind AS kind, object_id AS id, array_agg(DISTINCT change) AS marks FROM taken GROUP BY 1, 2 ORDER BY min(seq)`,
    values: [organisationId, ...columnsOf(objects)],
  });
  return rows;
}

const columnsOf = (objects: readonly ObjectName[]) => [
  objects.map(({ kind }) => kind),
  objects.map(({ id }) => id),
];

/**
 * The JSON texts of the objects by id, which is unique over all kinds. An object that is no longer
 * shown has none.
 */
async function loadTexts(
  client: Connection,
  organisationId: string,
  marked: readonly Marked[],
  write: WriteObject,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const idsOf = (kind: ObjectKind) => marked.filter((one) => one.kind === kind).map(({ id }) => id);
  for (const shown of await getThese(client, organisationId, customerListing, idsOf("customer"))) {
    texts.set(shown.id, write({ kind: "customer", shown }));
  }
  for (const shown of await getThese(
    client,
    organisationId,
    subscriptionListing,
    idsOf("subscription"),
  )) {
    texts.set(shown.subscription.id, write({ kind: "subscription", shown }));
  }
  for (const shown of await getThese(client, organisationId, invoiceListing, idsOf("invoice"))) {
    texts.set(shown.id, write({ kind: "invoice", shown }));
  }
  for (const shown of await getThese(
    client,
    organisationId,
    creditNoteListing,
    idsOf("credit_note"),
  )) {
    texts.set(shown.id, write({ kind: "credit_note", shown }));
  }
  return texts;
}

async function loadPublished(
  client: Connection,
  organisationId: string,
  marked: readonly Marked[],
): Promise<ReadonlyMap<string, Told>> {
  const { rows } = await client.query<{ id: string; sequence: string; object: string }>({
    name: "load_published",
    text: `SELECT t.object_id AS id, t.sequence, t.object FROM unnest($2::text[], $3::uuid[]) AS o(kind, id)
      JOIN published_snapshots t ON t.organisation_id = $1 AND t.object_kind = o.kind AND t.object_id = o.id`,
    values: [organisationId, ...columnsOf(marked)],
  });
  return new Map(
    rows.map(({ id, sequence, object }) => [id, { sequence: BigInt(sequence), object }]),
  );
}

/** What to write: each object's published snapshot, the events and the deliveries. */
interface Decided {
  readonly told: readonly (ObjectName & Told)[];
  readonly events: readonly (ObjectName & {
    readonly eventId: string;
    readonly type: EventType;
    readonly sequence: bigint;
    readonly body: string;
  })[];
  readonly deliveries: readonly {
    readonly id: string;
    readonly eventId: string;
    readonly endpointId: string;
  }[];
}

function decide(
  { livemode, fetched_at: createdAt, has_endpoints, listeners }: Held,
  marked: readonly Marked[],
  texts: ReadonlyMap<string, string>,
  publishedBefore: ReadonlyMap<string, Told>,
): Decided {
  const told: Decided["told"][number][] = [];
  const events: Decided["events"][number][] = [];
  for (const { kind, id, marks } of marked) {
    const object = texts.get(id);
    if (object === undefined) continue;
    const before = publishedBefore.get(id);
    let sequence = before?.sequence ?? 0n;
    const toPublish = has_endpoints
      ? decideEvents({ kind, marks, before: before?.object ?? null, after: object })
      : [];
    for (const { type, previousAttributes } of toPublish) {
      sequence += 1n;
      const eventId = newId();
      const envelope = {
        id: eventId,
        type,
        createdAt,
        livemode,
        sequence,
        object,
        previousAttributes,
      };
      events.push({ kind, id, eventId, type, sequence, body: eventBody(envelope) });
    }
    told.push({ kind, id, sequence, object });
  }
  const deliveries = events.flatMap(({ eventId, type }) =>
    (listeners ?? [])
      .filter(({ kinds }) => kinds.length === 0 || kinds.includes(type))
      .map((endpoint) => ({ id: newId(), eventId, endpointId: endpoint.id })),
  );
  return { told, events, deliveries };
}

async function save(
  client: Connection,
  organisationId: string,
  { now }: Held,
  { told, events, deliveries }: Decided,
): Promise<PublishedChunk> {
  if (told.length > 0) {
    await client.query({
      name: "save_published",
      text: `INSERT INTO published_snapshots AS t (organisation_id, object_kind, object_id, sequence, object)
        SELECT $1, * FROM unnest($2::text[], $3::uuid[], $4::bigint[], $5::text[])
        ON CONFLICT (organisation_id, object_kind, object_id) DO UPDATE SET sequence = EXCLUDED.sequence, object = EXCLUDED.object`,
      values: [
        organisationId,
        ...columnsOf(told),
        told.map((one) => one.sequence),
        told.map((one) => one.object),
      ],
    });
  }
  if (events.length > 0) {
    const ids = events.map((event) => event.eventId);
    const rest = [
      events.map((event) => event.type),
      events.map((event) => event.sequence),
      events.map((e) => e.body),
    ];
    await client.query({
      name: "save_events",
      text: `INSERT INTO events (organisation_id, created_at, object_kind, object_id, id, type, sequence, body)
        SELECT $1, $2, * FROM unnest($3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::bigint[], $8::text[])`,
      values: [organisationId, now, ...columnsOf(events), ids, ...rest],
    });
  }
  if (deliveries.length > 0) {
    await client.query({
      name: "save_deliveries",
      text: `INSERT INTO webhook_deliveries (organisation_id, id, event_id, endpoint_id)
        SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::uuid[])`,
      values: [
        organisationId,
        deliveries.map(({ id }) => id),
        deliveries.map(({ eventId }) => eventId),
        deliveries.map(({ endpointId }) => endpointId),
      ],
    });
  }
  return { events: events.length, deliveries: deliveries.length };
}
