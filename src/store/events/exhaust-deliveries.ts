/** Gives up deliveries whose time is over. */
import { columns } from "../../gen/columns.ts";
import { arrayOf, int, pick, type RowOf, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { type EndpointKey, isUnclaimed } from "./due-endpoints.ts";

/** Limits of the time for attempts, in milliseconds. */
export interface EndTimes {
  /** How long after the first due time attempts end. */
  readonly wholeMs: number;
  /**
   * A gap in which no worker was there: neither an attempt nor an open breaker explains why a
   * delivery was not sent. After it the time starts again, unless the delivery is older than 30
   * days.
   */
  readonly awayMs: number;
}

/** What happened to deliveries whose time was over. */
export type EndOfTrying = RowOf<typeof endOfTryingRow>;

const endOfTryingRow = {
  exhausted: int,
  /** Deliveries whose time started again. */
  restarted: arrayOf(text),
  /** Why the endpoint was disabled with them. Null if it was not. */
  disabledReason: columns.webhookEndpoint.disabledReason,
};

/** After this time with only failures an endpoint is disabled. */
const deadAfter = sql`interval '5 days'`;

/** The reason that the endpoint's owner reads. */
export const deadReason = "It took nothing for five days";

/** Older deliveries do not start again, so that each ends even if it can never be sent. */
const restartWithin = sql`interval '30 days'`;

/** SQL: the pending deliveries `d` of the endpoint. */
export const pending = sql`FROM webhook_deliveries d
  WHERE d.organisation_id = $1 AND d.endpoint_id = $2 AND d.state = 'pending'`;

const findOverdueDeliveries = query({
  name: "find_overdue_deliveries",
  text: sql`SELECT d.id ${pending} AND d.due_at <= now() AND ${isUnclaimed}
      AND d.began_at <= now() - $3 * interval '1 millisecond' LIMIT $4`,
  row: pick(columns.webhookDelivery, "id"),
});

/** Finds deliveries that are due and whose time for attempts is over. */
export async function findOverdue(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  wholeMs: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await findOverdueDeliveries(executor, organisationId, endpointId, wholeMs, limit);
  return rows.map(({ id }) => id);
}

// An open breaker was set by the last attempt at the endpoint, of any delivery. The endpoint is
// locked first, as everywhere.
const exhaustDeliveries = query({
  name: "exhaust_deliveries",
  text: sql`
    WITH
      endpoint AS MATERIALIZED (
        SELECT
          w.id,
          coalesce(w.open_until > now() - $5 * interval '1 millisecond', false) AS is_held,
          w.status = 'enabled' AND w.failing_since <= now() - ${deadAfter} AS is_dead
        FROM webhook_endpoints w
        WHERE w.organisation_id = $1 AND w.id = $2
        FOR NO KEY UPDATE
      ),
      over AS MATERIALIZED (
        SELECT
          d.id,
          NOT w.is_held
          AND d.created_at > now() - ${restartWithin}
          AND NOT EXISTS (
            SELECT
            FROM webhook_attempts t
            WHERE
              t.organisation_id = $1
              AND t.delivery_id = d.id
              AND t.at >= greatest(d.began_at, now() - $5 * interval '1 millisecond')
          ) AS restarts
        FROM
          webhook_deliveries d
          JOIN endpoint w ON w.id = d.endpoint_id
        WHERE
          d.organisation_id = $1
          AND d.id = ANY ($3)
          AND d.state = 'pending'
          AND d.began_at <= now() - $4 * interval '1 millisecond'
        ORDER BY d.id
        FOR NO KEY UPDATE OF d
      ),
      exhausted AS (
        UPDATE webhook_deliveries d
        SET
          state = 'exhausted',
          due_at = NULL,
          claimed_until = NULL,
          finished_at = now()
        FROM over o
        WHERE d.organisation_id = $1 AND d.id = o.id AND NOT o.restarts
        RETURNING d.id
      ),
      restarted AS (
        UPDATE webhook_deliveries d
        SET began_at = now()
        FROM over o
        WHERE d.organisation_id = $1 AND d.id = o.id AND o.restarts
        RETURNING d.id
      ),
      disabled AS (
        UPDATE webhook_endpoints w
        SET
          status = 'disabled',
          disabled_at = now(),
          disabled_reason = $6
        FROM endpoint e
        WHERE
          w.organisation_id = $1
          AND w.id = e.id
          AND e.is_dead
          AND EXISTS (SELECT FROM exhausted)
        RETURNING w.disabled_reason
      )
    SELECT
      (SELECT count(*)::int FROM exhausted) AS exhausted,
      ARRAY(SELECT id::text FROM restarted) AS restarted,
      (SELECT disabled_reason FROM disabled) AS disabled_reason
  `,
  row: endOfTryingRow,
});

/** Ends attempts at deliveries, or begins them again after a gap without a worker. */
export async function exhaust(
  executor: Executor,
  { organisationId, endpointId }: EndpointKey,
  deliveryIds: readonly string[],
  { wholeMs, awayMs }: EndTimes,
): Promise<EndOfTrying> {
  const values = [organisationId, endpointId, deliveryIds, wholeMs, awayMs, deadReason];
  const [row] = await exhaustDeliveries(executor, ...values);
  return row ?? { exhausted: 0, restarted: [], disabledReason: null };
}
