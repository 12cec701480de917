/**
 * Events as operators list them: those of the last 30 days, also of organisations without a webhook
 * endpoint. EVENT-5.
 */
import type { Event } from "../../../gen/prisma/client.ts";
import type { Filter, Listing } from "../../database/page.ts";
import { columnsOf, type ModelRow } from "../../database/prisma/model-columns.ts";

const fields = [
  "id",
  "type",
  "objectKind",
  "objectId",
  "sequence",
  "body",
  "createdAt",
] as const satisfies readonly (keyof Event)[];

/** An event. `body` is the JSON text that every endpoint receives. */
export type StoredEvent = Pick<Event, (typeof fields)[number]>;

/** The search of a list of events. A null member excludes nothing. */
export interface EventSearch {
  readonly type: string | null;
  readonly objectId: string | null;
  readonly since: Date | null;
  /** Events from this instant on are left out. */
  readonly until: Date | null;
}

/** Lists events. */
export const eventListing: Listing<ModelRow<Event, (typeof fields)[number]>, StoredEvent> = {
  table: "events",
  columns: columnsOf("t", fields),
  from: "events t",
  read: (row) => ({ ...row, sequence: BigInt(row.sequence) }),
};

// The kinds are named, so that the index of an object's events is used.
const ofObject = `t.object_id = ? AND t.object_kind IN ('customer', 'subscription', 'invoice',
  'credit_note', 'webhook_endpoint')`;

/** Converts the search to SQL conditions. */
export function eventFilters(search: EventSearch): readonly Filter[] {
  const { type, objectId, since, until } = search;
  return [
    ...(type === null ? [] : [{ sql: "t.type = ?", value: type }]),
    ...(objectId === null ? [] : [{ sql: ofObject, value: objectId }]),
    ...(since === null ? [] : [{ sql: "t.created_at >= ?", value: since }]),
    ...(until === null ? [] : [{ sql: "t.created_at < ?", value: until }]),
  ];
}
