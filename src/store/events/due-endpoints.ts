/**
 * Finds webhook endpoints with due deliveries. Their workflow must be started, unless it runs
 * (WEBHOOK-4).
 *
 * SQL: a sub-select with LIMIT follows the index to each endpoint's earliest delivery, compared
 * with the server's clock. The typed client would read the deliveries.
 */
import { uuid } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { type Executor, type Query, query } from "../database/sql/statement.ts";

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
export const isOwn = sql`d.organisation_id IS NOT DISTINCT FROM $1`;

/** The condition that no process has claimed the delivery `d`, or that the claim has expired. */
export const isUnclaimed = sql`(d.claimed_until IS NULL OR d.claimed_until <= now())`;

// An endpoint with an open breaker has nothing due until the breaker's time is over. The index
// gives the earliest delivery of each endpoint, after the few that are claimed. So an endpoint with
// a hundred thousand deliveries is found as fast as the others.
const isDue = sql`(w.open_until IS NULL OR w.open_until <= now() OR w.status = 'disabled')
  AND (SELECT d.due_at FROM webhook_deliveries d
    WHERE d.organisation_id = w.organisation_id AND d.endpoint_id = w.id AND d.state = 'pending'
      AND d.due_at <= now() AND ${isUnclaimed}
    ORDER BY d.endpoint_id, d.due_at LIMIT 1) IS NOT NULL`;

const endpoints = (name: string, condition: Sql) =>
  query({
    name,
    planned: "each time",
    text: sql`
      SELECT w.organisation_id, w.id AS endpoint_id
      FROM webhook_endpoints w
      WHERE ${condition} AND ${isDue}
      ORDER BY w.id
      LIMIT $2
    `,
    row: { organisationId: uuid, endpointId: uuid },
  });

const ofOrganisation = endpoints("due_endpoints", sql`w.organisation_id = $1`);

/** Up to `limit` endpoints of all organisations after `after`. It returns ids only. */
export const findAllDueEndpoints: Query<EndpointKey, [after: string | null, limit: number]> =
  endpoints("all_due_endpoints", sql`($1::uuid IS NULL OR w.id > $1)`);

/** The endpoints of one organisation. */
export async function findDueEndpoints(
  executor: Executor,
  organisationId: string,
): Promise<readonly EndpointKey[]> {
  return ofOrganisation(executor, organisationId, null);
}
