/**
 * SQL: the entries of a subscription's timeline, by the facts of `timeline-facts.ts`. Each entry
 * has an id, an instant of the database's clock, and a rank that orders entries of one instant: a
 * request comes before what it issued, and that before its outcome. $1 is the organisation, $2 the
 * subscription. ADMIN-12.
 */
import { joinSql, sql } from "../../database/sql/sql.ts";
import { decisions, requests } from "./requests-and-decisions.ts";

// A refused allocation that an operator retries is abandoned and keeps its reason.
const outcome = sql`CASE WHEN j.state = 'done' THEN 'posted'
    WHEN j.state = 'refused' OR j.kind = 'allocate_credit' AND j.message IS NOT NULL THEN 'refused'
    ELSE 'abandoned' END`;

/** The ledger's decisions on documents, and jobs that still wait for one. */
const outcomes = sql`
  SELECT
    j.id,
    j.finished_at,
    5,
    ${outcome},
    coalesce(j.credit_note_id, j.invoice_id),
    NULL::uuid,
    jsonb_build_object(
      'jobKind',
      j.kind,
      'reason',
      j.reason,
      'message',
      j.message,
      'attempts',
      j.attempts
    )
  FROM job j
  WHERE
    j.finished_at IS NOT NULL
    AND j.kind <> 'end_subscription'
    AND NOT (j.kind = 'allocate_credit' AND j.state = 'done')
  UNION ALL
  SELECT
    j.id,
    j.created_at,
    4,
    'waiting',
    coalesce(j.credit_note_id, j.invoice_id),
    NULL,
    jsonb_build_object(
      'jobKind',
      j.kind,
      'reason',
      j.reason,
      'message',
      j.message,
      'attempts',
      j.attempts,
      'nextAttemptAt',
      CASE
        WHEN j.state = 'ready' THEN j.not_before
        ELSE j.lease_until
      END
    )
  FROM job j
  WHERE j.finished_at IS NULL
  UNION ALL
  SELECT
    a.id,
    a.created_at,
    6,
    'credited',
    a.credit_note_id,
    NULL,
    jsonb_build_object(
      'amount',
      a.amount::text,
      'currency',
      d.currency,
      'invoice',
      i.number,
      'reversed',
      a.status = 'removed'
    )
  FROM
    document d
    JOIN allocations a ON a.organisation_id = $1 AND a.credit_note_id = d.id
    JOIN invoices i ON i.organisation_id = $1 AND i.id = a.invoice_id
  WHERE d.kind = 'credit_note'
  UNION ALL
  SELECT
    d.id,
    least(
      d.reported_at,
      (
        SELECT min(e.created_at)
        FROM event e
        WHERE e.object_id = d.id AND e.type = d.kind || '.' || d.status
      )
    ),
    7,
    d.status,
    d.id,
    NULL,
    '{}'
  FROM document d
  WHERE
    d.status IN ('paid', 'voided', 'deleted')
    AND d.ledger_id IS NOT NULL
    AND d.reported_at IS NOT NULL
    AND NOT EXISTS (
      SELECT 1
      FROM removals r
      WHERE r.organisation_id = $1 AND r.invoice_id = d.id AND r.state = 'removed'
    )
`;

/** The course of ends: each removal, and the end itself. */
const ends = sql`
  SELECT
    r.invoice_id,
    r.finished_at,
    6,
    CASE r.state
      WHEN 'left' THEN 'kept'
      WHEN 'refused' THEN 'removal_refused'
      ELSE 'removed'
    END,
    r.invoice_id,
    NULL::uuid,
    jsonb_build_object(
      'jobId',
      t.id,
      'jobKind',
      'end_subscription',
      'outcome',
      r.outcome,
      'reason',
      r.reason,
      'message',
      r.message,
      'reissued',
      r.reissued
    )
  FROM
    terminations t
    JOIN removals r ON r.organisation_id = $1 AND r.termination_id = t.id
  WHERE t.organisation_id = $1 AND t.subscription_id = $2 AND r.finished_at IS NOT NULL
  UNION ALL
  SELECT
    t.id,
    coalesce(j.finished_at, t.created_at),
    8,
    CASE
      WHEN t.ended THEN 'ended'
      ELSE 'end_refused'
    END,
    NULL,
    NULL,
    jsonb_build_object(
      'when',
      t.end_when,
      'jobKind',
      j.kind,
      'reason',
      j.reason,
      'message',
      j.message
    )
  FROM
    terminations t
    LEFT JOIN job j ON j.id = t.id
  WHERE t.organisation_id = $1 AND t.subscription_id = $2 AND (t.ended OR j.state = 'refused')
  UNION ALL
  SELECT
    s.id,
    s.parked_until,
    12,
    'parked',
    NULL,
    NULL,
    jsonb_build_object(
      'reason',
      s.parked_reason,
      'attempts',
      s.parked_attempts,
      'nextAttemptAt',
      s.parked_until
    )
  FROM subscriptions s
  WHERE s.organisation_id = $1 AND s.id = $2 AND s.parked_until IS NOT NULL
`;

const ofDelivery = sql`'eventId', v.event_id, 'type', v.type, 'deliveryId', v.id,
  'endpointId', v.endpoint_id, 'url', v.url`;

/** Published events, each attempt to deliver them, and deliveries without success. */
const publications = sql`
  SELECT
    e.id,
    e.created_at,
    9,
    'published',
    (SELECT d.id FROM document d WHERE d.id = e.object_id),
    NULL::uuid,
    jsonb_build_object('eventId', e.id, 'type', e.type)
  FROM event e
  UNION ALL
  SELECT
    v.id,
    a.at,
    10,
    CASE
      WHEN a.error IS NULL THEN 'delivered'
      ELSE 'delivery_failed'
    END,
    (SELECT d.id FROM document d WHERE d.id = v.object_id),
    NULL,
    jsonb_build_object(${ofDelivery}, 'attempts', a.number, 'status', a.status, 'message', a.error)
  FROM
    delivery v
    JOIN webhook_attempts a ON a.organisation_id = $1 AND a.delivery_id = v.id
  UNION ALL
  SELECT
    v.id,
    coalesce(
      v.finished_at,
      (
        SELECT max(a.at)
        FROM webhook_attempts a
        WHERE a.organisation_id = $1 AND a.delivery_id = v.id
      ),
      v.created_at
    ),
    11,
    CASE v.state
      WHEN 'pending' THEN 'delivery_waiting'
      ELSE 'delivery_ended'
    END,
    (SELECT d.id FROM document d WHERE d.id = v.object_id),
    NULL,
    jsonb_build_object(
      ${ofDelivery},
      'attempts',
      v.attempts,
      'status',
      v.last_status,
      'message',
      v.last_error,
      'reason',
      v.state,
      'nextAttemptAt',
      v.due_at
    )
  FROM delivery v
  WHERE v.state <> 'delivered'
`;

/** What operators did, except requests, which name their operator. */
const operators = sql`
  SELECT
    a.id,
    a.created_at,
    1,
    'operator',
    (SELECT d.id FROM document d WHERE d.id = a.target_id),
    a.token_id,
    jsonb_build_object('operation', a.operation, 'operator', a.operator_name)
  FROM logged a
  WHERE a.after IS NULL OR NOT a.after ? 'request'
`;

/** All entries. */
export const entriesText = joinSql(
  [requests, decisions, outcomes, ends, publications, operators],
  " UNION ALL ",
);
