/** Documents that wait for a person, as SQL. ADMIN-20 */
import { type Sql, sql } from "../../database/sql/sql.ts";
import { stands } from "../../documents/document-presence.ts";
import { currentDrift } from "../../documents/ledger-drift.ts";
import { isBlocked } from "../documents/document-listing.ts";
import { newest, type Source } from "./source.ts";

/** The tables of documents, with the column of a job that names one. */
const documents = [
  { table: sql`invoices`, kind: sql`'invoice'`, id: sql`invoice_id` },
  { table: sql`credit_notes`, kind: sql`'credit_note'`, id: sql`credit_note_id` },
] as const;

type DocumentTable = (typeof documents)[number];

const ofBoth = (select: (of: DocumentTable) => Sql) =>
  sql`
    SELECT * FROM (${select(documents[0])}) i
    UNION ALL
    SELECT * FROM (${select(documents[1])}) n
  `;

const noOpenJob = ({ id }: DocumentTable) => sql`NOT EXISTS (SELECT FROM ledger_jobs o
  WHERE o.organisation_id = t.organisation_id AND o.${id} = t.id
    AND o.state IN ('ready', 'sending', 'uncertain'))`;

/** Documents that were refused. */
export const refused: Source = (scope) =>
  ofBoth(
    (of) => sql`
      SELECT
        t.organisation_id,
        t.seq AS place,
        ${of.kind} AS object_kind,
        t.id::text AS object_id,
        t.number AS label,
        coalesce(j.finished_at, t.created_at) AS since,
        coalesce(j.reason, 'unknown') AS reason,
        t.sync_error AS answer,
        t.sync_error AS same,
        1 AS count
      FROM
        (${newest(scope, of.table, sql`t.sync_error IS NOT NULL AND ${noOpenJob(of)}`)}) t
        LEFT JOIN LATERAL (
          SELECT r.reason, r.finished_at
          FROM ledger_jobs r
          WHERE r.organisation_id = t.organisation_id AND r.${of.id} = t.id AND r.state = 'refused'
          ORDER BY r.organisation_id, r.${of.id}, r.seq DESC
          LIMIT 1
        ) j
          ON true
    `,
  );

/**
 * Credit that could not be applied. The newest refusal of a note and an invoice stands for all of
 * the pair.
 */
export const creditRefused: Source = ({ where, limit }) => sql`
  SELECT
    t.organisation_id,
    t.seq AS place,
    'credit_note' AS object_kind,
    n.id::text AS object_id,
    n.number AS label,
    coalesce(t.finished_at, t.created_at) AS since,
    coalesce(t.reason, 'unknown') AS reason,
    t.message AS answer,
    t.message AS same,
    1 AS count
  FROM
    ledger_jobs t
    JOIN credit_notes n ON n.organisation_id = t.organisation_id AND n.id = t.credit_note_id
    JOIN invoices i ON i.organisation_id = t.organisation_id AND i.id = t.invoice_id
  WHERE
    ${where(sql`t.organisation_id`, sql`t.seq`)}
    AND t.kind = 'allocate_credit'
    AND t.state = 'refused'
    AND ${isBlocked(sql`n`)}
    AND NOT EXISTS (
      SELECT
      FROM ledger_jobs o
      WHERE
        o.organisation_id = t.organisation_id
        AND o.credit_note_id = n.id
        AND o.state IN ('ready', 'sending', 'uncertain')
    )
    AND NOT EXISTS (
      SELECT
      FROM ledger_jobs l
      WHERE
        l.organisation_id = t.organisation_id
        AND l.credit_note_id = n.id
        AND l.invoice_id = i.id
        AND l.kind = 'allocate_credit'
        AND l.state = 'refused'
        AND l.seq > t.seq
    )
  ORDER BY t.organisation_id DESC, t.seq DESC
  LIMIT ${limit}
`;

// They have the ledger's ids and no sequence. Any order that stays is one.
const unknownPlace = sql`('x' || left(md5(t.kind || t.ledger_id), 15))::bit(60)::bigint`;

/** Documents of the ledger that are unknown here. */
export const unknown: Source = ({ where, limit }) => sql`
  SELECT
    t.organisation_id,
    ${unknownPlace} AS place,
    'unknown_document' AS object_kind,
    t.ledger_id AS object_id,
    t.number AS label,
    t.found_at AS since,
    'unknown' AS reason,
    NULL AS answer,
    '' AS same,
    1 AS count
  FROM unknown_documents t
  WHERE ${where(sql`t.organisation_id`, unknownPlace)} AND t.state = 'open'
  ORDER BY 1 DESC, 2 DESC
  LIMIT ${limit}
`;

const isOtherAmount = sql`coalesce(t.ledger_subtotal <> t.subtotal, false)`;

const differences = sql`(SELECT string_agg(k, ', ' ORDER BY k)
  FROM jsonb_object_keys(${currentDrift(sql`t`)}) k)`;

/**
 * Documents that differ in the ledger. Each condition is that of an index of the few that drift.
 */
export const drift: Source = (scope) => {
  const select = (of: DocumentTable, condition: Sql, reason: Sql, answer: Sql) => sql`
    SELECT
      t.organisation_id,
      t.seq AS place,
      ${of.kind} AS object_kind,
      t.id::text AS object_id,
      t.number AS label,
      coalesce(t.ledger_reported_at, t.created_at) AS since,
      ${reason} AS reason,
      ${answer} AS answer,
      ${reason} AS same,
      1 AS count
    FROM
      (
        ${newest(
          scope,
          of.table,
          sql`${condition} AND ${stands(sql`t`)} AND t.sync_error IS NULL AND ${noOpenJob(of)}`,
        )}
      ) t
  `;
  const ofKind = (of: DocumentTable) =>
    sql`
      SELECT *
      FROM
        (
          ${select(
            of,
            sql`t.ledger_subtotal <> t.subtotal`,
            sql`'amount'`,
            sql`trim_scale(t.ledger_subtotal) || ' instead of ' || trim_scale(t.subtotal)`,
          )}
        ) a
      UNION ALL
      SELECT *
      FROM
        (
          ${select(
            of,
            sql`t.ledger_drift IS NOT NULL AND NOT ${isOtherAmount}
      AND ${currentDrift(sql`t`)} IS NOT NULL`,
            sql`'members'`,
            differences,
          )}
        ) m
    `;
  return ofBoth(ofKind);
};
