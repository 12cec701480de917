/**
 * Lists and looks up events as they were published, for the platform (EVENT-6, EVENT-7).
 *
 * SQL: keyset pages that follow one index each, however rare the kind and however old the range.
 */
import type { EventType, ObjectKind } from "../../domain/events/event.ts";
import { unknownPosition } from "../../domain/refusal.ts";
import { formatInstant, type Instant, instantOf } from "../../domain/usage/parse.ts";
import { columns } from "../../gen/columns.ts";
import { isId } from "../database/ids.ts";
import type { Page, PageRequest } from "../database/page.ts";
import { db } from "../database/prisma/client.ts";
import { pick } from "../database/sql/columns.ts";
import { joinSql, type Sql, sql } from "../database/sql/sql.ts";
import {
  declare,
  type Executor,
  statementName,
  undeclaredQuery,
} from "../database/sql/statement.ts";

/** Who lists, and which kinds of objects' events it may see. A sandbox has its own clock. */
export interface EventReader {
  readonly organisationId: string;
  readonly kinds: readonly ObjectKind[];
  readonly livemode: boolean;
}

/** The filters of the list. A null filter is not applied; `types` is null if all kinds are seen. */
export interface EventFilters {
  readonly types: readonly EventType[] | null;
  readonly objectId: string | null;
  readonly createdFrom: Instant | null;
  readonly createdBefore: Instant | null;
}

/** The bodies of events, as they were sent. */
export type EventBody = string;

/**
 * How much later another process may number an event than it began to publish it. Its transaction
 * ends if it is idle for ten seconds.
 */
const slack = sql`interval '1 minute'`;

/** The position before every event. */
const top = sql`9223372036854775807`;

/** Begins a statement, in which each value gets its number where it is used. */
function newValues() {
  const values: unknown[] = [];
  return { values, value: (value: unknown): Sql => sql`$${values.push(value)}` };
}

type Values = ReturnType<typeof newValues>;

/**
 * Returns a page of bodies, newest first. Refuses `invalid_parameter`, param `starting_after`, for
 * the id of no event that the reader may see.
 */
export async function listEvents(
  executor: Executor,
  reader: EventReader,
  filters: EventFilters,
  { limit, startingAfter }: PageRequest,
): Promise<Page<EventBody>> {
  const position = startingAfter === null ? null : await findEvent(executor, reader, startingAfter);
  if (startingAfter !== null && position === null) throw unknownPosition();
  const after = position === null ? top : String(position.seq);
  const { text, values } = pageStatement(reader, filters, after, limit);
  const read = undeclaredQuery({ name: statementName(text), text, row: pageRow });
  const bodies = (await read(executor, ...values)).map(({ body }) => body);
  return { data: bodies.slice(0, limit), hasMore: bodies.length > limit };
}

const pageRow = pick(columns.event, "body");

/** Returns the statement of a page. It has the filters of its request alone, for the planner. */
function pageStatement(
  reader: EventReader,
  filters: EventFilters,
  after: string,
  limit: number,
): { readonly text: Sql; readonly values: readonly unknown[] } {
  const { values, value } = newValues();
  const [organisation, count] = [value(reader.organisationId), value(limit + 1)];
  const range = rangeOf(reader, filters, organisation, value);
  const source = sourceOf(reader, filters, value, {
    organisation,
    conditions: joinSql([sql`t.seq < ${value(after)}`, ...range], " AND "),
    order: sql`ORDER BY t.seq DESC LIMIT ${count}`,
  });
  const text = sql`
    SELECT e.body
    FROM
      (${source}) p
      JOIN events e ON e.organisation_id = ${organisation} AND e.seq = p.seq
    ORDER BY p.seq DESC
    LIMIT ${count}
  `;
  return { text, values };
}

/**
 * Returns the body of an event. Null if the organisation has no such event, or if it is of an
 * object that the reader may not see.
 */
export async function getEvent(
  executor: Executor,
  reader: EventReader,
  id: string,
): Promise<EventBody | null> {
  return (await findEvent(executor, reader, id))?.body ?? null;
}

async function findEvent(executor: Executor, { organisationId, kinds }: EventReader, id: string) {
  if (!isId(id)) return null;
  return db(executor).event.findFirst({
    where: { organisationId, id, objectKind: { in: [...kinds] } },
    select: { body: true, seq: true },
  });
}

/** The years in which an event can lie. PostgreSQL reads no year 0, which RFC 3339 has. */
const [earliest, latest] = [0n, instantOf(new Date("9999-01-01T00:00:00Z"))];

function instantText(instant: Instant): string {
  return formatInstant(instant < earliest ? earliest : instant > latest ? latest : instant);
}

/** The parts that every source has. The order is the list's, with its limit. */
interface SourceParts {
  readonly organisation: Sql;
  readonly conditions: Sql;
  readonly order: Sql;
}

/**
 * Returns SQL of the page's numbers. An object has few events, which are read whole. Otherwise each
 * kind is read alone, newest first: a walk over all events would meet a rare kind late.
 */
function sourceOf(
  { kinds }: EventReader,
  { types, objectId }: EventFilters,
  value: Values["value"],
  { organisation, conditions, order }: SourceParts,
): Sql {
  if (objectId !== null) {
    const isType = types === null ? sql`` : sql`AND t.type = ANY (${value(types)})`;
    return sql`WITH t AS MATERIALIZED (SELECT t.seq, t.type, t.created_at, t.clock_at FROM events t
        WHERE t.organisation_id = ${organisation}
          AND t.object_kind = ANY (${value(kinds)}) AND t.object_id = ${value(objectId)})
      SELECT t.seq FROM t WHERE ${conditions} ${isType} ${order}`;
  }
  if (types === null) {
    return sql`SELECT t.seq FROM events t
      WHERE t.organisation_id = ${organisation} AND t.object_kind = ANY (${value(kinds)})
        AND ${conditions} ${order}`;
  }
  return sql`SELECT t.seq FROM unnest(${value(types)}::text[]) AS k(type) CROSS JOIN LATERAL (
      SELECT t.seq FROM events t
      WHERE t.organisation_id = ${organisation} AND t.type = k.type
        AND ${conditions} ${order}) t ${order}`;
}

/**
 * Returns the conditions of the range, by the instant that the bodies show. They are also bounded
 * by number, so that events outside the range are not read: one transaction at a time publishes an
 * organisation's events, so instants and numbers rise together. In a live organisation they do so
 * within `slack`. A test clock stands and jumps, and never goes back. Test events of endpoints are
 * not in that order.
 */
function rangeOf(
  { livemode }: EventReader,
  { createdFrom, createdBefore }: EventFilters,
  organisation: Sql,
  value: Values["value"],
): readonly Sql[] {
  const conditions: Sql[] = [];
  const numberOf = (condition: Sql, order: Sql, otherwise: Sql) =>
    sql`coalesce((SELECT b.seq FROM events b WHERE b.organisation_id = ${organisation}
      AND ${condition} ORDER BY ${order} LIMIT 1), ${otherwise})`;
  const live = sql`b.object_kind <> 'webhook_endpoint' AND b.created_at`;
  const shown = livemode ? sql`created_at` : sql`clock_at`;
  if (createdFrom !== null) {
    const from = sql`${value(instantText(createdFrom))}::timestamptz`;
    const bound = livemode
      ? sql`> ${numberOf(sql`${live} < ${from} - ${slack}`, sql`b.created_at DESC`, sql`0`)}`
      : sql`>= ${numberOf(sql`b.clock_at >= ${from}`, sql`b.clock_at, b.seq`, top)}`;
    conditions.push(sql`t.${shown} >= ${from}`, sql`t.seq ${bound}`);
  }
  if (createdBefore !== null) {
    const before = sql`${value(instantText(createdBefore))}::timestamptz`;
    const bound = livemode
      ? sql`< ${numberOf(sql`${live} >= ${before} + ${slack}`, sql`b.created_at ASC`, top)}`
      : sql`<= ${numberOf(sql`b.clock_at < ${before}`, sql`b.clock_at DESC, b.seq DESC`, sql`0`)}`;
    conditions.push(sql`t.${shown} < ${before}`, sql`t.seq ${bound}`);
  }
  return conditions;
}

/** Declares the page of each source with all of its filters. */
for (const livemode of [true, false]) {
  const reader: EventReader = { organisationId: "", kinds: [], livemode };
  const range = { createdFrom: 0n, createdBefore: 0n };
  const sources: Readonly<Record<string, EventFilters>> = {
    of_object: { types: [], objectId: "", ...range },
    of_kinds: { types: null, objectId: null, ...range },
    of_types: { types: [], objectId: null, ...range },
  };
  for (const [source, filters] of Object.entries(sources)) {
    const name = `list_${livemode ? "live" : "test"}_events_${source}`;
    declare({ name, text: pageStatement(reader, filters, top, 1).text, row: pageRow });
  }
}
