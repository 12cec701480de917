/**
 * Ledger jobs for the posting workflow. Jobs are leased, sent, and recorded together with their
 * documents. States: `ready` to be sent, `sending` under a lease, `uncertain` after a lost answer.
 * An uncertain job is looked up before anything is sent again (POSTING-2). `done`, `refused` and
 * `abandoned` are final. SQL, because it reschedules many jobs at once with SKIP LOCKED, and
 * compares instants by the database's clock.
 */
import { msUntil } from "../database/clock.ts";
import type { Pool } from "../database/pool.ts";
import { float, int, type RowOf } from "../database/sql/columns.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { type Command, command, query } from "../database/sql/statement.ts";
import { dueAt } from "./job-lease.ts";
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
 * callers. A row that is locked at this moment is skipped. Sending it will meet the pause.
 */
export const reschedule: Command<[organisationId: string, ms: number, reason: string]> = command({
  name: "reschedule_jobs",
  text: sql`
    WITH
      until AS (SELECT now() + $2 * interval '1 millisecond' AS instant),
      waiting AS (
        SELECT o.id
        FROM
          ledger_jobs o, until
        WHERE o.organisation_id = $1 AND o.state = 'ready' AND o.not_before < until.instant
        FOR NO KEY UPDATE OF o SKIP LOCKED
      ),
      job AS (
        UPDATE ledger_jobs o
        SET
          not_before = until.instant,
          reason = $3
        FROM
          until, waiting
        WHERE o.organisation_id = $1 AND o.id = waiting.id
        RETURNING o.id
      ),
      numbered AS (SELECT id, (row_number() OVER () - 1) / 100 AS part FROM job),
      parts AS (SELECT string_agg(id::text, ',') AS ids FROM numbered GROUP BY part)
    SELECT
    FROM
      parts,
      pg_notify(${literal(outcomesChannel)}, parts.ids)
  `,
});

/** Open jobs are counted up to this number, twice what makes several batches run concurrently. */
const maxCounted = 200;

const fromOpen = sql`FROM ledger_jobs t WHERE t.organisation_id = $1
  AND t.state IN ('ready', 'sending', 'uncertain') AND t.kind = ANY ($2)`;

/** SQL: in the order of their index, so that a plan for any values reads no more than the limit. */
const inOrder = sql`ORDER BY t.state, t.kind, t.seq LIMIT`;

const openJobs = {
  /** How many open jobs wait. */
  waiting: int,
  /** Milliseconds until the next can be claimed. Null if there are none. */
  nextInMs: float.orNull(),
};

/** The open jobs of an organisation. */
export type OpenJobs = RowOf<typeof openJobs>;

const countWaiting = query({
  name: "count_waiting_jobs",
  planned: "once",
  text: sql`SELECT open.waiting, CASE WHEN open.waiting = 0 THEN NULL
        WHEN (SELECT true ${fromOpen} AND ${dueAt} <= now() ${inOrder} 1) THEN 0
        ELSE (SELECT ${msUntil(sql`min(${dueAt})`)} ${fromOpen}) END AS next_in_ms
    FROM (SELECT count(*)::int AS waiting
      FROM (SELECT 1 ${fromOpen} ${inOrder} ${maxCounted}) counted) open`,
  row: openJobs,
});

/**
 * An organisation's open posting jobs, counted up to 200. While one can be claimed, the statement
 * reads few of them, however many wait.
 */
export async function readWaiting(pool: Pool, organisationId: string): Promise<OpenJobs> {
  const [open] = await countWaiting(pool, organisationId, postingKinds);
  return open ?? { waiting: 0, nextInMs: null };
}

const abandon = command({
  name: "abandon_contact",
  text: sql`
    WITH
      job AS (
        UPDATE ledger_jobs
        SET
          state = 'abandoned',
          finished_at = now()
        WHERE organisation_id = $1 AND id = $2 AND state = 'ready' AND customer_id IS NOT NULL
        RETURNING customer_id
      ),
      dropped AS (
        DELETE FROM customers c
        USING job
        WHERE c.organisation_id = $1 AND c.id = job.customer_id AND c.ledger_contact_id IS NULL
      )
    SELECT
    FROM job
  `,
});

/**
 * Abandons a contact's job that was never sent. True if it did. The new customer is deleted with
 * it, because nothing was decided. A retry starts from nothing.
 */
export async function abandonContact(
  pool: Pool,
  organisationId: string,
  jobId: string,
): Promise<boolean> {
  return (await abandon(pool, organisationId, jobId)) > 0;
}
