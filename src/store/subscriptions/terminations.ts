/**
 * Terminations: saves the end of a subscription, at once or with the invoices to remove first, and
 * finds it again (IDEMPOTENCY-2). SQL for sums.
 */

import type { BillingState } from "../../domain/model/billing-state.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type {
  EndDecision,
  EndedSubscription,
  EndFacts,
  EndWhen,
  OpenInvoice,
} from "../../domain/subscriptions/end.ts";
import { columns } from "../../gen/columns.ts";
import type { LedgerJob, Termination } from "../../gen/prisma/client.ts";
import type { OpenTransaction } from "../billing/current-subscription.ts";
import { updateSubscriptions } from "../billing/locked-subscription.ts";
import { leavesDocuments, saveCharges } from "../billing/save-billing.ts";
import type { Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bool, numeric, pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { counts, keepsPlace } from "../documents/document-presence.ts";
import { dropRefusedLines, loadNextPeriodLines } from "./reversals.ts";
import { foundSince, type RequestToSave } from "./saved-requests.ts";

/** An end to save. `id` is also the id of its job. */
export interface TerminationToSave extends RequestToSave {
  readonly id: string;
  readonly when: EndWhen;
}

/** An end that an earlier try has saved. `state` and `message` are its job's, if it has one. */
export type EarlierTermination = Pick<Termination, "id" | "requestHash" | "ended"> & {
  readonly state: LedgerJob["state"] | null;
  readonly message: LedgerJob["message"];
};

/**
 * Finds the end that an earlier try of this request has saved. Null if there is none. A failed
 * request releases its key for other requests, not for itself (IDEMPOTENCY-5).
 */
export async function findTermination(
  { client, organisationId, databaseNow }: OpenTransaction,
  { id, requestId }: TerminationToSave,
): Promise<EarlierTermination | null> {
  const found = await db(client).termination.findFirst({
    where: {
      organisationId,
      requestId,
      OR: [{ reported: false }, { id }],
      createdAt: { gt: foundSince(databaseNow) },
    },
    orderBy: { seq: "desc" },
    select: { id: true, requestHash: true, ended: true },
  });
  if (found === null) return null;
  const job = await db(client).ledgerJob.findFirst({
    where: { organisationId, id: found.id },
    select: { state: true, message: true },
  });
  return { ...found, state: job?.state ?? null, message: job?.message ?? null };
}

/** Loads the facts that an end is decided by. */
export async function loadEndFacts(
  { client, organisationId }: OpenTransaction,
  state: BillingState,
): Promise<Required<EndFacts>> {
  const next = await loadNextPeriodLines(client, state);
  const invoices = await loadOpenInvoices(client, organisationId, state.subscription.id);
  return { state, invoices, next };
}

/**
 * Records that a caller got the ledger's refusal. From then on a repeat of the request is a new one
 * (IDEMPOTENCY-5).
 */
export async function markReported(
  executor: Executor,
  organisationId: string,
  id: string,
): Promise<void> {
  const termination = { organisationId, id };
  await db(executor).termination.updateMany({ where: termination, data: { reported: true } });
}

/** Saves an end without removals. True if a document must be posted. */
export async function saveTermination(
  tx: OpenTransaction,
  state: BillingState,
  ended: EndedSubscription,
  termination: TerminationToSave,
): Promise<boolean> {
  await createTermination(tx, state, termination, true);
  await saveEnded(tx.client, state, ended, tx.now);
  return leavesDocuments(ended);
}

/**
 * Saves an end with removals, and a job of the same id. The job blocks the subscription until it is
 * decided.
 */
export async function saveRemovals(
  tx: OpenTransaction,
  state: BillingState,
  { removals, onlyUnsent }: EndDecision & { readonly kind: "ends" },
  termination: TerminationToSave,
): Promise<void> {
  const { client, organisationId, databaseNow } = tx;
  const { id, awaitedUntil } = termination;
  await createTermination(tx, state, termination, false);
  await db(client).removal.createMany({
    data: removals.map((invoiceId, step) => ({
      organisationId,
      terminationId: id,
      step,
      invoiceId,
      onlyUnsent: onlyUnsent.includes(invoiceId),
      state: "waiting",
    })),
  });
  await db(client).ledgerJob.create({
    data: {
      id,
      organisationId,
      kind: "end_subscription",
      state: "ready",
      subscriptionId: state.subscription.id,
      awaitedUntil,
      notBefore: databaseNow,
      createdAt: databaseNow,
    },
    select: { id: true },
  });
}

/** The time is the database's, also in a sandbox: an idempotency key's 24 hours are real hours. */
async function createTermination(
  { client, organisationId, databaseNow: createdAt }: OpenTransaction,
  { subscription: { id: subscriptionId } }: BillingState,
  { id, when: endWhen, requestId, requestHash, requestedBy }: TerminationToSave,
  ended: boolean,
): Promise<void> {
  const request = { requestId, requestHash, requestedBy: requestedBy ?? null, createdAt };
  const data = { id, organisationId, subscriptionId, endWhen, ended, ...request };
  await db(client).termination.create({ data, select: { id: true } });
}

/**
 * Saves a subscription that is over or set to end, and issues its outstanding charges. Documents
 * that the ledger refused bill nothing of the next period any more (END-6, END-7).
 */
export async function saveEnded(
  client: Transaction,
  state: BillingState,
  ended: EndedSubscription,
  now: Date,
): Promise<void> {
  const { id: organisationId } = state.organisation;
  await dropRefusedLines(client, state);
  const changed = { ...ended, currentPeriod: state.period.index };
  await updateSubscriptions(client, organisationId, [changed], now);
  const charges = { subscriptionId: ended.subscription.id, ...ended };
  await saveCharges(client, organisationId, [charges], now);
}

// Credit that is being allocated counts as allocated. So does what a credit note has reversed: if
// the invoice were removed, that would be refunded twice.
const readOpenInvoices = query({
  name: "load_open_invoices",
  text: sql`
    SELECT
      i.id, i.number, i.type, i.period_index, i.status, i.total,
      i.ledger_invoice_id IS NOT NULL AS in_ledger,
      i.sent,
      i.amount_due - (
        SELECT coalesce(sum(l.amount), 0)
        FROM
          credit_notes n
          JOIN credit_note_lines l ON l.organisation_id = $1 AND l.credit_note_id = n.id
        WHERE
          n.organisation_id = $1
          AND n.subscription_id = $2
          AND ${counts(sql`n`)}
          AND l.reversed_invoice_id = i.id
      ) - (
        SELECT coalesce(sum(c.amount), 0)
        FROM ledger_jobs c
        WHERE
          c.organisation_id = $1
          AND c.subscription_id = $2
          AND c.invoice_id = i.id
          AND c.kind = 'allocate_credit'
          AND c.state IN ('ready', 'sending', 'uncertain')
      ) AS amount_due
    FROM invoices i
    WHERE i.organisation_id = $1 AND i.subscription_id = $2 AND ${keepsPlace(sql`i`)}
    ORDER BY i.seq DESC
  `,
  row: {
    ...pick(columns.invoice, "id", "number", "periodIndex", "total", "sent"),
    type: columns.invoice.type.as<OpenInvoice["type"]>(),
    status: columns.invoice.status.as<OpenInvoice["status"]>(),
    inLedger: bool,
    amountDue: numeric,
  },
});

/** The invoices of a subscription that are not removed, newest first. */
async function loadOpenInvoices(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
): Promise<readonly OpenInvoice[]> {
  const rows = await readOpenInvoices(client, organisationId, subscriptionId);
  return rows.map((row) => ({
    ...row,
    total: parseDecimal(row.total),
    amountDue: parseDecimal(row.amountDue),
  }));
}
