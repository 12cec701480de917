/** The entries of a timeline about requests of the platform and decisions of the service. */
import { type Sql, sql } from "../../database/sql/sql.ts";

/** SQL: the number of the document with this id. */
export const numberOf = (id: Sql) => sql`(SELECT d.number FROM document d WHERE d.id = ${id})`;

/** SQL: an entry about no document. */
export const noDocument = sql`NULL::uuid AS document_id`;

/** SQL: an entry that nobody requested. */
export const noRequester = sql`NULL::uuid AS requested_by`;

/**
 * Requests: a creation, changes of units, ends and restorations. A subscription of an earlier
 * version has no time of the database's clock, so that of its first job stands for it.
 */
export const requests = sql`
  SELECT
    s.id,
    coalesce(s.recorded_at, (SELECT min(j.created_at) FROM job j), s.created_at) AS at,
    0 AS rank,
    'created' AS kind,
    ${noDocument},
    s.requested_by,
    jsonb_build_object('plan', p.name, 'organisationTime', s.created_at) AS detail
  FROM
    subscriptions s
    JOIN plans p ON p.organisation_id = $1 AND p.id = s.plan_id
  WHERE s.organisation_id = $1 AND s.id = $2
  UNION ALL
  SELECT
    c.id,
    c.created_at,
    1,
    'units_changed',
    NULL,
    c.requested_by,
    jsonb_build_object(
      'fromUnits',
      c.from_units,
      'toUnits',
      c.to_units,
      'deferred',
      c.deferred,
      'invoice',
      ${numberOf(sql`c.invoice_id`)},
      'renewalInvoice',
      ${numberOf(sql`c.renewal_invoice_id`)},
      'creditNote',
      ${numberOf(sql`c.credit_note_id`)}
    )
  FROM unit_changes c
  WHERE c.organisation_id = $1 AND c.subscription_id = $2
  UNION ALL
  SELECT
    t.id,
    t.created_at,
    1,
    'end_requested',
    NULL,
    t.requested_by,
    jsonb_build_object(
      'when',
      t.end_when,
      'removals',
      (
        SELECT count(*)
        FROM removals r
        WHERE r.organisation_id = $1 AND r.termination_id = t.id
      )
    )
  FROM terminations t
  WHERE t.organisation_id = $1 AND t.subscription_id = $2
  UNION ALL
  SELECT
    r.id,
    r.created_at,
    1,
    'restored',
    NULL,
    r.requested_by,
    jsonb_build_object('request', r.request_id)
  FROM restorations r
  WHERE r.organisation_id = $1 AND r.subscription_id = $2
`;

/** What the requests and billing decided: deferred amounts, and documents issued or changed. */
export const decisions = sql`
  SELECT
    l.id,
    l.created_at,
    2,
    'deferred',
    l.invoice_id,
    ${noRequester},
    jsonb_build_object(
      'amount',
      l.amount::text,
      'currency',
      s.currency,
      'fromUnits',
      l.from_units,
      'toUnits',
      l.to_units
    )
  FROM
    (
      SELECT *
      FROM deferred_lines w
      WHERE w.organisation_id = $1 AND w.subscription_id = $2 AND w.invoice_id IS NULL
      UNION ALL
      SELECT b.*
      FROM
        document d
        JOIN deferred_lines b ON b.organisation_id = $1 AND b.invoice_id = d.id
    ) l
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = $2
  UNION ALL
  SELECT
    d.id,
    coalesce(
      (
        SELECT min(j.created_at)
        FROM job j
        WHERE
          d.id IN (j.invoice_id, j.credit_note_id)
          AND j.kind IN ('create_invoice', 'create_credit_note')
      ),
      d.created_at
    ),
    3,
    'issued',
    d.id,
    NULL,
    jsonb_build_object(
      'type',
      d.type,
      'amount',
      d.subtotal::text,
      'currency',
      d.currency,
      'organisationTime',
      d.created_at
    )
  FROM document d
  UNION ALL
  SELECT j.id, j.created_at, 3, 'amended', j.invoice_id, NULL, jsonb_build_object('jobKind', j.kind)
  FROM job j
  WHERE j.kind = 'amend_invoice'
`;
