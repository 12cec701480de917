/**
 * Records the outcomes of a leased termination: an invoice removed in the ledger or abandoned
 * before sending, a refusal, or the end itself. Each outcome is one transaction. The last one
 * notifies waiting callers.
 */

import type { BillingState } from "../../domain/model/billing-state.ts";
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import { Refusal } from "../../domain/refusal.ts";
import {
  decideEnded,
  type EndedSubscription,
  type EndWhen,
} from "../../domain/subscriptions/end.ts";
import type { NextPeriodLines } from "../../domain/subscriptions/reversal.ts";
import { loadStates } from "../billing/billing-state.ts";
import { holdOrganisation } from "../billing/locked-subscription.ts";
import { leavesDocuments } from "../billing/save-billing.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { loadNextPeriodLines, reverseNextPeriod } from "../documents/reversals.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable } from "../ledger-jobs/document-outcomes.ts";
import { doneMark, outcomesChannel } from "../ledger-jobs/job-notifications.ts";
import {
  type HeldRemoval,
  type HeldTermination,
  isHeld,
  type LeftBecause,
  type RemovalRefused,
  type Removed,
  type ReportedInvoice,
} from "./end-lease.ts";
import { refuseLast, saveRefused } from "./end-rejected.ts";
import { saveEnded } from "./terminations.ts";

/**
 * Records outcomes for one organisation's terminations. If another attempt holds the lease by now,
 * nothing is written and the result is false or null.
 */
export interface RecordTermination {
  /**
   * The invoice was removed. After a renewal invoice, other documents' lines for its period are
   * reversed (END-7). `issued`: a document must be posted because of that.
   */
  removed(held: HeldRemoval, removed: Removed): Promise<{ readonly issued: boolean } | null>;
  /**
   * Abandons an invoice that the ledger does not have. The result is that of `removed`, or null if
   * sending it has begun.
   */
  drop(held: HeldRemoval): Promise<{ readonly issued: boolean } | null>;
  /**
   * Leaves an invoice that an option asked to remove, with its state in `invoice`. The end
   * continues.
   */
  leave(held: HeldRemoval, because: LeftBecause, invoice: ReportedInvoice): Promise<boolean>;
  /**
   * The ledger refused. The remaining invoices stay, and the subscription continues (END-4).
   * `issued`: a removed invoice of the period that it continues into is reissued and must be
   * posted.
   */
  refuse(held: HeldRemoval, refused: RemovalRefused): Promise<{ readonly issued: boolean } | null>;
  /**
   * The subscription ends or is set to end. It is refused if the usage since the end began costs
   * more than can be billed. `issued`: an invoice must be posted, of outstanding charges or of the
   * period that it continues into.
   */
  finish(held: HeldTermination, when: EndWhen): Promise<{ readonly issued: boolean } | null>;
}

/** Binds the outcomes to a pool and an organisation. */
export function createRecordTermination(pool: Pool, organisationId: string): RecordTermination {
  return {
    removed: (held, removed) => saveRemoved(pool, organisationId, held, removed),
    drop: (held) => inTransaction(pool, (client) => drop(client, organisationId, held)),
    leave: (held, because, invoice) => saveLeft(pool, organisationId, held, because, invoice),
    refuse: (held, refused) => saveRefused(pool, organisationId, held, refused),
    finish: (held, when) =>
      inTransaction(pool, (client) => finish(client, organisationId, held, when)),
  };
}

/** The removal stands even if the ledger's amounts do not fit the columns here. */
async function saveRemoved(
  pool: Pool,
  organisationId: string,
  held: HeldRemoval,
  removed: Removed,
): Promise<{ readonly issued: boolean } | null> {
  const { outcome } = removed;
  const status = removed.invoice?.status ?? "deleted";
  const save = (told: ReportedInvoice | null) =>
    inTransaction(pool, async (client) => {
      const organisation = await holdOrganisation(client, organisationId);
      await lockSubscriptions(client, organisationId, [held.subscriptionId]);
      if (!(await takeBack(client, organisationId, held))) return null;
      return syncRemoved(client, organisation, held, { outcome, status, told });
    });
  try {
    return await save(removed.invoice);
  } catch (error) {
    if (!isUnwritable(error) || removed.invoice === null) throw error;
    return save(null);
  }
}

/**
 * Abandons only a create job that was never sent. One that is on its way must be awaited. Runs
 * under the subscription's lock, because an operator may retry a refused invoice at this moment.
 */
async function drop(
  client: Transaction,
  organisationId: string,
  held: HeldRemoval,
): Promise<{ readonly issued: boolean } | null> {
  const organisation = await holdOrganisation(client, organisationId);
  await lockSubscriptions(client, organisationId, [held.subscriptionId]);
  const { rows } = await client.query<{ status: DocumentStatus }>({
    name: "hold_dropped_invoice",
    text: "SELECT status FROM invoices WHERE organisation_id = $1 AND id = $2 FOR NO KEY UPDATE",
    values: [organisationId, held.invoiceId],
  });
  const { rowCount } = await client.query({
    name: "abandon_invoice",
    text: `WITH held AS (
        SELECT o.id, o.kind FROM ledger_jobs o WHERE o.organisation_id = $1
          AND (${isHeld}
            OR o.invoice_id = $4 AND o.kind = 'create_invoice' AND o.state = 'ready')
        ORDER BY o.id FOR UPDATE
      ), op AS (
        UPDATE ledger_jobs c SET state = 'abandoned', reason = 'removed', finished_at = now() FROM held
        WHERE c.organisation_id = $1 AND c.id = held.id
          AND held.kind = 'create_invoice' AND EXISTS (SELECT 1 FROM held e WHERE e.id = $2)
        RETURNING c.id
      ) SELECT pg_notify('${outcomesChannel}', op.id::text) FROM op`,
    values: [organisationId, held.terminationId, held.attempt, held.invoiceId],
  });
  const isGivenUp = rowCount === 1;
  if (!isGivenUp && rows[0]?.status !== "not_in_external") return null;
  if (!(await takeBack(client, organisationId, held))) return null;
  return syncRemoved(client, organisation, held, {
    outcome: "never_sent",
    status: "deleted",
    told: null,
  });
}

/** Makes the job ready for its next step, if this attempt still holds the lease. */
async function takeBack(
  client: Transaction,
  organisationId: string,
  { terminationId, attempt }: HeldTermination,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "take_back_termination",
    text: `UPDATE ledger_jobs o SET state = 'ready', not_before = now(), lease_until = NULL, first_sent_at = NULL, reason = NULL
      WHERE o.organisation_id = $1 AND ${isHeld}`,
    values: [organisationId, terminationId, attempt],
  });
  return rowCount === 1;
}

// A removed renewal invoice of a period that never begins returns its deferred amounts, which wait
// again. What an option asked to remove is dropped with all its lines.
const removedText = `
WITH removal AS (
  UPDATE removals r SET state = 'removed', outcome = $4, finished_at = now()
  WHERE r.organisation_id = $1 AND r.termination_id = $2 AND r.step = $3 AND r.state = 'waiting' RETURNING r.invoice_id
), invoice AS (
  UPDATE invoices i SET status = $5, total = coalesce($6::numeric, i.total), amount_due = coalesce($7::numeric, 0),
    sent = coalesce($8::boolean, i.sent), ledger_updated_at = coalesce($9::timestamptz, i.ledger_updated_at),
    ledger_reported_at = now(), sync_error = NULL
  FROM removal WHERE i.organisation_id = $1 AND i.id = removal.invoice_id RETURNING i.id, i.subscription_id, i.type, i.period_index
)
UPDATE deferred_lines d SET invoice_id = NULL
FROM invoice JOIN subscriptions s ON s.organisation_id = $1 AND s.id = invoice.subscription_id
WHERE d.organisation_id = $1 AND d.invoice_id = invoice.id AND invoice.type = 'renewal' AND invoice.period_index > s.current_period`;

/** `told` has the amounts. If null, they stay and nothing is due. */
interface SyncedRemoval {
  readonly outcome: Removed["outcome"] | "never_sent";
  readonly status: DocumentStatus;
  readonly told: ReportedInvoice | null;
}

/** Removes the renewal invoice and reverses the rest of its period in one transaction (END-7). */
async function syncRemoved(
  client: Transaction,
  organisation: OrganisationSettings,
  { terminationId, subscriptionId, step, isAhead }: HeldRemoval,
  { outcome, status, told }: SyncedRemoval,
): Promise<{ readonly issued: boolean }> {
  const { id: organisationId } = organisation;
  await client.query({
    name: "sync_removed",
    text: removedText,
    values: [
      organisationId,
      terminationId,
      step,
      outcome,
      status,
      told?.total ?? null,
      told?.amountDue ?? null,
      told?.sent ?? null,
      told?.updatedAt ?? null,
    ],
  });
  return { issued: isAhead && (await reverseNextPeriod(client, organisation, subscriptionId)) };
}

const leftText = `
WITH removal AS (
  UPDATE removals r SET state = 'left', reason = $9, finished_at = now()
  WHERE r.organisation_id = $1 AND r.termination_id = $2 AND r.step = $3 AND r.state = 'waiting' RETURNING r.invoice_id
)
UPDATE invoices i SET status = coalesce($4, i.status), total = coalesce($5::numeric, i.total), amount_due = coalesce($6::numeric, i.amount_due),
  sent = coalesce($7::boolean, i.sent), ledger_updated_at = coalesce($8::timestamptz, i.ledger_updated_at),
  ledger_reported_at = CASE WHEN $4::text IS NULL THEN i.ledger_reported_at ELSE now() END
FROM removal WHERE i.organisation_id = $1 AND i.id = removal.invoice_id`;

/**
 * The ledger's report may be the first news that the invoice was paid, approved or sent. Held
 * credit skipped the invoice while its removal was planned.
 */
async function saveLeft(
  pool: Pool,
  organisationId: string,
  held: HeldRemoval,
  because: LeftBecause,
  invoice: ReportedInvoice,
): Promise<boolean> {
  const { terminationId, subscriptionId, step } = held;
  const save = (told: ReportedInvoice | null) =>
    inTransaction(pool, async (client) => {
      await lockSubscriptions(client, organisationId, [subscriptionId]);
      if (!(await takeBack(client, organisationId, held))) return false;
      const {
        status = null,
        total = null,
        amountDue = null,
        sent = null,
        updatedAt = null,
      } = told ?? {};
      await client.query({
        name: "leave_removal",
        text: leftText,
        values: [
          organisationId,
          terminationId,
          step,
          status,
          total,
          amountDue,
          sent,
          updatedAt,
          because,
        ],
      });
      // The dispatcher starts the workflow of the planned allocation.
      await planAllocations(client, organisationId, [subscriptionId]);
      return true;
    });
  try {
    return await save(invoice);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    return save(null);
  }
}

/**
 * Runs under the subscription's lock. A concurrent change waits, and then sees the subscription
 * ended.
 */
async function finish(
  client: Transaction,
  organisationId: string,
  held: HeldTermination,
  when: EndWhen,
): Promise<{ readonly issued: boolean } | null> {
  const { terminationId, subscriptionId, attempt } = held;
  const organisation = await holdOrganisation(client, organisationId);
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const { rows } = await client.query<{ now: Date }>({
    name: "hold_termination",
    text: `SELECT coalesce(g.test_clock, now()) AS now FROM ledger_jobs o JOIN organisations g ON g.id = $1
      WHERE o.organisation_id = $1 AND ${isHeld} FOR UPDATE OF o`,
    values: [organisationId, terminationId, attempt],
  });
  if (rows[0] === undefined) return null;
  const { now } = rows[0];
  const [loaded] = await loadStates(client, organisation, {
    ids: [subscriptionId],
    now,
    closing: when === "now",
  });
  if (loaded === undefined) throw new Error(`subscription ${subscriptionId} is gone`);
  const ended = endedUnlessRefused(
    loaded.state,
    when,
    await loadNextPeriodLines(client, loaded.state),
  );
  if (ended instanceof Refusal) return refuseLast(client, organisation, held, ended.message);
  await client.query({
    name: "finish_termination",
    text: `WITH op AS (
        UPDATE ledger_jobs o SET state = 'done', reason = NULL, lease_until = NULL, finished_at = now()
        WHERE o.organisation_id = $1 AND o.id = $2 RETURNING o.id
      ), ending AS (UPDATE terminations e SET ended = true FROM op WHERE e.organisation_id = $1 AND e.id = op.id)
      SELECT pg_notify('${outcomesChannel}', '${doneMark}' || op.id) FROM op`,
    values: [organisationId, terminationId],
  });
  await saveEnded(client, organisationId, { ...ended, currentPeriod: loaded.currentPeriod }, now);
  return { issued: leavesDocuments(ended) };
}

function endedUnlessRefused(
  state: BillingState,
  when: EndWhen,
  next: NextPeriodLines,
): EndedSubscription | Refusal {
  try {
    return decideEnded(state, when, next);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
