/**
 * Publishes a chunk: the outbox entries of some objects become events, with deliveries to the
 * endpoints that subscribe to them. Events are stored also if there is no endpoint (EVENT-6). One
 * transaction works on one snapshot. Later changes have entries that stay (EVENT-1).
 *
 * If publishing a chunk fails, each object is published alone. An object that fails alone is
 * rescheduled and blocks neither other objects nor deliveries.
 *
 * SQL: it locks, takes many entries in one statement, and joins by arrays of ids.
 */
import {
  type ChangeKind,
  decideEvents,
  type EventType,
  eventBody,
  type ObjectKind,
} from "../../domain/events/event.ts";
import { columns } from "../../gen/columns.ts";
import { isTransient } from "../database/errors.ts";
import { newId } from "../database/ids.ts";
import { lockName } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import {
  arrayOf,
  bool,
  instant,
  jsonRows,
  pick,
  type RowOf,
  text,
} from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import {
  keyArrays,
  type Publication,
  type PublicationInstants,
  type Snapshot,
  savePublication,
} from "./save-published.ts";
import { loadTexts, type ObjectKey, type WriteObject } from "./shown-objects.ts";

/** How to publish a chunk. */
interface PublishingOrder {
  readonly write: WriteObject;
  /** Called when all is loaded and decided and nothing is written. */
  readonly onLoaded?: () => void;
}

/** How many events and deliveries a chunk wrote. */
interface PublishedChunk {
  readonly events: number;
  readonly deliveries: number;
}

/** An object that was rescheduled, and why. */
export interface Unpublished extends ObjectKey {
  readonly error: unknown;
}

/** Another process publishes the organisation's changes at this moment. */
class PublishingLocked extends Error {
  constructor(organisationId: string) {
    super(`another process publishes the changes of organisation ${organisationId}`);
  }
}

/** First key of the advisory lock on publishing an organisation's changes: `publ` in ASCII. */
const lockClass = 0x7075626c;

/** Lets no process publish the organisation's changes until the transaction ends. */
export async function blockPublishing(tx: Transaction, organisationId: string): Promise<void> {
  await lockName(tx, lockClass, organisationId);
}

/** Plans made while the tables were small would scan grown tables. */
const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL enable_seqscan = off";

const lockOrganisation = query({
  name: "lock_publishing",
  text: sql`
    SELECT
      o.livemode,
      now() AS now,
      coalesce(o.test_clock, now()) AS created_at,
      pg_try_advisory_xact_lock(${lockClass}, hashtext(o.id::text)) AS is_locked,
      coalesce(
        (
          SELECT json_agg(json_build_object('id', e.id, 'kinds', e.kinds))
          FROM webhook_endpoints e
          WHERE e.organisation_id = o.id AND e.status = 'enabled'
        ),
        '[]'
      ) AS endpoints
    FROM organisations o
    WHERE o.id = $1
  `,
  row: {
    ...pick(columns.organisation, "livemode"),
    now: instant,
    /** Now by the organisation's clock, for its events and everything else that is shown of it. */
    createdAt: instant,
    /** False if another transaction publishes the organisation's changes. */
    isLocked: bool,
    /** The enabled endpoints with the kinds that they subscribe to. No kinds means all. */
    endpoints: jsonRows(pick(columns.webhookEndpoint, "id", "kinds")),
  },
});

/** An organisation whose changes this transaction publishes. */
type Publisher = Awaited<ReturnType<typeof lockPublishing>>;

const changedRow = {
  kind: columns.outboxEntry.objectKind.as<ObjectKind>(),
  id: columns.outboxEntry.objectId,
  changes: arrayOf(text.as<ChangeKind>()),
  traceparent: text.orNull(),
};

/** An object with the kinds of its changes, and the trace of the first change that has one. */
type ChangedObject = RowOf<typeof changedRow>;

/**
 * Publishes the changes of these objects and takes all their entries. Objects that were published
 * meanwhile are skipped. Throws `PublishingLocked` if another process publishes the organisation's
 * changes. The caller tries again.
 */
export async function publishChunk(
  pool: Pool,
  organisationId: string,
  objects: readonly ObjectKey[],
  { write, onLoaded }: PublishingOrder,
): Promise<PublishedChunk> {
  return inTransaction(
    pool,
    async (tx) => {
      const publisher = await lockPublishing(tx, organisationId);
      const changed = await takeEntries(tx, organisationId, ...keyArrays(objects));
      const texts = await loadTexts(tx, organisationId, changed, write);
      const published = await loadSnapshots(tx, organisationId, changed);
      const publication = decide(publisher, changed, texts, published);
      onLoaded?.();
      await savePublication(tx, organisationId, instantsOf(publisher), publication);
      const { events, deliveries } = publication;
      return { events: events.length, deliveries: deliveries.length };
    },
    begin,
  );
}

/** In a sandbox an event shows the test clock, and is kept by the real one (EVENT-5, EVENT-6). */
function instantsOf({ now, createdAt, livemode }: Publisher): PublicationInstants {
  return { createdAt: now, clockAt: livemode ? null : createdAt };
}

async function lockPublishing(tx: Transaction, organisationId: string) {
  const [publisher] = await lockOrganisation(tx, organisationId);
  if (publisher === undefined) throw new Error(`organisation ${organisationId} is gone`);
  if (!publisher.isLocked) throw new PublishingLocked(organisationId);
  return publisher;
}

// If another transaction has taken entries since the snapshot, this one is repeated: SQLSTATE 40001
// (INVARIANT-6).
const takeEntries = query({
  name: "take_outbox_entries",
  text: sql`
    WITH
      taken AS (
        DELETE FROM outbox c
        USING unnest($2::text[], $3::uuid[]) AS o (kind, id)
        WHERE c.organisation_id = $1 AND c.object_kind = o.kind AND c.object_id = o.id
        RETURNING c.seq, c.object_kind, c.object_id, c.change, c.traceparent
      )
    SELECT
      object_kind AS kind, object_id AS id,
      array_agg(DISTINCT change) AS changes,
      (array_agg(traceparent ORDER BY seq) FILTER (WHERE traceparent IS NOT NULL))[1] AS traceparent
    FROM taken
    GROUP BY 1, 2
    ORDER BY min(seq)
  `,
  row: changedRow,
});

const readSnapshots = query({
  name: "load_published_snapshots",
  text: sql`
    SELECT s.object_id, s.sequence, s.object
    FROM
      unnest($2::text[], $3::uuid[]) AS o (kind, id)
      JOIN published_snapshots s
        ON s.organisation_id = $1 AND s.object_kind = o.kind AND s.object_id = o.id
  `,
  row: pick(columns.publishedSnapshot, "objectId", "sequence", "object"),
});

async function loadSnapshots(
  tx: Transaction,
  organisationId: string,
  objects: readonly ObjectKey[],
): Promise<ReadonlyMap<string, Snapshot>> {
  const rows = await readSnapshots(tx, organisationId, ...keyArrays(objects));
  return new Map(
    rows.map(({ objectId, sequence, object }) => [
      objectId,
      { sequence: BigInt(sequence), object },
    ]),
  );
}

function decide(
  { livemode, createdAt, endpoints }: Publisher,
  changed: readonly ChangedObject[],
  texts: ReadonlyMap<string, string>,
  published: ReadonlyMap<string, Snapshot>,
): Publication {
  const snapshots: Publication["snapshots"][number][] = [];
  const events: (Publication["events"][number] & { readonly type: EventType })[] = [];
  for (const { kind, id, changes, traceparent } of changed) {
    const object = texts.get(id);
    if (object === undefined) continue;
    const before = published.get(id);
    let sequence = before?.sequence ?? 0n;
    const previous = before?.object ?? null;
    const toPublish = decideEvents({ kind, changes, before: previous, after: object });
    for (const { type, previousAttributes } of toPublish) {
      sequence += 1n;
      const eventId = newId();
      const envelope = { type, createdAt, livemode, sequence, object, previousAttributes };
      const body = eventBody({ id: eventId, ...envelope });
      events.push({ kind, id, eventId, type, sequence, body, traceparent });
    }
    snapshots.push({ kind, id, sequence, object });
  }
  const deliveries = events.flatMap(({ eventId, type }) =>
    endpoints
      .filter(({ kinds }) => kinds.length === 0 || kinds.includes(type))
      .map((endpoint) => ({ id: newId(), eventId, endpointId: endpoint.id })),
  );
  return { snapshots, events, deliveries };
}

/**
 * How long to postpone an object that fails alone. The cause is in our code and a release repairs
 * it.
 */
const rescheduleFor = sql`interval '1 hour'`;

/** Whether another process publishes, or the cause passes: the caller repeats the whole chunk. */
function passes(error: unknown): boolean {
  return error instanceof PublishingLocked || isTransient(error);
}

const reschedule = command({
  name: "reschedule_publishing",
  text: sql`
    UPDATE outbox
    SET recorded_at = now() + ${rescheduleFor}
    WHERE organisation_id = $1 AND object_kind = $2 AND object_id = $3
  `,
});

/** Publishes a chunk, or each of its objects alone if that fails. Throws transient errors. */
export async function publishOrReschedule(
  pool: Pool,
  organisationId: string,
  objects: readonly ObjectKey[],
  order: PublishingOrder,
): Promise<PublishedChunk & { readonly unpublished: readonly Unpublished[] }> {
  try {
    return { ...(await publishChunk(pool, organisationId, objects, order)), unpublished: [] };
  } catch (error) {
    if (passes(error)) throw error;
  }
  let [events, deliveries] = [0, 0];
  const unpublished: Unpublished[] = [];
  for (const object of objects) {
    try {
      const published = await publishChunk(pool, organisationId, [object], order);
      events += published.events;
      deliveries += published.deliveries;
    } catch (error) {
      if (passes(error)) throw error;
      // Its entries stay for a later time.
      await reschedule(pool, organisationId, object.kind, object.id);
      unpublished.push({ ...object, error });
    }
  }
  return { events, deliveries, unpublished };
}
