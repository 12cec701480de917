/**
 * Finds webhook endpoints with due deliveries. Their workflow must be started, unless it runs
 * (WEBHOOK-4).
 *
 * SQL: a sub-select with LIMIT follows the index to each endpoint's earliest delivery, compared
 * with the server's clock. The typed client would read the deliveries.
 */
import type { Executor } from "../database/prisma/client.ts";

/** The key of an endpoint. */
export interface EndpointKey {
  readonly organisationId: string;
  readonly endpointId: string;
}

/** A due delivery with its endpoint. */
export interface DueDelivery extends EndpointKey {
  readonly deliveryId: string;
  readonly eventId: string;
}

/**
 * The condition that the delivery `d` is of the organisation `$1`, next to one by its id. No index
 * has this operator, so an index is read by the id alone. A plan for an organisation with few rows
 * would otherwise read all rows that it has by then.
 */
export const isOwn = "d.organisation_id IS NOT DISTINCT FROM $1";

/** The condition that no process has claimed the delivery `d`, or that the claim has expired. */
export const isUnclaimed = "(d.claimed_until IS NULL OR d.claimed_until <= now())";

// An endpoint with an open breaker has nothing due until the breaker's time is over. The index
// gives the earliest delivery of each endpoint, after the few that are claimed. So an endpoint with
// a hundred thousand deliveries is found as fast as the others.
const isDue = `(w.open_until IS NULL OR w.open_until <= now() OR w.status = 'disabled')
  AND (SELECT d.due_at FROM webhook_deliveries d
    WHERE d.organisation_id = w.organisation_id AND d.endpoint_id = w.id AND d.state = 'pending'
      AND d.due_at <= now() AND ${isUnclaimed}
    ORDER BY d.endpoint_id, d.due_at LIMIT 1) IS NOT NULL`;

/**
 * The endpoints of one organisation. The query is planned each time, for the tables' current sizes.
 */
export async function findDueEndpoints(
  executor: Executor,
  organisationId: string,
): Promise<readonly EndpointKey[]> {
  return find(executor, "w.organisation_id = $1", [organisationId, null]);
}

/** Up to `limit` endpoints of all organisations after `after`. It returns ids only. */
export async function findAllDueEndpoints(
  executor: Executor,
  after: string | null,
  limit: number,
): Promise<readonly EndpointKey[]> {
  return find(executor, "($1::uuid IS NULL OR w.id > $1)", [after, limit]);
}

async function find(
  executor: Executor,
  condition: string,
  values: readonly unknown[],
): Promise<readonly EndpointKey[]> {
  const { rows } = await executor.query<EndpointKey>({
    text: `SELECT w.organisation_id AS "organisationId", w.id AS "endpointId"
      FROM webhook_endpoints w WHERE ${condition} AND ${isDue} ORDER BY w.id LIMIT $2`,
    values: [...values],
  });
  return rows;
}
