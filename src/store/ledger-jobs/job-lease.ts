/**
 * The SQL that all kinds of ledger jobs share: claim, reschedule and end under a lease. SQL,
 * because a claim changes a row by its state and by the database's clock in one statement, and
 * because waiting callers are notified in the same statement (POSTING-2).
 */
import { strict as assert } from "node:assert";
import type { LedgerJob } from "../../gen/prisma/client.ts";
import { msUntil } from "../database/clock.ts";
import { plannedOnce, statementName } from "../database/planned-once.ts";
import type { AnyRow, Pool, Transaction } from "../database/pool.ts";
import { doneMark, outcomesChannel } from "./job-notifications.ts";

/**
 * SQL: what a claim under a lease of `$3` milliseconds changes in job `t`. One with an expired
 * lease becomes uncertain: its last attempt may have got an answer.
 */
export const claimed = `state = CASE WHEN t.state = 'ready' THEN 'sending' ELSE 'uncertain' END,
    first_sent_at = coalesce(t.first_sent_at, now()), attempts = t.attempts + 1,
    lease_until = now() + $3 * interval '1 millisecond'`;

/** SQL: job `t` can be claimed now. */
const isDue = `(t.state = 'ready' AND t.not_before <= now()
    OR t.state IN ('sending', 'uncertain') AND t.lease_until < now())`;

/** One job to claim. `condition` is SQL over job `t` with one value as `$2`. */
export interface JobToClaim {
  readonly condition: string;
  readonly value: string;
  readonly leaseMs: number;
  /** SQL: what is read of the claimed job `taken`, in the same statement. */
  readonly columns: string;
  readonly joins: string;
}

/**
 * Claims a job under a lease. Null if it is decided, rescheduled or leased elsewhere. One with an
 * expired lease becomes uncertain: its last attempt may have got an answer.
 */
export async function claimJob<Row extends AnyRow>(
  pool: Pool,
  organisationId: string,
  { condition, value, leaseMs, columns, joins }: JobToClaim,
): Promise<Row | null> {
  const text = `WITH taken AS (
      UPDATE ledger_jobs t SET ${claimed}
      WHERE t.organisation_id = $1 AND ${condition} AND ${isDue} RETURNING t.*
    )
    SELECT ${columns} FROM taken ${joins}`;
  const values = [organisationId, value, leaseMs];
  const { rows } = await pool.query<Row>({ name: statementName(text), text, values });
  return rows[0] ?? null;
}

/** SQL: when open job `t` can be claimed. */
export const dueAt = "CASE WHEN t.state = 'ready' THEN t.not_before ELSE t.lease_until END";

/** How many open jobs wait, and milliseconds until the next. Null if there are none. */
export interface OpenJobs {
  readonly waiting: number;
  readonly nextInMs: number | null;
}

/** Reads the open jobs of a condition, which is SQL over job `t` with one value as `$2`. */
export async function readOpenJobs(
  pool: Pool,
  organisationId: string,
  condition: string,
  value: unknown,
): Promise<OpenJobs> {
  const text = `SELECT count(*)::int AS waiting,
      CASE WHEN count(*) > 0 THEN ${msUntil(`min(${dueAt})`)} END AS "nextInMs"
    FROM ledger_jobs t WHERE t.organisation_id = $1
      AND t.state IN ('ready', 'sending', 'uncertain') AND ${condition}`;
  const statement = plannedOnce({ text, values: [organisationId, value] });
  const { rows } = await pool.query<OpenJobs>(statement);
  return rows[0] ?? { waiting: 0, nextInMs: null };
}

/** SQL: notifies the callers who wait for the jobs of `rows`, which have `id` and `state`. */
export const notifyCallers = (rows: string): string => `pg_notify('${outcomesChannel}',
    CASE WHEN ${rows}.state = 'done' THEN '${doneMark}' ELSE '' END || ${rows}.id)`;

/**
 * SQL: ends job `$2` in attempt `$3` as state `$4` for reason `$5` with message `$6`. Only the
 * attempt that holds the lease records an outcome.
 */
export const endJob = `UPDATE ledger_jobs t SET state = $4, reason = $5,
    message = coalesce($6, t.message), lease_until = NULL, finished_at = now()
  WHERE t.organisation_id = $1 AND t.id = $2 AND t.attempts = $3
    AND t.state IN ('sending', 'uncertain')`;

/**
 * Locks a job that this attempt holds. Returns its invoice, and until when a caller waits. Null if
 * another attempt has the job.
 */
export async function lockLeasedJob(
  client: Transaction,
  organisationId: string,
  jobId: string,
  attempt: number,
): Promise<Pick<LedgerJob, "invoiceId" | "awaitedUntil"> | null> {
  const { rows } = await client.query<Pick<LedgerJob, "invoiceId" | "awaitedUntil">>({
    name: "lock_held_job",
    text: `SELECT o.invoice_id AS "invoiceId", o.awaited_until AS "awaitedUntil"
      FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.id = $2 AND o.attempts = $3
        AND o.state IN ('sending', 'uncertain') FOR UPDATE`,
    values: [organisationId, jobId, attempt],
  });
  return rows[0] ?? null;
}

/**
 * Takes an open job in a new attempt, also one that a worker holds: the worker's outcome is not
 * recorded any more. `isSent`: its current step may have reached the ledger. The job's subscription
 * must be locked, under which every outcome is recorded.
 */
export async function seizeJob(
  client: Transaction,
  organisationId: string,
  jobId: string,
): Promise<{ readonly attempt: number; readonly isSent: boolean }> {
  const { rows } = await client.query<{ readonly attempt: number; readonly isSent: boolean }>({
    name: "seize_job",
    text: `WITH open AS (
        SELECT o.id, o.first_sent_at FROM ledger_jobs o WHERE o.organisation_id = $1
          AND o.id = $2 AND o.state IN ('ready', 'sending', 'uncertain') FOR UPDATE
      )
      UPDATE ledger_jobs t SET state = 'uncertain', attempts = t.attempts + 1,
        first_sent_at = coalesce(t.first_sent_at, now()), lease_until = now()
      FROM open WHERE t.organisation_id = $1 AND t.id = open.id
      RETURNING t.attempts AS attempt, open.first_sent_at IS NOT NULL AS "isSent"`,
    values: [organisationId, jobId],
  });
  const [seized] = rows;
  assert(seized, `job ${jobId} is under way`);
  return seized;
}

/** Ends a job that this attempt holds, and notifies waiting callers. */
export async function endLeasedJob(
  client: Transaction,
  organisationId: string,
  jobId: string,
  attempt: number,
  { state, reason, message }: Pick<LedgerJob, "state" | "reason" | "message">,
): Promise<void> {
  const text = `WITH job AS (${endJob} RETURNING t.id, t.state)
    SELECT ${notifyCallers("job")} FROM job`;
  const values = [organisationId, jobId, attempt, state, reason, message];
  await client.query({ name: "end_held_job", text, values });
}

/** Selects an amendment by its id, or a subscription's open allocation. */
type LeasedJob =
  | { readonly kind: "amend_invoice"; readonly id: string }
  | { readonly kind: "allocate_credit"; readonly subscriptionId: string };

/**
 * Reschedules a job because the connection is paused, and notifies waiting callers. One with an
 * expired lease waits as long, because its look-up is a call as well. One under a lease is left.
 */
export async function rescheduleLeased(
  pool: Pool,
  organisationId: string,
  job: LeasedJob,
  pauseMs: number,
  reason: string,
): Promise<void> {
  const [name, column, id] =
    job.kind === "amend_invoice"
      ? (["reschedule_amendment", "id", job.id] as const)
      : (["reschedule_allocation", "subscription_id", job.subscriptionId] as const);
  await pool.query({
    name,
    text: `WITH until AS (SELECT now() + $3 * interval '1 millisecond' AS instant), job AS (
        UPDATE ledger_jobs t SET reason = $4,
          state = CASE WHEN t.state = 'ready' THEN 'ready' ELSE 'uncertain' END,
          not_before = CASE WHEN t.state = 'ready' THEN greatest(t.not_before, until.instant)
            ELSE t.not_before END,
          lease_until = CASE WHEN t.state = 'ready' THEN t.lease_until ELSE until.instant END
        FROM until
        WHERE t.organisation_id = $1 AND t.${column} = $2 AND t.kind = $5
          AND (t.state = 'ready' OR t.state IN ('sending', 'uncertain') AND t.lease_until < now())
        RETURNING t.id
      ) SELECT pg_notify('${outcomesChannel}', job.id::text) FROM job`,
    values: [organisationId, id, pauseMs, reason, job.kind],
  });
}
