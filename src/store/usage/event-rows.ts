/**
 * Inserts usage events, and reads stored ones. SQL: the hot path, with hundreds of rows in one
 * statement.
 */
import type { UsageDetails, UsageEvent } from "../../domain/usage/ingest.ts";
import { formatInstant, type Quantity } from "../../domain/usage/parse.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import type { Transaction } from "../database/pool.ts";
import { bigint, omit, pick } from "../database/sql/columns.ts";
import { namesOf, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { microseconds } from "./ingest-facts.ts";

/** Events of an organisation, stored at `now` by its clock. */
interface NewEvents {
  readonly organisationId: string;
  readonly events: readonly UsageEvent[];
  readonly now: Date;
}

const eventColumns = omit(columns.usageEvent, "voidedAt", "voidReason", "recordedAt");
const eventSet = columnSet(eventColumns, 1);

// In the order of the ids, so that two transactions with equal ids never deadlock. DO NOTHING waits
// for a concurrent insert of the same id.
const insert = query({
  name: "insert_usage_events",
  planned: "once",
  text: sql`
    INSERT INTO usage_events (${namesOf(eventColumns)})
    SELECT ${namesOf(eventColumns)}
    FROM ${eventSet.source(sql`r`)}
    ORDER BY r.organisation_id, r.event_id COLLATE "C"
    ON CONFLICT (organisation_id, event_id) DO NOTHING
    RETURNING organisation_id, event_id
  `,
  row: pick(columns.usageEvent, "organisationId", "eventId"),
});

/** Inserts the events whose ids are free. Returns the ids that were free, by organisation. */
export async function insertEvents(
  tx: Transaction,
  batches: readonly NewEvents[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const records = batches.flatMap(({ organisationId, events, now }) =>
    events.map((event) => ({
      ...event,
      organisationId,
      occurredAt: formatInstant(event.occurredAt),
      createdAt: now,
    })),
  );
  if (records.length === 0) return new Map();
  const created = new Map<string, Set<string>>();
  for (const { organisationId, eventId } of await insert(tx, ...eventSet.arrays(records)))
    put(created, organisationId, new Set()).add(eventId);
  return created;
}

/** Ids of events of an organisation. */
export interface EventIds {
  readonly organisationId: string;
  readonly eventIds: readonly string[];
}

const idSet = columnSet(pick(columns.usageEvent, "organisationId", "eventId"), 1);

// LIMIT keeps each lookup on the primary key.
const readStored = query({
  name: "load_stored_usage",
  planned: "once",
  text: sql`
    SELECT e.*
    FROM
      ${idSet.source(sql`r`)}
      CROSS JOIN LATERAL (
        SELECT
          u.organisation_id, u.event_id, u.subscription_id, u.meter_id, u.quantity,
          ${microseconds(sql`u.occurred_at`)} AS occurred_at
        FROM usage_events u
        WHERE u.organisation_id = r.organisation_id AND u.event_id = r.event_id
        LIMIT 1
      ) e
  `,
  row: {
    ...pick(columns.usageEvent, "organisationId", "eventId", "subscriptionId", "meterId"),
    quantity: columns.usageEvent.quantity.as<Quantity>(),
    occurredAt: bigint,
  },
});

/** Loads the stored events with these ids, by organisation and id. */
export async function loadStored(
  tx: Transaction,
  batches: readonly EventIds[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, UsageDetails>>> {
  const ids = batches.flatMap(({ organisationId, eventIds }) =>
    eventIds.map((eventId) => ({ organisationId, eventId })),
  );
  if (ids.length === 0) return new Map();
  const rows = await readStored(tx, ...idSet.arrays(ids));
  const stored = new Map<string, Map<string, UsageDetails>>();
  for (const { organisationId, eventId, occurredAt, ...row } of rows) {
    const details = { ...row, occurredAt: BigInt(occurredAt) };
    put(stored, organisationId, new Map()).set(eventId, details);
  }
  return stored;
}

// Processes of a version without this statement are refused by a trigger.
const readDropped = query({
  name: "find_dropped_usage",
  planned: "once",
  text: sql`
    SELECT r.organisation_id, r.event_id
    FROM ${idSet.source(sql`r`)}
    WHERE is_dropped_usage(r.organisation_id, r.event_id)
  `,
  row: {
    organisationId: columns.usageEvent.organisationId.orNull(),
    eventId: columns.usageEvent.eventId.orNull(),
  },
});

/** Returns those of these ids whose events were dropped, by organisation (USAGE-18). */
export async function findDropped(
  executor: Executor,
  batches: readonly EventIds[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const ids = batches.flatMap(({ organisationId, eventIds }) =>
    eventIds.map((eventId) => ({ organisationId, eventId })),
  );
  const dropped = new Map<string, Set<string>>();
  if (ids.length === 0) return dropped;
  for (const { organisationId, eventId } of await readDropped(executor, ...idSet.arrays(ids)))
    put(dropped, organisationId ?? "", new Set()).add(eventId ?? "");
  return dropped;
}

/** Whether an event with this id was dropped. */
export async function wasDropped(
  executor: Executor,
  organisationId: string,
  eventId: string,
): Promise<boolean> {
  return (await findDropped(executor, [{ organisationId, eventIds: [eventId] }])).size > 0;
}

/** The value under a key, which is `first` if there was none. */
function put<V>(map: Map<string, V>, key: string, first: V): V {
  const value = map.get(key) ?? first;
  map.set(key, value);
  return value;
}
