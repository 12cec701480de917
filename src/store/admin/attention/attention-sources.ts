/**
 * Where each kind of what waits for a person is read, as SQL. Every source follows an index of the
 * few that wait. ADMIN-20
 */
import { performable } from "../../billing/due-organisations.ts";
import { literal, type Sql, sql } from "../../database/sql/sql.ts";
import { deadReason } from "../../events/exhaust-deliveries.ts";
import { endedByLedger } from "../../ledger-connection/oauth-tokens.ts";
import { creditRefused, drift, refused, unknown } from "./document-sources.ts";
import { newest, type Source } from "./source.ts";

/** Subscriptions of one organisation that a count ends at. */
const maxCounted = 1_000;

const overdue: Source = ({ where, limit }) => sql`
  SELECT
    t.id AS organisation_id,
    0::bigint AS place,
    'organisation' AS object_kind,
    t.id::text AS object_id,
    t.name AS label,
    due.since,
    'overdue' AS reason,
    NULL AS answer,
    '' AS same,
    due.count AS count
  FROM
    organisations t
    CROSS JOIN LATERAL (
      SELECT min(f.due_at) AS since, count(*)::int AS count
      FROM
        (
          SELECT s.due_at
          FROM subscriptions s
          WHERE
            s.organisation_id = t.id
            AND s.due_at < now() - interval '15 minutes'
            AND ${performable}
          ORDER BY s.organisation_id, s.due_at
          LIMIT ${maxCounted}
        ) f
    ) due
  WHERE ${where(sql`t.id`, sql`0`)} AND t.test_clock IS NULL AND due.count > 0
  ORDER BY t.id DESC
  LIMIT ${limit}
`;

const connections = (condition: Sql, since: Sql, reason: Sql, answer: Sql): Source => {
  return ({ where, limit }) => sql`
    SELECT
      t.organisation_id,
      0::bigint AS place,
      'ledger_connection' AS object_kind,
      t.organisation_id::text AS object_id,
      o.name AS label,
      ${since} AS since,
      ${reason} AS reason,
      ${answer} AS answer,
      '' AS same,
      1 AS count
    FROM
      ledger_connections t
      JOIN organisations o ON o.id = t.organisation_id
    WHERE ${where(sql`t.organisation_id`, sql`0`)} AND ${condition}
    ORDER BY t.organisation_id DESC
    LIMIT ${limit}
  `;
};

const parked: Source = (scope) => sql`
  SELECT
    t.organisation_id,
    t.seq AS place,
    'subscription' AS object_kind,
    t.id::text AS object_id,
    concat_ws(' · ', c.name, nullif(t.label, '')) AS label,
    coalesce(t.due_at, t.parked_until) AS since,
    'billing_failed' AS reason,
    t.parked_reason AS answer,
    t.parked_reason AS same,
    1 AS count
  FROM
    (${newest(scope, sql`subscriptions`, sql`t.parked_until IS NOT NULL`)}) t
    JOIN customers c ON c.organisation_id = t.organisation_id AND c.id = t.customer_id
`;

const disabled: Source = (scope) => sql`
  SELECT
    t.organisation_id,
    t.seq AS place,
    'webhook_endpoint' AS object_kind,
    t.id::text AS object_id,
    t.url AS label,
    coalesce(t.disabled_at, t.created_at) AS since,
    'no_success' AS reason,
    t.disabled_reason AS answer,
    '' AS same,
    1 AS count
  FROM
    (
      ${newest(
        scope,
        sql`webhook_endpoints`,
        sql`t.status = 'disabled' AND t.disabled_reason = ${literal(deadReason)}`,
      )}
    ) t
`;

const exhausted: Source = (scope) => sql`
  SELECT
    t.organisation_id,
    t.seq AS place,
    'webhook_delivery' AS object_kind,
    t.id::text AS object_id,
    e.type || ' → ' || w.url AS label,
    coalesce(t.finished_at, t.created_at) AS since,
    CASE
      WHEN t.last_status IS NULL THEN 'no_answer'
      ELSE 'http_' || t.last_status
    END AS reason,
    t.last_error AS answer,
    w.id || coalesce(t.last_error, '') AS same,
    1 AS count
  FROM
    (${newest(scope, sql`webhook_deliveries`, sql`t.state = 'exhausted'`)}) t
    JOIN events e ON e.organisation_id = t.organisation_id AND e.id = t.event_id
    JOIN webhook_endpoints w ON w.organisation_id = t.organisation_id AND w.id = t.endpoint_id
`;

const stopped: Source = ({ where, limit }) => sql`
  SELECT
    t.organisation_id,
    0::bigint AS place,
    'organisation' AS object_kind,
    t.organisation_id::text AS object_id,
    o.name AS label,
    t.moved_at AS since,
    'clock_stopped' AS reason,
    NULL AS answer,
    '' AS same,
    1 AS count
  FROM
    clock_advances t
    JOIN organisations o ON o.id = t.organisation_id
  WHERE
    ${where(sql`t.organisation_id`, sql`0`)}
    AND t.finished_at IS NULL
    AND t.moved_at < now() - interval '15 minutes'
  ORDER BY t.organisation_id DESC
  LIMIT ${limit}
`;

/** The source of each kind, the most severe first. */
export const attentionSources = {
  renewals_overdue: overdue,
  ledger_disconnected: connections(
    sql`t.disconnected_at IS NOT NULL`,
    sql`coalesce(t.disconnected_at, t.created_at)`,
    sql`CASE WHEN t.disconnected_reason = ${literal(endedByLedger)} THEN 'consent_expired'
      ELSE 'disconnected' END`,
    sql`t.disconnected_reason`,
  ),
  // Each refusal pauses the connection for a minute.
  ledger_unauthorised: connections(
    sql`t.paused_reason IN ('expired', 'disconnected', 'insufficient_scope')
      AND t.paused_until > now() - interval '1 minute' AND t.disconnected_at IS NULL`,
    sql`t.paused_until - interval '1 minute'`,
    sql`coalesce(t.paused_reason, '')`,
    sql`NULL`,
  ),
  subscription_parked: parked,
  document_refused: refused,
  credit_refused: creditRefused,
  unknown_document: unknown,
  document_drift: drift,
  endpoint_disabled: disabled,
  delivery_failed: exhausted,
  clock_stopped: stopped,
} as const satisfies Readonly<Record<string, Source>>;
