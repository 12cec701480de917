/**
 * Finds stale jobs: waiting work without a worker. The dispatcher starts their workflows. SQL,
 * because it reads over all organisations by the database's clock, and unites posting jobs by
 * organisation.
 */

import { strict as assert } from "node:assert";
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { pick, type RowOf, text, uuid } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { dueAt } from "./job-lease.ts";
import { postingKinds } from "./jobs.ts";

/**
 * Stale work, by the workflow that does it: an organisation's posting workflow, or a separate one.
 */
export type StaleJobs =
  | { readonly kind: "posting"; readonly organisationId: string }
  | {
      readonly kind: "amendment";
      readonly organisationId: string;
      readonly subscriptionId: string;
      readonly invoiceId: string;
      readonly jobId: string;
    }
  | {
      readonly kind: "allocation";
      readonly organisationId: string;
      readonly subscriptionId: string;
    }
  | { readonly kind: "clock"; readonly organisationId: string }
  | {
      readonly kind: "termination";
      readonly organisationId: string;
      readonly subscriptionId: string;
      readonly customerId: string;
      readonly terminationId: string;
    };

/** The work that a document of the ledger can leave. */
export type DocumentWork = Extract<
  StaleJobs,
  { readonly kind: "posting" | "amendment" | "allocation" }
>;

/** A stale job's kind, with the ids that its workflow needs. Others are null. */
const staleJob = {
  ...pick(columns.ledgerJob, "organisationId"),
  kind: text,
  subscriptionId: uuid.orNull(),
  invoiceId: uuid.orNull(),
  jobId: uuid.orNull(),
  customerId: uuid.orNull(),
};

const findStale = query({
  name: "find_stale_jobs",
  text: sql`
    SELECT DISTINCT
      t.organisation_id,
      CASE WHEN t.kind = ANY ($2) THEN 'posting' ELSE t.kind END AS kind,
      CASE
        WHEN t.kind IN (
          'amend_invoice',
          'allocate_credit',
          'end_subscription'
        ) THEN t.subscription_id
      END AS subscription_id,
      CASE WHEN t.kind = 'amend_invoice' THEN t.invoice_id END AS invoice_id,
      CASE WHEN t.kind IN ('amend_invoice', 'end_subscription') THEN t.id END AS job_id,
      CASE
        WHEN t.kind = 'end_subscription' THEN (
          SELECT s.customer_id
          FROM subscriptions s
          WHERE s.organisation_id = t.organisation_id AND s.id = t.subscription_id
        )
      END AS customer_id
    FROM ledger_jobs t
    WHERE
      t.state IN ('ready', 'sending', 'uncertain')
      AND ${dueAt} < now() - $1 * interval '1 millisecond'
  `,
  row: staleJob,
});

/**
 * Finds jobs that were ready for longer than `graceMs` or whose lease expired. The dispatcher
 * starts their workflows. It reads across organisations and returns ids only. Kinds of a newer
 * version are skipped, and each is reported to `onUnknown`.
 */
export async function findStaleJobs(
  pool: Pool,
  graceMs: number,
  onUnknown: (kind: string) => void = () => undefined,
): Promise<readonly StaleJobs[]> {
  const rows = await findStale(pool, graceMs, postingKinds);
  const found = rows.map((row) => ({ kind: row.kind, work: readStaleJobs(row) }));
  for (const kind of new Set(found.filter(({ work }) => work === null).map((one) => one.kind)))
    onUnknown(kind);
  return found.flatMap(({ work }) => (work === null ? [] : [work]));
}

function readStaleJobs(row: RowOf<typeof staleJob>): StaleJobs | null {
  const { organisationId } = row;
  switch (row.kind) {
    case "posting":
      return { kind: "posting", organisationId };
    case "amend_invoice": {
      const invoiceId = required(row.invoiceId);
      const ids = { subscriptionId: required(row.subscriptionId), invoiceId };
      return { kind: "amendment", organisationId, ...ids, jobId: required(row.jobId) };
    }
    case "allocate_credit":
      return { kind: "allocation", organisationId, subscriptionId: required(row.subscriptionId) };
    case "end_subscription":
      return {
        kind: "termination",
        organisationId,
        subscriptionId: required(row.subscriptionId),
        customerId: required(row.customerId),
        terminationId: required(row.jobId),
      };
    default:
      return null;
  }
}

/** An id that the database requires of the job's kind. */
function required(id: string | null): string {
  assert(id !== null, "a job has the ids of its kind");
  return id;
}
