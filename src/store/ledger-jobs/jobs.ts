/**
 * Ledger jobs for the posting workflow. Jobs are leased, sent, and recorded together with their
 * documents. States: `ready` to be sent, `sending` under a lease, `uncertain` after a lost answer.
 * An uncertain job is looked up before anything is sent again (POSTING-2). `done`, `refused` and
 * `abandoned` are final. SQL, because it reschedules many jobs at once with SKIP LOCKED, and
 * compares instants by the database's clock.
 */
import { msUntil } from "../database/clock.ts";
import { plannedOnce } from "../database/planned-once.ts";
import type { Pool } from "../database/pool.ts";
import { dueAt, type OpenJobs } from "./job-lease.ts";
import { outcomesChannel } from "./job-notifications.ts";

/** What a job asks the ledger to do. */
export type JobKind = "create_invoice" | "create_credit_note" | "create_contact" | "import_contact";

/**
 * The kinds that the posting workflow handles. Amendments, allocations and ends have their own
 * workflows (POSTING-7).
 */
export const postingKinds: readonly JobKind[] = [
  "create_invoice",
  "create_contact",
  "import_contact",
  "create_credit_note",
];

/**
 * Reschedules every ready job of an organisation whose connection is paused, and notifies waiting
 * callers.
 */
export async function reschedule(
  pool: Pool,
  organisationId: string,
  pauseMs: number,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "reschedule_jobs",
    // A row that is locked at this moment is skipped. Sending it will meet the pause.
    text: `WITH until AS (SELECT now() + $2 * interval '1 millisecond' AS instant), waiting AS (
        SELECT o.id FROM ledger_jobs o, until
        WHERE o.organisation_id = $1 AND o.state = 'ready' AND o.not_before < until.instant
        FOR NO KEY UPDATE OF o SKIP LOCKED
      ), job AS (
        UPDATE ledger_jobs o SET not_before = until.instant, reason = $3 FROM until, waiting
        WHERE o.organisation_id = $1 AND o.id = waiting.id RETURNING o.id
      ), parts AS (SELECT id, (row_number() OVER () - 1) / 100 AS part FROM job)
      SELECT pg_notify('${outcomesChannel}', ids)
      FROM (SELECT string_agg(id::text, ',') AS ids FROM parts GROUP BY part) p`,
    values: [organisationId, pauseMs, reason],
  });
}

/** Open jobs are counted up to this number, twice what makes several batches run concurrently. */
const maxCounted = 200;

const openText = `FROM ledger_jobs t WHERE t.organisation_id = $1
  AND t.state IN ('ready', 'sending', 'uncertain') AND t.kind = ANY ($2)`;

/** SQL: in the order of their index, so that a plan for any values reads no more than the limit. */
const inOrder = "ORDER BY t.state, t.kind, t.seq LIMIT";

const waitingText = `SELECT open.waiting, CASE WHEN open.waiting = 0 THEN NULL
      WHEN (SELECT true ${openText} AND ${dueAt} <= now() ${inOrder} 1) THEN 0
      ELSE (SELECT ${msUntil(`min(${dueAt})`)} ${openText}) END AS "nextInMs"
  FROM (SELECT count(*)::int AS waiting
    FROM (SELECT 1 ${openText} ${inOrder} ${maxCounted}) counted) open`;

/**
 * An organisation's open posting jobs, counted up to 200. While one can be claimed, the statement
 * reads few of them, however many wait.
 */
export async function readWaiting(pool: Pool, organisationId: string): Promise<OpenJobs> {
  const statement = plannedOnce({ text: waitingText, values: [organisationId, postingKinds] });
  const { rows } = await pool.query<OpenJobs>(statement);
  return rows[0] ?? { waiting: 0, nextInMs: null };
}

const kindsText = `SELECT k.kind FROM unnest($2::text[]) k (kind) CROSS JOIN LATERAL (
    SELECT 1 FROM ledger_jobs t WHERE t.organisation_id = $1
      AND t.state IN ('ready', 'sending', 'uncertain') AND t.kind = k.kind ${inOrder} 1) open`;

/** The kinds of an organisation's open posting jobs. Most batches post one kind. */
export async function readOpenKinds(
  pool: Pool,
  organisationId: string,
): Promise<ReadonlySet<JobKind>> {
  const statement = plannedOnce({ text: kindsText, values: [organisationId, postingKinds] });
  const { rows } = await pool.query<{ kind: JobKind }>(statement);
  return new Set(rows.map(({ kind }) => kind));
}

/**
 * Abandons a contact's job that was never sent. True if it did. The new customer is deleted with
 * it, because nothing was decided. A retry starts from nothing.
 */
export async function abandonContact(
  pool: Pool,
  organisationId: string,
  jobId: string,
): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>({
    name: "abandon_contact",
    text: `WITH job AS (
        UPDATE ledger_jobs SET state = 'abandoned', finished_at = now()
        WHERE organisation_id = $1 AND id = $2 AND state = 'ready' AND customer_id IS NOT NULL
        RETURNING id, customer_id
      ), dropped AS (
        DELETE FROM customers c USING job
        WHERE c.organisation_id = $1 AND c.id = job.customer_id AND c.ledger_contact_id IS NULL
      ) SELECT id FROM job`,
    values: [organisationId, jobId],
  });
  return rows.length > 0;
}
