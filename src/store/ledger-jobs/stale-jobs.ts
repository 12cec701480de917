/** Finds stale jobs: waiting work without a worker. The dispatcher starts their workflows. */
import type { Pool } from "../database/pool.ts";
import { postingKinds } from "./jobs.ts";

/**
 * Stale work, by the workflow that does it: an organisation's posting workflow, or a separate one.
 */
export type StaleJobs =
  | { readonly kind: "settlement"; readonly organisationId: string }
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
      readonly kind: "ending";
      readonly organisationId: string;
      readonly subscriptionId: string;
      readonly customerId: string;
      readonly terminationId: string;
    };

/** The work that a document of the ledger can leave. */
export type DocumentWork = Extract<
  StaleJobs,
  { readonly kind: "settlement" | "amendment" | "allocation" }
>;

interface StaleJobRow {
  organisation_id: string;
  kind: string;
  subscription_id: string;
  customer_id: string;
  invoice_id: string;
  job_id: string;
}

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
  const { rows } = await pool.query<StaleJobRow>({
    name: "find_stale_jobs",
    text: `SELECT DISTINCT organisation_id, CASE WHEN kind = ANY ($2) THEN 'settlement' ELSE kind END AS kind,
        CASE WHEN kind IN ('amend_invoice', 'allocate_credit', 'end_subscription') THEN subscription_id END AS subscription_id,
        CASE WHEN kind = 'amend_invoice' THEN invoice_id END AS invoice_id,
        CASE WHEN kind IN ('amend_invoice', 'end_subscription') THEN id END AS job_id,
        CASE WHEN kind = 'end_subscription' THEN (SELECT s.customer_id FROM subscriptions s
          WHERE s.organisation_id = ledger_jobs.organisation_id AND s.id = subscription_id) END AS customer_id
      FROM ledger_jobs
      WHERE state IN ('ready', 'sending', 'uncertain')
        AND CASE WHEN state = 'ready' THEN not_before ELSE lease_until END < now() - $1 * interval '1 millisecond'`,
    values: [graceMs, postingKinds],
  });
  const found = rows.map((row) => ({ kind: row.kind, work: readStaleJobs(row) }));
  for (const kind of new Set(found.filter(({ work }) => work === null).map((one) => one.kind)))
    onUnknown(kind);
  return found.flatMap(({ work }) => (work === null ? [] : [work]));
}

function readStaleJobs(row: StaleJobRow): StaleJobs | null {
  const {
    organisation_id: organisationId,
    subscription_id: subscriptionId,
    invoice_id: invoiceId,
  } = row;
  switch (row.kind) {
    case "settlement":
      return { kind: "settlement", organisationId };
    case "amend_invoice":
      return { kind: "amendment", organisationId, subscriptionId, invoiceId, jobId: row.job_id };
    case "allocate_credit":
      return { kind: "allocation", organisationId, subscriptionId };
    case "end_subscription":
      return {
        kind: "ending",
        organisationId,
        subscriptionId,
        customerId: row.customer_id,
        terminationId: row.job_id,
      };
    default:
      return null;
  }
}
