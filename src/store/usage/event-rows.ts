/**
 * Writes usage events as arrays of text, and reads stored ones. SQL: the hot path, with hundreds of
 * rows in one statement.
 */
import type { EvaluatedUsage, UsageDetails, UsageEvent } from "../../domain/usage/ingest.ts";
import { formatInstant, type Quantity } from "../../domain/usage/parse.ts";
import type { Executor } from "../database/prisma/client.ts";
import { microseconds } from "./ingest-facts.ts";

/** The columns of events as array literals: ids, periods, bills, quantities and instants. */
export function eventColumns(events: readonly UsageEvent[]): readonly string[] {
  return [
    textArray(events.map(({ eventId }) => eventId)),
    plainArray(events.map(({ periodIndex }) => periodIndex)),
    plainArray(events.map(({ bill }) => bill)),
    plainArray(events.map(({ quantity }) => quantity)),
    plainArray(events.map(({ occurredAt }) => formatInstant(occurredAt))),
  ];
}

/**
 * The ids that an earlier batch may have stored: events not inserted now, and events that the state
 * would reject (USAGE-3).
 */
export function idsToFind(
  evaluated: readonly EvaluatedUsage[],
  created: ReadonlySet<string>,
): readonly string[] {
  return [...new Set(evaluated.map(({ eventId }) => eventId))].filter(
    (eventId) => !created.has(eventId),
  );
}

// One text for all rows, as for the subscriptions. It has the places of the ids, because an id may
// contain any character.
const storedText = `SELECT string_agg(concat_ws(' ', r.place, e.columns), ',') AS events
  FROM unnest($2::text[]) WITH ORDINALITY AS r(event_id, place) CROSS JOIN LATERAL (
    SELECT concat_ws(' ', u.subscription_id, u.meter_id, u.quantity,
      ${microseconds("u.occurred_at")}) AS columns
    FROM usage_events u WHERE u.organisation_id = $1 AND u.event_id = r.event_id LIMIT 1) e`;

/**
 * Loads the stored events with these ids. A separate statement after the insert. One that began
 * earlier would miss events that another batch stored meanwhile.
 */
export async function loadStored(
  executor: Executor,
  organisationId: string,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, UsageDetails>> {
  if (eventIds.length === 0) return new Map();
  const { rows } = await executor.query<{ events: string | null }>({
    name: "load_stored_usage",
    text: storedText,
    values: [organisationId, textArray(eventIds)],
  });
  const events = rows[0]?.events ?? "";
  if (events === "") return new Map();
  return new Map(
    events.split(",").map((one): [string, UsageDetails] => {
      const [place, subscriptionId = "", meterId = "", quantity, occurredAt = ""] = one.split(" ");
      const details = {
        subscriptionId,
        meterId,
        quantity: quantity as Quantity,
        occurredAt: BigInt(occurredAt),
      };
      return [eventIds[Number(place) - 1] ?? "", details];
    }),
  );
}

/**
 * A PostgreSQL array literal of values that need no escaping. It is ten times as fast as the
 * driver's array.
 */
export function plainArray(values: readonly (string | number)[]): string {
  return `{${values.join(",")}}`;
}

function textArray(values: readonly string[]): string {
  let text = "";
  for (const value of values)
    text += `,"${/["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value}"`;
  return `{${text.slice(1)}}`;
}
