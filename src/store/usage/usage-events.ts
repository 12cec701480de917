/**
 * Reads usage events, each with the bill that takes it and the document of that bill. Lists with
 * their documents are SQL.
 */

import { unknownPosition } from "../../domain/refusal.ts";
import { formatInstant, type Quantity } from "../../domain/usage/parse.ts";
import { columns } from "../../gen/columns.ts";
import type { Page, PageRequest } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import { bigint, bool, pick, type RowOf, text } from "../database/sql/columns.ts";
import { columnsOf, type Sql, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { microseconds } from "./ingest-facts.ts";
import { readUsagePlace, type UsagePlace, usagePlaceColumns, usagePlaceRow } from "./usage-rows.ts";

/**
 * An event. `occurredAt` is an instant in UTC with six decimals. `isBilled`: its bill exists. The
 * document is that of its period, meter and bill.
 */
export interface StoredUsageEvent extends UsagePlace {
  readonly eventId: string;
  readonly subscriptionId: string;
  readonly quantity: Quantity;
  readonly occurredAt: string;
  readonly createdAt: Date;
  readonly isBilled: boolean;
  readonly voidedAt: Date | null;
  readonly voidReason: string | null;
}

/** The filters of the list. A null filter is not applied. */
export interface EventFilters {
  readonly meterId: string | null;
  readonly periodIndex: number | null;
}

const storedRow = {
  ...pick(columns.usageEvent, "eventId", "subscriptionId", "createdAt", "voidedAt", "voidReason"),
  quantity: columns.usageEvent.quantity.as<Quantity>(),
};

const eventRow = { ...storedRow, occurredAt: bigint, isBilled: bool, ...usagePlaceRow };

// A voided event is on no bill, although a bill with its number may exist.
const eventColumns = sql`${columnsOf(sql`t`, storedRow)},
  ${microseconds(sql`t.occurred_at`)} AS occurred_at,
  t.voided_at IS NULL AND t.bill < s.usage_billed AS is_billed, ${usagePlaceColumns}`;

const joins = sql`JOIN subscriptions s ON s.organisation_id = $1 AND s.id = t.subscription_id
  JOIN meters m ON m.organisation_id = $1 AND m.id = t.meter_id
  LEFT JOIN usage_bills b ON b.organisation_id = $1 AND b.subscription_id = t.subscription_id
    AND b.period_index = t.period_index AND b.meter_id = t.meter_id AND b.bill = t.bill
    AND t.voided_at IS NULL
  LEFT JOIN invoices i ON i.organisation_id = $1 AND i.id = b.invoice_id
  LEFT JOIN credit_notes n ON n.organisation_id = $1 AND n.id = b.credit_note_id`;

// The order of the index over usage that is not billed. A page sorts only the events of the bills,
// periods and meters that it touches. One more column in that index would cost every stored event.
const order = (alias: Sql) =>
  sql`${alias}.bill DESC, ${alias}.period_index DESC, ${alias}.meter_id DESC,
    ${alias}.created_at DESC, ${alias}.event_id DESC`;

/** Reads the events that `found` selects. Planned for its values, null filters drop out. */
const eventsOf = (name: string, found: Sql) =>
  query({
    name,
    planned: "each time",
    text: sql`SELECT ${eventColumns} FROM (${found}) t ${joins} ORDER BY ${order(sql`t`)}`,
    row: eventRow,
  });

const findEvent = eventsOf(
  "get_usage_event",
  sql`SELECT * FROM usage_events WHERE organisation_id = $1 AND event_id = $2`,
);

/** Returns the event with this id, or null. */
export async function getUsageEvent(
  executor: Executor,
  organisationId: string,
  eventId: string,
): Promise<StoredUsageEvent | null> {
  const [event] = await findEvent(executor, organisationId, eventId);
  return event === undefined ? null : readEvent(event);
}

const listEvents = eventsOf(
  "list_usage_events",
  sql`
    SELECT *
    FROM usage_events u
    WHERE
      u.organisation_id = $1
      AND u.subscription_id = $2
      AND u.voided_at IS NULL
      AND ($4::uuid IS NULL OR u.meter_id = $4)
      AND ($5::int IS NULL OR u.period_index = $5)
      AND (
        $6::int IS NULL
        OR (u.bill, u.period_index, u.meter_id, u.created_at, u.event_id) < (
          $6, $7::int, $8::uuid, $9::timestamptz, $10
        )
      )
    ORDER BY ${order(sql`u`)}
    LIMIT $3
  `,
);

/**
 * Returns the events of a subscription that are not voided. Refuses `invalid_parameter`, param
 * `starting_after`.
 */
export async function listUsageEvents(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  { meterId, periodIndex }: EventFilters,
  { limit, startingAfter }: PageRequest,
): Promise<Page<StoredUsageEvent>> {
  const after =
    startingAfter === null
      ? [null, null, null, null, null]
      : await positionOf(pool, organisationId, subscriptionId, startingAfter);
  const filters = [meterId, periodIndex, ...after];
  const rows = await listEvents(pool, organisationId, subscriptionId, limit + 1, ...filters);
  const events = rows.map(readEvent);
  return { data: events.slice(0, limit), hasMore: events.length > limit };
}

const findPosition = query({
  name: "find_usage_event_position",
  planned: "each time",
  text: sql`
    SELECT bill, period_index, meter_id, created_at::text AS created_at
    FROM usage_events
    WHERE organisation_id = $1 AND event_id = $2 AND subscription_id = $3
  `,
  row: { ...pick(columns.usageEvent, "bill", "periodIndex", "meterId"), createdAt: text },
});

/** Returns the event's position in the list, or its position until it was voided. */
async function positionOf(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  eventId: string,
): Promise<readonly unknown[]> {
  const [found] = await findPosition(pool, organisationId, eventId, subscriptionId);
  if (found !== undefined)
    return [found.bill, found.periodIndex, found.meterId, found.createdAt, eventId];
  throw unknownPosition();
}

function readEvent(row: RowOf<typeof eventRow>): StoredUsageEvent {
  return {
    ...readUsagePlace(row),
    eventId: row.eventId,
    subscriptionId: row.subscriptionId,
    quantity: row.quantity,
    occurredAt: formatInstant(BigInt(row.occurredAt)),
    createdAt: row.createdAt,
    isBilled: row.isBilled,
    voidedAt: row.voidedAt,
    voidReason: row.voidReason,
  };
}
