/**
 * The SQL that all kinds of ledger jobs share: claim, reschedule and end under a lease. SQL,
 * because a claim changes a row by its state and by the database's clock in one statement, and
 * because waiting callers are notified in the same statement (POSTING-2).
 */
import { strict as assert } from "node:assert";
import { columns } from "../../gen/columns.ts";
import type { LedgerJob } from "../../gen/prisma/client.ts";
import type { Transaction } from "../database/pool.ts";
import { bool, pick, type RowOf, type Shape } from "../database/sql/columns.ts";
import { literal, type Sql, sql } from "../database/sql/sql.ts";
import { type Command, command, first, type Query, query } from "../database/sql/statement.ts";
import { outcomesChannel } from "./job-notifications.ts";

/**
 * SQL: what a claim under a lease of `$3` milliseconds changes in job `t`. One with an expired
 * lease becomes uncertain: its last attempt may have got an answer.
 */
export const claimed = sql`state = CASE WHEN t.state = 'ready' THEN 'sending' ELSE 'uncertain' END,
    first_sent_at = coalesce(t.first_sent_at, now()), attempts = t.attempts + 1,
    lease_until = now() + $3 * interval '1 millisecond'`;

/** SQL: job `t` can be claimed now. */
const isDue = sql`(t.state = 'ready' AND t.not_before <= now()
    OR t.state IN ('sending', 'uncertain') AND t.lease_until < now())`;

/** The claim of one job. */
interface JobClaim<S extends Shape> {
  readonly name: string;
  /** SQL over job `t` with one value as `$2`. */
  readonly condition: Sql;
  /** SQL: what is read of the claimed job `taken`, in the same statement. */
  readonly columns: Sql;
  readonly joins: Sql;
  readonly row: S;
}

/**
 * Declares the claim of a job under a lease of `$3` milliseconds. It has no row if the job is
 * decided, rescheduled or leased elsewhere.
 */
export function jobClaim<const S extends Shape>(claim: JobClaim<S>): Query<RowOf<S>> {
  return query({
    name: claim.name,
    text: sql`WITH taken AS (
        UPDATE ledger_jobs t SET ${claimed}
        WHERE t.organisation_id = $1 AND ${claim.condition} AND ${isDue} RETURNING t.*
      )
      SELECT ${claim.columns} FROM taken ${claim.joins}`,
    row: claim.row,
  });
}

/** SQL: when open job `t` can be claimed. */
export const dueAt = sql`CASE WHEN t.state = 'ready' THEN t.not_before ELSE t.lease_until END`;

/** SQL: notifies the callers who wait for the jobs of `job`, which has their `id`. */
export const notifyCallers = sql`
  SELECT
  FROM
    job,
    pg_notify(${literal(outcomesChannel)}, job.id::text)
`;

/**
 * SQL: ends job `$2` in attempt `$3` as state `$4` for reason `$5` with message `$6`. Only the
 * attempt that holds the lease records an outcome.
 */
export const endJob = sql`
  UPDATE ledger_jobs t
  SET
    state = $4,
    reason = $5,
    message = coalesce($6, t.message),
    lease_until = NULL,
    finished_at = now()
  WHERE
    t.organisation_id = $1
    AND t.id = $2
    AND t.attempts = $3
    AND t.state IN ('sending', 'uncertain')
`;

const heldJob = pick(columns.ledgerJob, "invoiceId", "awaitedUntil");

/**
 * Locks a job that this attempt holds. Returns its invoice, and until when a caller waits. Null if
 * another attempt has the job.
 */
export const lockLeasedJob = first<
  RowOf<typeof heldJob>,
  [organisationId: string, jobId: string, attempt: number]
>(
  query({
    name: "lock_held_job",
    text: sql`
      SELECT o.invoice_id, o.awaited_until
      FROM ledger_jobs o
      WHERE
        o.organisation_id = $1
        AND o.id = $2
        AND o.attempts = $3
        AND o.state IN ('sending', 'uncertain')
      FOR UPDATE
    `,
    row: heldJob,
  }),
);

const seizedJob = {
  attempt: columns.ledgerJob.attempts,
  /** Its current step may have reached the ledger. */
  isSent: bool,
};

const seize = query({
  name: "seize_job",
  text: sql`
    WITH
      open AS (
        SELECT o.id, o.first_sent_at
        FROM ledger_jobs o
        WHERE o.organisation_id = $1 AND o.id = $2 AND o.state IN ('ready', 'sending', 'uncertain')
        FOR UPDATE
      )
    UPDATE ledger_jobs t
    SET
      state = 'uncertain',
      attempts = t.attempts + 1,
      first_sent_at = coalesce(t.first_sent_at, now()),
      lease_until = now()
    FROM open
    WHERE t.organisation_id = $1 AND t.id = open.id
    RETURNING t.attempts AS attempt, open.first_sent_at IS NOT NULL AS is_sent
  `,
  row: seizedJob,
});

/**
 * Takes an open job in a new attempt, also one that a worker holds: the worker's outcome is not
 * recorded any more. The job's subscription must be locked, under which every outcome is recorded.
 */
export async function seizeJob(
  client: Transaction,
  organisationId: string,
  jobId: string,
): Promise<RowOf<typeof seizedJob>> {
  const [seized] = await seize(client, organisationId, jobId);
  assert(seized, `job ${jobId} is under way`);
  return seized;
}

const endHeld = command({
  name: "end_held_job",
  text: sql`WITH job AS (${endJob} RETURNING t.id) ${notifyCallers}`,
});

/** Ends a job, and notifies waiting callers. False if another attempt has the job. */
export async function endLeasedJob(
  client: Transaction,
  organisationId: string,
  jobId: string,
  attempt: number,
  { state, reason, message }: Pick<LedgerJob, "state" | "reason" | "message">,
): Promise<boolean> {
  const ended = await endHeld(client, organisationId, jobId, attempt, state, reason, message);
  return ended === 1;
}

/**
 * Reschedules a job because the connection is paused, and notifies waiting callers. One with an
 * expired lease waits as long, because its look-up is a call as well. One under a lease is left.
 */
const rescheduling = (
  name: string,
  condition: Sql,
): Command<[organisationId: string, id: string, pauseMs: number, reason: string]> =>
  command({
    name,
    text: sql`
      WITH
        until AS (SELECT now() + $3 * interval '1 millisecond' AS instant),
        job AS (
          UPDATE ledger_jobs t
          SET
            reason = $4,
            state = CASE WHEN t.state = 'ready' THEN 'ready' ELSE 'uncertain' END,
            not_before = CASE
              WHEN t.state = 'ready' THEN greatest(t.not_before, until.instant)
              ELSE t.not_before
            END,
            lease_until = CASE WHEN t.state = 'ready' THEN t.lease_until ELSE until.instant END
          FROM until
          WHERE
            t.organisation_id = $1
            AND ${condition}
            AND (t.state = 'ready' OR t.state IN ('sending', 'uncertain') AND t.lease_until < now())
          RETURNING t.id
        )
      ${notifyCallers}
    `,
  });

/** Reschedules an amendment by its job. */
export const rescheduleAmendment = rescheduling(
  "reschedule_amendment",
  sql`t.id = $2 AND t.kind = 'amend_invoice'`,
);

/** Reschedules a subscription's open allocation. */
export const rescheduleAllocation = rescheduling(
  "reschedule_allocation",
  sql`t.subscription_id = $2 AND t.kind = 'allocate_credit'`,
);
