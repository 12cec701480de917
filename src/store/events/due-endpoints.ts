/** Webhook endpoints that have deliveries due: their workflow is to be started, unless it runs. */
import type pg from "pg";

/** An endpoint by its name. */
export interface EndpointKey {
  readonly organisationId: string;
  readonly endpointId: string;
}

/** A delivery that is due, with its endpoint. */
export interface DueDelivery extends EndpointKey {
  readonly deliveryId: string;
  readonly eventId: string;
}

interface EndpointRow {
  id: string;
  organisation_id: string;
}

// One that is left alone after failures has nothing due until its breaker's time is over. The
// earliest of each is asked for in the order of the index: whoever has a hundred thousand waiting
// is found as fast as the others.
const isDue = `(w.open_until IS NULL OR w.open_until <= now() OR w.status = 'disabled')
  AND (SELECT d.due_at FROM webhook_deliveries d WHERE d.organisation_id = w.organisation_id AND d.endpoint_id = w.id AND d.state = 'pending'
    ORDER BY d.endpoint_id, d.due_at LIMIT 1) <= now()`;

/** An organisation's. Planned each time, by what the tables hold then. */
export async function findDueEndpoints(
  pool: Pick<pg.Pool, "query">,
  organisationId: string,
): Promise<readonly EndpointKey[]> {
  const { rows } = await pool.query<EndpointRow>({
    text: `SELECT w.id, w.organisation_id FROM webhook_endpoints w WHERE w.organisation_id = $1 AND ${isDue} ORDER BY w.id`,
    values: [organisationId],
  });
  return rows.map(keyOf);
}

/** Up to `limit` of all organisations, from the one after `after` on: ids only. */
export async function findAllDueEndpoints(
  pool: Pick<pg.Pool, "query">,
  after: string | null,
  limit: number,
): Promise<readonly EndpointKey[]> {
  const { rows } = await pool.query<EndpointRow>({
    text: `SELECT w.id, w.organisation_id FROM webhook_endpoints w WHERE ($1::uuid IS NULL OR w.id > $1) AND ${isDue} ORDER BY w.id LIMIT $2`,
    values: [after, limit],
  });
  return rows.map(keyOf);
}

const keyOf = (row: EndpointRow): EndpointKey => ({ organisationId: row.organisation_id, endpointId: row.id });
