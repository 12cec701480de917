/**
 * SQL: the entries of a subscription's timeline, by the rows that `timeline.ts` finds. $1 is the
 * organisation, $2 the subscription. ADMIN-12.
 */
import { joinSql, type Sql, sql } from "../../database/sql/sql.ts";

/**
 * An entry of a row with this alias. Its instant is the database clock's. The rank orders entries
 * of one instant: a request comes before what it issued, and that before its outcome.
 */
interface Entry {
  readonly of: Sql;
  readonly id?: Sql;
  readonly at?: Sql;
  readonly rank: number;
  readonly kind: Sql;
  readonly document?: Sql;
  readonly requestedBy?: Sql;
  /** Names and values. */
  readonly detail?: Sql;
  readonly from: Sql;
}

const none = sql`NULL::uuid`;

function entry({ of, rank, kind, from, detail = sql``, ...more }: Entry): Sql {
  const { id = sql`${of}.id`, at = sql`${of}.created_at` } = more;
  const { document = none, requestedBy = none } = more;
  return sql`
    SELECT
      ${id} AS id, ${at} AS at, ${rank} AS rank, ${kind} AS kind, ${document} AS document_id,
      ${requestedBy} AS requested_by,
      jsonb_build_object(${detail}) AS detail
    FROM ${from}
  `;
}

/** The number of the document with this id. */
const numberOf = (id: Sql) => sql`(SELECT d.number FROM document d WHERE d.id = ${id})`;

/** The id, if it is a document's. */
const ifDocument = (id: Sql) => sql`(SELECT d.id FROM document d WHERE d.id = ${id})`;

/**
 * Requests: a creation, changes of units, ends and restorations. A subscription of an earlier
 * version has no time of the database's clock, so that of its first job stands for it.
 */
const requests = [
  entry({
    of: sql`s`,
    at: sql`coalesce(s.recorded_at, (SELECT min(j.created_at) FROM job j), s.created_at)`,
    rank: 0,
    kind: sql`'created'`,
    requestedBy: sql`s.requested_by`,
    detail: sql`'plan', p.name, 'organisationTime', s.created_at`,
    from: sql`subscriptions s JOIN plans p ON p.organisation_id = $1 AND p.id = s.plan_id
      WHERE s.organisation_id = $1 AND s.id = $2`,
  }),
  entry({
    of: sql`c`,
    rank: 1,
    kind: sql`'units_changed'`,
    requestedBy: sql`c.requested_by`,
    detail: sql`'fromUnits', c.from_units, 'toUnits', c.to_units, 'deferred', c.deferred,
      'invoice', ${numberOf(sql`c.invoice_id`)},
      'renewalInvoice', ${numberOf(sql`c.renewal_invoice_id`)},
      'creditNote', ${numberOf(sql`c.credit_note_id`)}`,
    from: sql`unit_changes c WHERE c.organisation_id = $1 AND c.subscription_id = $2`,
  }),
  entry({
    of: sql`t`,
    rank: 1,
    kind: sql`'end_requested'`,
    requestedBy: sql`t.requested_by`,
    detail: sql`'when', t.end_when, 'removals', (SELECT count(*) FROM removals r
      WHERE r.organisation_id = $1 AND r.termination_id = t.id)`,
    from: sql`terminations t WHERE t.organisation_id = $1 AND t.subscription_id = $2`,
  }),
  entry({
    of: sql`r`,
    rank: 1,
    kind: sql`'restored'`,
    requestedBy: sql`r.requested_by`,
    detail: sql`'request', r.request_id`,
    from: sql`restorations r WHERE r.organisation_id = $1 AND r.subscription_id = $2`,
  }),
];

/** What the requests and billing decided: deferred amounts, and documents issued or changed. */
const decisions = [
  entry({
    of: sql`l`,
    rank: 2,
    kind: sql`'deferred'`,
    document: sql`l.invoice_id`,
    detail: sql`'amount', l.amount::text, 'currency', s.currency, 'fromUnits', l.from_units,
      'toUnits', l.to_units`,
    from: sql`(
        SELECT * FROM deferred_lines w
        WHERE w.organisation_id = $1 AND w.subscription_id = $2 AND w.invoice_id IS NULL
        UNION ALL
        SELECT b.* FROM document d
          JOIN deferred_lines b ON b.organisation_id = $1 AND b.invoice_id = d.id
      ) l JOIN subscriptions s ON s.organisation_id = $1 AND s.id = $2`,
  }),
  entry({
    of: sql`d`,
    at: sql`coalesce((SELECT min(j.created_at) FROM job j
      WHERE d.id IN (j.invoice_id, j.credit_note_id)
        AND j.kind IN ('create_invoice', 'create_credit_note')), d.created_at)`,
    rank: 3,
    kind: sql`'issued'`,
    document: sql`d.id`,
    detail: sql`'type', d.type, 'amount', d.subtotal::text, 'currency', d.currency,
      'organisationTime', d.created_at`,
    from: sql`document d`,
  }),
  entry({
    of: sql`j`,
    rank: 3,
    kind: sql`'amended'`,
    document: sql`j.invoice_id`,
    detail: sql`'jobKind', j.kind`,
    from: sql`job j WHERE j.kind = 'amend_invoice'`,
  }),
];

// A refused allocation that an operator retries is abandoned and keeps its reason.
const outcome = sql`CASE WHEN j.state = 'done' THEN 'posted'
    WHEN j.state = 'refused' OR j.kind = 'allocate_credit' AND j.message IS NOT NULL THEN 'refused'
    ELSE 'abandoned' END`;

const answered = sql`'jobKind', j.kind, 'reason', j.reason, 'message', j.message`;

/** The ledger's decisions on documents, and jobs that still wait for one. */
const outcomes = [
  entry({
    of: sql`j`,
    at: sql`j.finished_at`,
    rank: 5,
    kind: outcome,
    document: sql`coalesce(j.credit_note_id, j.invoice_id)`,
    detail: sql`${answered}, 'attempts', j.attempts`,
    from: sql`job j WHERE j.finished_at IS NOT NULL AND j.kind <> 'end_subscription'
      AND NOT (j.kind = 'allocate_credit' AND j.state = 'done')`,
  }),
  entry({
    of: sql`j`,
    rank: 4,
    kind: sql`'waiting'`,
    document: sql`coalesce(j.credit_note_id, j.invoice_id)`,
    detail: sql`${answered}, 'attempts', j.attempts, 'nextAttemptAt',
      CASE WHEN j.state = 'ready' THEN j.not_before ELSE j.lease_until END`,
    from: sql`job j WHERE j.finished_at IS NULL`,
  }),
  entry({
    of: sql`a`,
    rank: 6,
    kind: sql`'credited'`,
    document: sql`a.credit_note_id`,
    detail: sql`'amount', a.amount::text, 'currency', d.currency, 'invoice', i.number,
      'reversed', a.status = 'removed'`,
    from: sql`document d
      JOIN allocations a ON a.organisation_id = $1 AND a.credit_note_id = d.id
      JOIN invoices i ON i.organisation_id = $1 AND i.id = a.invoice_id
      WHERE d.kind = 'credit_note'`,
  }),
  entry({
    of: sql`d`,
    at: sql`least(d.reported_at, (SELECT min(e.created_at) FROM event e
      WHERE e.object_id = d.id AND e.type = d.kind || '.' || d.status))`,
    rank: 7,
    kind: sql`d.status`,
    document: sql`d.id`,
    from: sql`document d WHERE d.status IN ('paid', 'voided', 'deleted')
      AND d.ledger_id IS NOT NULL AND d.reported_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM removals r
        WHERE r.organisation_id = $1 AND r.invoice_id = d.id AND r.state = 'removed')`,
  }),
];

/** The course of ends: each removal, and the end itself. */
const ends = [
  entry({
    of: sql`r`,
    id: sql`r.invoice_id`,
    at: sql`r.finished_at`,
    rank: 6,
    kind: sql`CASE r.state WHEN 'left' THEN 'kept' WHEN 'refused' THEN 'removal_refused'
      ELSE 'removed' END`,
    document: sql`r.invoice_id`,
    detail: sql`'jobId', t.id, 'jobKind', 'end_subscription', 'outcome', r.outcome,
      'reason', r.reason, 'message', r.message, 'reissued', r.reissued`,
    from: sql`terminations t
      JOIN removals r ON r.organisation_id = $1 AND r.termination_id = t.id
      WHERE t.organisation_id = $1 AND t.subscription_id = $2 AND r.finished_at IS NOT NULL`,
  }),
  entry({
    of: sql`t`,
    at: sql`coalesce(j.finished_at, t.created_at)`,
    rank: 8,
    kind: sql`CASE WHEN t.ended THEN 'ended' ELSE 'end_refused' END`,
    detail: sql`'when', t.end_when, ${answered}`,
    from: sql`terminations t LEFT JOIN job j ON j.id = t.id
      WHERE t.organisation_id = $1 AND t.subscription_id = $2
        AND (t.ended OR j.state = 'refused')`,
  }),
  entry({
    of: sql`s`,
    at: sql`s.parked_until`,
    rank: 12,
    kind: sql`'parked'`,
    detail: sql`'reason', s.parked_reason, 'attempts', s.parked_attempts,
      'nextAttemptAt', s.parked_until`,
    from: sql`subscriptions s
      WHERE s.organisation_id = $1 AND s.id = $2 AND s.parked_until IS NOT NULL`,
  }),
];

const ofDelivery = sql`'eventId', v.event_id, 'type', v.type, 'deliveryId', v.id,
  'endpointId', v.endpoint_id, 'url', v.url`;

/** Published events, each attempt to deliver them, and deliveries without success. */
const publications = [
  entry({
    of: sql`e`,
    rank: 9,
    kind: sql`'published'`,
    document: ifDocument(sql`e.object_id`),
    detail: sql`'eventId', e.id, 'type', e.type`,
    from: sql`event e`,
  }),
  entry({
    of: sql`v`,
    at: sql`a.at`,
    rank: 10,
    kind: sql`CASE WHEN a.error IS NULL THEN 'delivered' ELSE 'delivery_failed' END`,
    document: ifDocument(sql`v.object_id`),
    detail: sql`${ofDelivery}, 'attempts', a.number, 'status', a.status, 'message', a.error`,
    from: sql`delivery v
      JOIN webhook_attempts a ON a.organisation_id = $1 AND a.delivery_id = v.id`,
  }),
  entry({
    of: sql`v`,
    at: sql`coalesce(v.finished_at, (SELECT max(a.at) FROM webhook_attempts a
      WHERE a.organisation_id = $1 AND a.delivery_id = v.id), v.created_at)`,
    rank: 11,
    kind: sql`CASE v.state WHEN 'pending' THEN 'delivery_waiting' ELSE 'delivery_ended' END`,
    document: ifDocument(sql`v.object_id`),
    detail: sql`${ofDelivery}, 'attempts', v.attempts, 'status', v.last_status,
      'message', v.last_error, 'reason', v.state, 'nextAttemptAt', v.due_at`,
    from: sql`delivery v WHERE v.state <> 'delivered'`,
  }),
];

/** What operators did, except requests, which name their operator. */
const operators = entry({
  of: sql`a`,
  rank: 1,
  kind: sql`'operator'`,
  document: ifDocument(sql`a.target_id`),
  requestedBy: sql`a.token_id`,
  detail: sql`'operation', a.operation, 'operator', a.operator_name`,
  from: sql`logged a WHERE a.after IS NULL OR NOT a.after ? 'request'`,
});

/** All entries. */
export const entriesText = joinSql(
  [...requests, ...decisions, ...outcomes, ...ends, ...publications, operators],
  " UNION ALL ",
);
