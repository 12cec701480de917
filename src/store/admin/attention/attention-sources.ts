/**
 * Where each kind of what waits for a person is read, as SQL. Every source follows an index of the
 * few that wait. ADMIN-20
 */
import { performable } from "../../billing/due-organisations.ts";
import { joinSql, literal, type Sql, sql } from "../../database/sql/sql.ts";
import { stands } from "../../documents/document-presence.ts";
import { currentDrift } from "../../documents/ledger-drift.ts";
import { deadReason } from "../../events/exhaust-deliveries.ts";
import { endedByLedger } from "../../ledger-connection/oauth-tokens.ts";
import { isBlocked } from "../documents/document-listing.ts";

/** What a source is limited to. `place` orders the things of an organisation, newest last. */
export interface Scope {
  readonly where: (organisation: Sql, place: Sql) => Sql;
  readonly limit: Sql;
}

/** SQL of the rows of a kind, newest first. */
export type Source = (scope: Scope) => Sql;

/** What waits, by a row `t`. */
interface Thing {
  readonly organisationId?: Sql;
  readonly place?: Sql;
  readonly objectKind: Sql;
  readonly objectId?: Sql;
  readonly label: Sql;
  readonly since: Sql;
  readonly reason: Sql;
  readonly answer?: Sql;
  /** What those that wait for the same have in common, besides the reason. */
  readonly same?: Sql;
  readonly count?: Sql;
}

function things(thing: Thing, from: Sql): Sql {
  const { objectKind, label, since, reason, objectId = sql`t.id::text` } = thing;
  const { organisationId = sql`t.organisation_id`, place = sql`t.seq` } = thing;
  const { answer = sql`NULL`, same = sql`''`, count = sql`1` } = thing;
  return sql`
    SELECT
      ${organisationId} AS organisation_id, ${place} AS place, ${objectKind} AS object_kind,
      ${objectId} AS object_id, ${label} AS label, ${since} AS since, ${reason} AS reason,
      ${answer} AS answer, ${same} AS same, ${count} AS count
    FROM ${from}
  `;
}

/** The newest of a table, and what is joined to each. */
const newest = (
  of: Thing & Readonly<Record<"table" | "condition", Sql>>,
  joins = sql``,
): Source => {
  return ({ where, limit }) =>
    things(
      of,
      sql`(SELECT t.* FROM ${of.table} t
        WHERE ${where(sql`t.organisation_id`, sql`t.seq`)} AND ${of.condition}
        ORDER BY t.organisation_id DESC, t.seq DESC LIMIT ${limit}) t ${joins}`,
    );
};

/** Those that have their place without a sequence, or by a condition on what is joined. */
const ordered = (of: Thing & Readonly<Record<"place" | "from" | "condition", Sql>>): Source => {
  const { organisationId = sql`t.organisation_id`, place } = of;
  return ({ where, limit }) =>
    things(
      of,
      sql`${of.from} WHERE ${where(organisationId, place)} AND ${of.condition}
        ORDER BY 1 DESC, 2 DESC LIMIT ${limit}`,
    );
};

/** The one place of an organisation. */
const onlyPlace = sql`0::bigint`;

/** Subscriptions of one organisation that a count ends at. */
const maxCounted = 1_000;

const overdue = ordered({
  organisationId: sql`t.id`,
  place: onlyPlace,
  objectKind: sql`'organisation'`,
  label: sql`t.name`,
  since: sql`due.since`,
  reason: sql`'overdue'`,
  count: sql`due.count`,
  from: sql`organisations t CROSS JOIN LATERAL (
    SELECT min(f.due_at) AS since, count(*)::int AS count
    FROM (SELECT s.due_at FROM subscriptions s
      WHERE s.organisation_id = t.id AND s.due_at < now() - interval '15 minutes' AND ${performable}
      ORDER BY s.organisation_id, s.due_at LIMIT ${maxCounted}) f) due`,
  condition: sql`t.test_clock IS NULL AND due.count > 0`,
});

const connections = (of: Pick<Thing, "since" | "reason" | "answer">, condition: Sql) =>
  ordered({
    ...of,
    place: onlyPlace,
    objectKind: sql`'ledger_connection'`,
    objectId: sql`t.organisation_id::text`,
    label: sql`o.name`,
    from: sql`ledger_connections t JOIN organisations o ON o.id = t.organisation_id`,
    condition,
  });

/** The tables of documents, with the column of a job that names one. */
const documents = [
  { table: sql`invoices`, kind: sql`'invoice'`, id: sql`invoice_id` },
  { table: sql`credit_notes`, kind: sql`'credit_note'`, id: sql`credit_note_id` },
] as const;

type DocumentTable = (typeof documents)[number];

const ofBoth = (sources: (of: DocumentTable) => readonly Source[]): Source => {
  return (scope) =>
    joinSql(
      documents.flatMap(sources).map((one) => one(scope)),
      " UNION ALL ",
    );
};

const documentOf = ({ table, kind }: DocumentTable) => ({
  table,
  objectKind: kind,
  label: sql`t.number`,
});

const noOpenJob = ({ id }: DocumentTable) => sql`NOT EXISTS (SELECT FROM ledger_jobs o
  WHERE o.organisation_id = t.organisation_id AND o.${id} = t.id
    AND o.state IN ('ready', 'sending', 'uncertain'))`;

const refused = ofBoth((of) => [
  newest(
    {
      ...documentOf(of),
      since: sql`coalesce(j.finished_at, t.created_at)`,
      reason: sql`coalesce(j.reason, 'unknown')`,
      answer: sql`t.sync_error`,
      same: sql`t.sync_error`,
      condition: sql`t.sync_error IS NOT NULL AND ${noOpenJob(of)}`,
    },
    sql`LEFT JOIN LATERAL (SELECT r.reason, r.finished_at FROM ledger_jobs r
      WHERE r.organisation_id = t.organisation_id AND r.${of.id} = t.id AND r.state = 'refused'
      ORDER BY r.organisation_id, r.${of.id}, r.seq DESC LIMIT 1) j ON true`,
  ),
]);

// The newest refusal of a note and an invoice stands for all of the pair.
const creditRefused = ordered({
  place: sql`t.seq`,
  objectKind: sql`'credit_note'`,
  objectId: sql`n.id::text`,
  label: sql`n.number`,
  since: sql`coalesce(t.finished_at, t.created_at)`,
  reason: sql`coalesce(t.reason, 'unknown')`,
  answer: sql`t.message`,
  same: sql`t.message`,
  from: sql`ledger_jobs t
    JOIN credit_notes n ON n.organisation_id = t.organisation_id AND n.id = t.credit_note_id
    JOIN invoices i ON i.organisation_id = t.organisation_id AND i.id = t.invoice_id`,
  condition: sql`t.kind = 'allocate_credit' AND t.state = 'refused' AND ${isBlocked(sql`n`)}
    AND NOT EXISTS (SELECT FROM ledger_jobs o
      WHERE o.organisation_id = t.organisation_id AND o.credit_note_id = n.id
        AND o.state IN ('ready', 'sending', 'uncertain'))
    AND NOT EXISTS (SELECT FROM ledger_jobs l
      WHERE l.organisation_id = t.organisation_id AND l.credit_note_id = n.id
        AND l.invoice_id = i.id AND l.kind = 'allocate_credit' AND l.state = 'refused'
        AND l.seq > t.seq)`,
});

const unknown = ordered({
  // They have the ledger's ids and no sequence. Any order that stays is one.
  place: sql`('x' || left(md5(t.kind || t.ledger_id), 15))::bit(60)::bigint`,
  objectKind: sql`'unknown_document'`,
  objectId: sql`t.ledger_id`,
  label: sql`t.number`,
  since: sql`t.found_at`,
  reason: sql`'unknown'`,
  from: sql`unknown_documents t`,
  condition: sql`t.state = 'open'`,
});

const differences = sql`(SELECT string_agg(k, ', ' ORDER BY k)
  FROM jsonb_object_keys(${currentDrift(sql`t`)}) k)`;

// Each condition is that of an index of the few that drift.
const drift = ofBoth((of) => {
  const differing = (reason: Sql, answer: Sql, condition: Sql) =>
    newest({
      ...documentOf(of),
      since: sql`coalesce(t.ledger_reported_at, t.created_at)`,
      ...{ reason, answer, same: reason },
      condition: sql`${condition} AND ${stands(sql`t`)} AND t.sync_error IS NULL
        AND ${noOpenJob(of)}`,
    });
  return [
    differing(
      sql`'amount'`,
      sql`trim_scale(t.ledger_subtotal) || ' instead of ' || trim_scale(t.subtotal)`,
      sql`t.ledger_subtotal <> t.subtotal`,
    ),
    differing(
      sql`'members'`,
      differences,
      sql`t.ledger_drift IS NOT NULL AND NOT coalesce(t.ledger_subtotal <> t.subtotal, false)
        AND ${currentDrift(sql`t`)} IS NOT NULL`,
    ),
  ];
});

/** The source of each kind, the most severe first. */
export const attentionSources = {
  renewals_overdue: overdue,
  ledger_disconnected: connections(
    {
      since: sql`coalesce(t.disconnected_at, t.created_at)`,
      reason: sql`CASE WHEN t.disconnected_reason = ${literal(endedByLedger)} THEN 'consent_expired'
        ELSE 'disconnected' END`,
      answer: sql`t.disconnected_reason`,
    },
    sql`t.disconnected_at IS NOT NULL`,
  ),
  // Each refusal pauses the connection for a minute.
  ledger_unauthorised: connections(
    {
      since: sql`t.paused_until - interval '1 minute'`,
      reason: sql`coalesce(t.paused_reason, '')`,
    },
    sql`t.paused_reason IN ('expired', 'disconnected', 'insufficient_scope')
      AND t.paused_until > now() - interval '1 minute' AND t.disconnected_at IS NULL`,
  ),
  subscription_parked: newest(
    {
      table: sql`subscriptions`,
      objectKind: sql`'subscription'`,
      label: sql`concat_ws(' · ', c.name, nullif(t.label, ''))`,
      since: sql`coalesce(t.due_at, t.parked_until)`,
      reason: sql`'billing_failed'`,
      answer: sql`t.parked_reason`,
      same: sql`t.parked_reason`,
      condition: sql`t.parked_until IS NOT NULL`,
    },
    sql`JOIN customers c ON c.organisation_id = t.organisation_id AND c.id = t.customer_id`,
  ),
  document_refused: refused,
  credit_refused: creditRefused,
  unknown_document: unknown,
  document_drift: drift,
  endpoint_disabled: newest({
    table: sql`webhook_endpoints`,
    objectKind: sql`'webhook_endpoint'`,
    label: sql`t.url`,
    since: sql`coalesce(t.disabled_at, t.created_at)`,
    reason: sql`'no_success'`,
    answer: sql`t.disabled_reason`,
    condition: sql`t.status = 'disabled' AND t.disabled_reason = ${literal(deadReason)}`,
  }),
  delivery_failed: newest(
    {
      table: sql`webhook_deliveries`,
      objectKind: sql`'webhook_delivery'`,
      label: sql`e.type || ' → ' || w.url`,
      since: sql`coalesce(t.finished_at, t.created_at)`,
      reason: sql`CASE WHEN t.last_status IS NULL THEN 'no_answer'
        ELSE 'http_' || t.last_status END`,
      answer: sql`t.last_error`,
      same: sql`w.id || coalesce(t.last_error, '')`,
      condition: sql`t.state = 'exhausted'`,
    },
    sql`JOIN events e ON e.organisation_id = t.organisation_id AND e.id = t.event_id
      JOIN webhook_endpoints w ON w.organisation_id = t.organisation_id AND w.id = t.endpoint_id`,
  ),
  clock_stopped: ordered({
    place: onlyPlace,
    objectKind: sql`'organisation'`,
    objectId: sql`t.organisation_id::text`,
    label: sql`o.name`,
    since: sql`t.moved_at`,
    reason: sql`'clock_stopped'`,
    from: sql`clock_advances t JOIN organisations o ON o.id = t.organisation_id`,
    condition: sql`t.finished_at IS NULL AND t.moved_at < now() - interval '15 minutes'`,
  }),
} as const satisfies Readonly<Record<string, Source>>;
