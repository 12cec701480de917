/**
 * Deletes events that can no longer be resent, with their deliveries and attempts (EVENT-5).
 *
 * SQL: it claims rows with SKIP LOCKED by the server's clock, and deletes thousands of attempts by
 * one array.
 */
import { columns } from "../../gen/columns.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import { dbOfAll } from "../database/prisma/client.ts";
import { pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";

/** How long events are kept: as long as they can be resent. */
const keptFor = sql`interval '30 days'`;

const findExpired = query({
  name: "find_expired_events",
  text: sql`
    SELECT e.id
    FROM events e
    WHERE
      e.created_at < now() - ${keptFor}
      AND NOT EXISTS (
        SELECT 1
        FROM webhook_deliveries d
        WHERE d.organisation_id = e.organisation_id AND d.event_id = e.id AND d.state = 'pending'
      )
    ORDER BY e.created_at
    LIMIT $1
    FOR UPDATE OF e SKIP LOCKED
  `,
  row: pick(columns.event, "id"),
});

const lockDeliveries = query({
  name: "lock_expired_deliveries",
  text: sql`
    SELECT d.id, d.event_id, d.state
    FROM
      webhook_deliveries d
      JOIN events e ON e.organisation_id = d.organisation_id AND e.id = d.event_id
    WHERE e.id = ANY ($1)
    ORDER BY d.id
    FOR UPDATE OF d
  `,
  row: pick(columns.webhookDelivery, "id", "eventId", "state"),
});

const deleteAttempts = command({
  name: "delete_expired_attempts",
  text: sql`
    DELETE FROM webhook_attempts a
    USING webhook_deliveries d
    WHERE d.id = ANY ($1) AND a.organisation_id = d.organisation_id AND a.delivery_id = d.id
  `,
});

/**
 * Deletes up to `atMost` events older than 30 days over all organisations, oldest first, and
 * returns how many. An event that is still being delivered stays. Several processes may run it at
 * once.
 */
export async function deleteExpiredEvents(pool: Pool, atMost: number): Promise<number> {
  return inTransaction(pool, async (tx) => {
    const expired = (await findExpired(tx, atMost)).map(({ id }) => id);
    if (expired.length === 0) return 0;
    // Locked, so that none is resent meanwhile.
    const deliveries = await lockDeliveries(tx, expired);
    const resent = new Set(
      deliveries.filter(({ state }) => state === "pending").map(({ eventId }) => eventId),
    );
    const eventIds = expired.filter((id) => !resent.has(id));
    const deliveryIds = deliveries
      .filter(({ eventId }) => !resent.has(eventId))
      .map(({ id }) => id);
    await deleteAttempts(tx, deliveryIds);
    // The locked events got no other deliveries meanwhile.
    await dbOfAll(tx).webhookDelivery.deleteMany({ where: { eventId: { in: eventIds } } });
    await dbOfAll(tx).event.deleteMany({ where: { id: { in: eventIds } } });
    return eventIds.length;
  });
}
