/**
 * Lists and looks up events as they were published, for the platform (EVENT-6, EVENT-7).
 *
 * SQL: keyset pages that follow one index each, however rare the kind and however old the range.
 */
import type { EventType, ObjectKind } from "../../domain/events/event.ts";
import { Refusal } from "../../domain/refusal.ts";
import { formatInstant, type Instant, instantOf } from "../../domain/usage/parse.ts";
import type { Event } from "../../gen/prisma/client.ts";
import { isId } from "../database/ids.ts";
import type { Page, PageRequest } from "../database/page.ts";
import { statementName } from "../database/planned-once.ts";
import type { Executor } from "../database/prisma/client.ts";

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
export type EventBody = Event["body"];

/**
 * How much later another process may number an event than it began to publish it. Its transaction
 * ends if it is idle for ten seconds.
 */
const slack = "interval '1 minute'";

/** The position before every event. */
const top = "9223372036854775807";

/** A statement in the making: each value gets its number where it is used. */
interface Statement {
  readonly values: unknown[];
  value(value: unknown): string;
}

function newStatement(): Statement {
  const values: unknown[] = [];
  return { values, value: (value) => `$${values.push(value)}` };
}

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
  const after = startingAfter === null ? top : await seqOf(executor, reader, startingAfter);
  const { values, value } = newStatement();
  const [organisation, count] = [value(reader.organisationId), value(limit + 1)];
  const range = rangeOf(reader, filters, organisation, value);
  const source = sourceOf(reader, filters, value, {
    organisation,
    conditions: [`t.seq < ${value(after)}`, ...range].join(" AND "),
    order: `ORDER BY t.seq DESC LIMIT ${count}`,
  });
  const text = `SELECT e.body FROM (${source}) p
    JOIN events e ON e.organisation_id = ${organisation} AND e.seq = p.seq
    ORDER BY p.seq DESC LIMIT ${count}`;
  const name = statementName(text);
  const { rows } = await executor.query<Pick<Event, "body">>({ name, text, values });
  const bodies = rows.map(({ body }) => body);
  return { data: bodies.slice(0, limit), hasMore: bodies.length > limit };
}

/**
 * Returns the body of an event. Null if the organisation has no such event, or if it is of an
 * object that the reader may not see.
 */
export async function getEvent(
  executor: Executor,
  { organisationId, kinds }: EventReader,
  id: string,
): Promise<EventBody | null> {
  if (!isId(id)) return null;
  const { rows } = await executor.query<Pick<Event, "body">>({
    name: "get_event",
    text: `SELECT body FROM events
      WHERE organisation_id = $1 AND id = $2 AND object_kind = ANY ($3)`,
    values: [organisationId, id, kinds],
  });
  return rows[0]?.body ?? null;
}

async function seqOf(
  executor: Executor,
  { organisationId, kinds }: EventReader,
  id: string,
): Promise<string> {
  const { rows } = await executor.query<{ seq: string }>({
    name: "get_event_position",
    text: `SELECT seq FROM events
      WHERE organisation_id = $1 AND id = $2 AND object_kind = ANY ($3)`,
    values: [organisationId, id, kinds],
  });
  if (rows[0] !== undefined) return rows[0].seq;
  throw new Refusal(
    "invalid_parameter",
    "starting_after is not the id of an object of this list.",
    "starting_after",
  );
}

/** The years in which an event can lie. PostgreSQL reads no year 0, which RFC 3339 has. */
const [earliest, latest] = [0n, instantOf(new Date("9999-01-01T00:00:00Z"))];

function instantText(instant: Instant): string {
  return formatInstant(instant < earliest ? earliest : instant > latest ? latest : instant);
}

/** The parts that every source has. The order is the list's, with its limit. */
interface SourceParts {
  readonly organisation: string;
  readonly conditions: string;
  readonly order: string;
}

/**
 * Returns SQL of the page's numbers. An object has few events, which are read whole. Otherwise each
 * kind is read alone, newest first: a walk over all events would meet a rare kind late.
 */
function sourceOf(
  { kinds }: EventReader,
  { types, objectId }: EventFilters,
  value: Statement["value"],
  { organisation, conditions, order }: SourceParts,
): string {
  if (objectId !== null) {
    const isType = types === null ? "" : `AND t.type = ANY (${value(types)})`;
    return `WITH t AS MATERIALIZED (SELECT t.seq, t.type, t.created_at, t.clock_at FROM events t
        WHERE t.organisation_id = ${organisation}
          AND t.object_kind = ANY (${value(kinds)}) AND t.object_id = ${value(objectId)})
      SELECT t.seq FROM t WHERE ${conditions} ${isType} ${order}`;
  }
  if (types === null) {
    return `SELECT t.seq FROM events t
      WHERE t.organisation_id = ${organisation} AND t.object_kind = ANY (${value(kinds)})
        AND ${conditions} ${order}`;
  }
  return `SELECT t.seq FROM unnest(${value(types)}::text[]) AS k(type) CROSS JOIN LATERAL (
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
  organisation: string,
  value: Statement["value"],
): readonly string[] {
  const conditions: string[] = [];
  const numberOf = (condition: string, order: string, otherwise: string) =>
    `coalesce((SELECT b.seq FROM events b WHERE b.organisation_id = ${organisation}
      AND ${condition} ORDER BY ${order} LIMIT 1), ${otherwise})`;
  const live = "b.object_kind <> 'webhook_endpoint' AND b.created_at";
  const shown = livemode ? "created_at" : "clock_at";
  if (createdFrom !== null) {
    const from = `${value(instantText(createdFrom))}::timestamptz`;
    const bound = livemode
      ? `> ${numberOf(`${live} < ${from} - ${slack}`, "b.created_at DESC", "0")}`
      : `>= ${numberOf(`b.clock_at >= ${from}`, "b.clock_at, b.seq", top)}`;
    conditions.push(`t.${shown} >= ${from}`, `t.seq ${bound}`);
  }
  if (createdBefore !== null) {
    const before = `${value(instantText(createdBefore))}::timestamptz`;
    const bound = livemode
      ? `< ${numberOf(`${live} >= ${before} + ${slack}`, "b.created_at ASC", top)}`
      : `<= ${numberOf(`b.clock_at < ${before}`, "b.clock_at DESC, b.seq DESC", "0")}`;
    conditions.push(`t.${shown} < ${before}`, `t.seq ${bound}`);
  }
  return conditions;
}
