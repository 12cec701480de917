/**
 * Counts documents and endpoints. SQL: counts over the indexes of what is open. What is finished is
 * not counted, because it grows for ever.
 */
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { instant, int, pick } from "../database/sql/columns.ts";
import { countUpTo, type Sql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { type DocumentKind, documentKinds } from "../documents/document-kinds.ts";
import { isNeverThere } from "../documents/document-presence.ts";
import { driftIds } from "../documents/ledger-drift.ts";
import type { DocumentFigures, EndpointFigures } from "./figures.ts";

/** A statement that counts a million rows takes a second. */
const timeLimitMs = 30_000;

/** Deliveries that a count ends at. */
const maxCounted = 1_000;

const open = sql`state IN ('ready', 'sending', 'uncertain')`;

type Kind = (typeof documentKinds)[DocumentKind];

const hasOpenJob = (id: Sql) => sql`EXISTS (SELECT FROM ledger_jobs o
  WHERE o.organisation_id = $1 AND o.${id} = d.id AND o.${open})`;

const failed = ({ table, id }: Kind) => sql`(SELECT count(*) FROM ${table} d
  WHERE d.organisation_id = $1 AND d.sync_error IS NOT NULL AND NOT ${hasOpenJob(id)})`;

const drifting = ({ table, id }: Kind) => sql`(SELECT count(*)
  FROM (${driftIds(table)}) f JOIN ${table} d ON d.organisation_id = $1 AND d.id = f.id
  WHERE d.sync_error IS NULL AND NOT ${hasOpenJob(id)})`;

const { invoice, credit_note: creditNote } = documentKinds;

const countStates = query({
  name: "overview_documents",
  planned: "each time",
  timeLimitMs,
  text: sql`
    SELECT
      (${failed(invoice)} + ${failed(creditNote)})::int AS failed,
      (
        SELECT count(DISTINCT coalesce(o.credit_note_id, o.invoice_id))::int
        FROM ledger_jobs o
        WHERE
          o.organisation_id = $1
          AND o.${open}
          AND o.kind IN ('create_invoice', 'create_credit_note', 'amend_invoice', 'allocate_credit')
      ) AS waiting,
      (${drifting(invoice)} + ${drifting(creditNote)})::int AS drift,
      absent.count, absent.oldest
    FROM
      (
        SELECT count(*)::int AS count, min(created_at) AS oldest
        FROM
          (
            SELECT d.created_at
            FROM invoices d
            WHERE d.organisation_id = $1 AND d.status = 'scheduled'
            UNION ALL
            SELECT d.created_at
            FROM invoices d
            WHERE d.organisation_id = $1 AND d.sync_error IS NOT NULL AND ${isNeverThere(sql`d`)}
            UNION ALL
            SELECT d.created_at
            FROM
              ledger_jobs o
              JOIN credit_notes d ON d.organisation_id = $1 AND d.id = o.credit_note_id
            WHERE o.organisation_id = $1 AND o.kind = 'create_credit_note' AND o.${open}
            UNION ALL
            SELECT d.created_at
            FROM credit_notes d
            WHERE
              d.organisation_id = $1
              AND d.sync_error IS NOT NULL
              AND ${isNeverThere(sql`d`, sql`ledger_credit_note_id`)}
          ) a
      ) absent
  `,
  row: { failed: int, waiting: int, drift: int, count: int, oldest: instant.orNull() },
});

const countStatuses = query({
  name: "overview_invoice_statuses",
  planned: "each time",
  timeLimitMs,
  text: sql`
    SELECT i.status, count(*)::int AS count
    FROM invoices i
    WHERE
      i.organisation_id = $1
      AND i.status IN ('scheduled', 'draft', 'awaiting_approval', 'approved')
    GROUP BY i.status
  `,
  row: { status: columns.invoice.status.as<DocumentStatus>(), count: int },
});

/** Counts documents. */
export async function countDocuments(pool: Pool, organisationId: string): Promise<DocumentFigures> {
  const [row] = await countStates(pool, organisationId);
  if (row === undefined) throw new Error("an aggregate gave no row");
  const { count, oldest, ...states } = row;
  const statuses = await countStatuses(pool, organisationId);
  return {
    states,
    statuses: Object.fromEntries(statuses.map((one) => [one.status, one.count])),
    notInLedger: { count, oldest: oldest?.toISOString() ?? null },
  };
}

const isOfLastDay = sql`d.finished_at > now() - interval '24 hours'`;

/** SQL: how many deliveries endpoint `w` has in this state. */
const deliveries = (state: Sql) =>
  countUpTo(
    maxCounted,
    sql`webhook_deliveries d WHERE d.organisation_id = $1 AND d.endpoint_id = w.id AND ${state}`,
  );

const readEndpoints = query({
  name: "overview_endpoints",
  planned: "each time",
  timeLimitMs,
  text: sql`
    SELECT
      w.id, w.url, w.status, w.failing_since,
      ${deliveries(sql`d.state = 'exhausted' AND ${isOfLastDay}`)} AS failed,
      ${deliveries(sql`d.state = 'pending'`)} AS waiting
    FROM webhook_endpoints w
    WHERE w.organisation_id = $1
    ORDER BY w.seq
  `,
  row: {
    ...pick(columns.webhookEndpoint, "id", "url", "status", "failingSince"),
    failed: int,
    waiting: int,
  },
});

/** Counts the deliveries of each endpoint. */
export async function countDeliveries(
  pool: Pool,
  organisationId: string,
): Promise<readonly EndpointFigures[]> {
  const rows = await readEndpoints(pool, organisationId);
  return rows.map(({ failingSince, ...endpoint }) => ({
    ...endpoint,
    failingSince: failingSince?.toISOString() ?? null,
  }));
}
