/**
 * Events as operators list them: those of the last 30 days, also of organisations without a webhook
 * endpoint. EVENT-5.
 */
import { columns } from "../../../gen/columns.ts";
import { type Filter, filter, listing } from "../../database/page.ts";
import { pick, type RowOf } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";

const eventRow = pick(
  columns.event,
  "id",
  "type",
  "objectKind",
  "objectId",
  "sequence",
  "body",
  "createdAt",
);

/** An event. `body` is the JSON text that every endpoint receives. */
export type StoredEvent = Omit<RowOf<typeof eventRow>, "sequence"> & { readonly sequence: bigint };

/** The search of a list of events. An absent member excludes nothing. */
interface EventSearch {
  readonly type?: string | undefined;
  /** The id of its object. */
  readonly object?: string | undefined;
  readonly since: Date | null;
  /** Events from this instant on are left out. */
  readonly until: Date | null;
}

// The kinds are named, so that the index of an object's events is used.
const ofObject = sql`t.object_id = ? AND t.object_kind IN ('customer', 'subscription', 'invoice',
  'credit_note', 'webhook_endpoint')`;

/** Converts the search to SQL conditions. */
export function eventFilters(search: EventSearch): readonly Filter[] {
  const { type, object, since, until } = search;
  return [
    ...filter(sql`t.type = ?`, type),
    ...filter(ofObject, object),
    ...filter(sql`t.created_at >= ?`, since),
    ...filter(sql`t.created_at < ?`, until),
  ];
}

const anInstant = new Date(0);

/** Lists events. */
export const eventListing = listing(
  "events",
  {
    table: sql`events`,
    columns: columnsOf(sql`t`, eventRow),
    row: eventRow,
    read: (row): StoredEvent => ({ ...row, sequence: BigInt(row.sequence) }),
  },
  eventFilters({ type: "", object: "", since: anInstant, until: anInstant }),
);
