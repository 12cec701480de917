/** Deliveries that somebody must be at: whose workflow is to be started, for the first time or again where it was lost. */
import type pg from "pg";

/** A delivery as its workflow is started with it. */
export interface DueDelivery {
  readonly organisationId: string;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly endpointId: string;
}

/** How long a start is given to lead to an attempt, or to its being put off; past it the delivery is taken again. */
const startedWithin = "interval '2 minutes'";

/**
 * Takes up to `limit` of an organisation's deliveries that are due, the longest due first: the caller starts their workflows
 * (`startDelivery`, with `firstPauseMs` of the settings), and whoever asks within two minutes does not get them again. After these one whose
 * start failed is due once more. Fewer than `limit` come back where no more are due.
 */
export async function takeDueDeliveries(
  pool: pg.Pool,
  organisationId: string,
  limit: number,
): Promise<readonly DueDelivery[]> {
  const { rows } = await pool.query<{ id: string; event_id: string; endpoint_id: string }>({
    name: "take_due_deliveries",
    text: `WITH due AS (
        SELECT id FROM webhook_deliveries WHERE organisation_id = $1 AND state = 'pending' AND due_at <= now()
        ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
      )
      UPDATE webhook_deliveries d SET due_at = now() + ${startedWithin} FROM due
      WHERE d.organisation_id = $1 AND d.id = due.id RETURNING d.id, d.event_id, d.endpoint_id`,
    values: [organisationId, limit],
  });
  return rows.map(({ id, event_id: eventId, endpoint_id: endpointId }) => ({
    organisationId,
    deliveryId: id,
    eventId,
    endpointId,
  }));
}
