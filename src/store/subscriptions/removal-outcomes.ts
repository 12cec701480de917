/**
 * Records what became of one invoice that a leased termination removes: removed in the ledger,
 * abandoned before sending, or left. SQL, because each statement writes a removal with its invoice
 * by the database's clock.
 */
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { type LockedOrganisation, shareOrganisation } from "../billing/locked-subscription.ts";
import { lockRow, lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable, reportedValues } from "../ledger-jobs/document-outcomes.ts";
import { outcomesChannel } from "../ledger-jobs/job-notifications.ts";
import {
  isHeld,
  type LeasedRemoval,
  type LeasedTermination,
  type LeftBecause,
  type Removed,
  type ReportedInvoice,
} from "./end-lease.ts";
import { reverseNextPeriod } from "./reversals.ts";

/**
 * Records that the invoice was removed, also if the ledger's amounts do not fit the columns here.
 * After a renewal invoice, other documents' lines for its period are reversed (END-7), and
 * `issued`: a document must be posted because of that. Null if another attempt holds the lease.
 */
export async function saveRemoved(
  pool: Pool,
  organisationId: string,
  leased: LeasedRemoval,
  removed: Removed,
): Promise<{ readonly issued: boolean } | null> {
  const { outcome } = removed;
  const status = removed.invoice?.status ?? "deleted";
  const save = (reported: ReportedInvoice | null) =>
    inTransaction(pool, async (client) => {
      const locked = await shareOrganisation(client, organisationId);
      await lockSubscriptions(client, organisationId, [leased.subscriptionId]);
      if (!(await takeBack(client, organisationId, leased, locked.databaseNow))) return null;
      return syncRemoved(client, locked, leased, { outcome, status, reported });
    });
  try {
    return await save(removed.invoice);
  } catch (error) {
    if (!isUnwritable(error) || removed.invoice === null) throw error;
    return save(null);
  }
}

/**
 * Abandons an invoice that the ledger does not have. Its create job was never sent: one that is on
 * its way must be awaited, and the result is null. Runs under the subscription's lock, because an
 * operator may retry a refused invoice at this moment.
 */
export async function dropInvoice(
  pool: Pool,
  organisationId: string,
  leased: LeasedRemoval,
): Promise<{ readonly issued: boolean } | null> {
  return inTransaction(pool, async (client) => {
    const locked = await shareOrganisation(client, organisationId);
    await lockSubscriptions(client, organisationId, [leased.subscriptionId]);
    await lockRow(client, "invoices", organisationId, leased.invoiceId);
    const invoice = await db(client).invoice.findFirst({
      where: { organisationId, id: leased.invoiceId },
      select: { status: true },
    });
    const { terminationId, attempt, invoiceId } = leased;
    const abandoned = await abandon(client, organisationId, terminationId, attempt, invoiceId);
    const isAbandoned = abandoned === 1;
    if (!isAbandoned && invoice?.status !== "not_in_external") return null;
    if (!(await takeBack(client, organisationId, leased, locked.databaseNow))) return null;
    const neverSent = { outcome: "never_sent", status: "deleted", reported: null } as const;
    return syncRemoved(client, locked, leased, neverSent);
  });
}

const abandon = command({
  name: "abandon_invoice",
  text: sql`
    WITH
      held AS (
        SELECT o.id, o.kind
        FROM ledger_jobs o
        WHERE
          o.organisation_id = $1
          AND (${isHeld} OR o.invoice_id = $4 AND o.kind = 'create_invoice' AND o.state = 'ready')
        ORDER BY o.id
        FOR UPDATE
      ),
      op AS (
        UPDATE ledger_jobs c
        SET
          state = 'abandoned',
          reason = 'removed',
          finished_at = now()
        FROM held
        WHERE
          c.organisation_id = $1
          AND c.id = held.id
          AND held.kind = 'create_invoice'
          AND EXISTS (SELECT 1 FROM held e WHERE e.id = $2)
        RETURNING c.id
      )
    SELECT
    FROM
      op,
      pg_notify(${literal(outcomesChannel)}, op.id::text)
  `,
});

/** Makes the job ready for its next step at once, if this attempt still holds the lease. */
async function takeBack(
  client: Transaction,
  organisationId: string,
  { terminationId, attempt }: LeasedTermination,
  databaseNow: Date,
): Promise<boolean> {
  const { count } = await db(client).ledgerJob.updateMany({
    where: {
      organisationId,
      id: terminationId,
      attempts: attempt,
      kind: "end_subscription",
      state: { in: ["sending", "uncertain"] },
    },
    data: {
      state: "ready",
      notBefore: databaseNow,
      leaseUntil: null,
      firstSentAt: null,
      reason: null,
    },
  });
  return count === 1;
}

// A removed renewal invoice of a period that never begins returns its deferred amounts, which wait
// again. What an option requested to remove is dropped with all its lines.
const writeRemoved = command({
  name: "sync_removed",
  text: sql`
    WITH
      removal AS (
        UPDATE removals r
        SET
          state = 'removed',
          outcome = $4,
          finished_at = now()
        WHERE
          r.organisation_id = $1
          AND r.termination_id = $2
          AND r.step = $3
          AND r.state = 'waiting'
        RETURNING r.invoice_id
      ),
      invoice AS (
        UPDATE invoices i
        SET
          status = $5,
          total = coalesce($6::numeric, i.total),
          amount_due = coalesce($7::numeric, 0),
          sent = coalesce($8::boolean, i.sent),
          ledger_updated_at = coalesce($9::timestamptz, i.ledger_updated_at),
          ledger_reported_at = now(),
          sync_error = NULL
        FROM removal
        WHERE i.organisation_id = $1 AND i.id = removal.invoice_id
        RETURNING i.id, i.subscription_id, i.type, i.period_index
      )
    UPDATE deferred_lines d
    SET invoice_id = NULL
    FROM
      invoice
      JOIN subscriptions s ON s.organisation_id = $1 AND s.id = invoice.subscription_id
    WHERE
      d.organisation_id = $1
      AND d.invoice_id = invoice.id
      AND invoice.type = 'renewal'
      AND invoice.period_index > s.current_period
  `,
});

/** `reported` has the amounts. If null, they stay and nothing is due. */
interface SyncedRemoval {
  readonly outcome: Removed["outcome"] | "never_sent";
  readonly status: DocumentStatus;
  readonly reported: ReportedInvoice | null;
}

/** Removes the renewal invoice and reverses the rest of its period in one transaction (END-7). */
async function syncRemoved(
  client: Transaction,
  locked: LockedOrganisation,
  { terminationId, subscriptionId, step, isAhead }: LeasedRemoval,
  { outcome, status, reported }: SyncedRemoval,
): Promise<{ readonly issued: boolean }> {
  const { id: organisationId } = locked.organisation;
  const values = [outcome, ...reportedValues({ ...reported, status })];
  await writeRemoved(client, organisationId, terminationId, step, ...values);
  return { issued: isAhead && (await reverseNextPeriod(client, locked, subscriptionId)) };
}

const leave = command({
  name: "leave_removal",
  text: sql`
    WITH
      removal AS (
        UPDATE removals r
        SET
          state = 'left',
          reason = $9,
          finished_at = now()
        WHERE
          r.organisation_id = $1
          AND r.termination_id = $2
          AND r.step = $3
          AND r.state = 'waiting'
        RETURNING r.invoice_id
      )
    UPDATE invoices i
    SET
      status = coalesce($4, i.status),
      total = coalesce($5::numeric, i.total),
      amount_due = coalesce($6::numeric, i.amount_due),
      sent = coalesce($7::boolean, i.sent),
      ledger_updated_at = coalesce($8::timestamptz, i.ledger_updated_at),
      ledger_reported_at = CASE WHEN $4::text IS NULL THEN i.ledger_reported_at ELSE now() END
    FROM removal
    WHERE i.organisation_id = $1 AND i.id = removal.invoice_id
  `,
});

/**
 * Leaves an invoice that an option requested to remove, and the end continues. The ledger's report
 * may be the first news that the invoice was paid, approved or sent. Held credit skipped it while
 * its removal was planned. False if another attempt holds the lease.
 */
export async function saveLeft(
  pool: Pool,
  organisationId: string,
  leased: LeasedRemoval,
  because: LeftBecause,
  invoice: ReportedInvoice,
): Promise<boolean> {
  const { terminationId, subscriptionId, step } = leased;
  const save = (reported: ReportedInvoice | null) =>
    inTransaction(pool, async (client) => {
      const now = await lockRow(client, "subscriptions", organisationId, subscriptionId);
      if (now === null || !(await takeBack(client, organisationId, leased, now))) return false;
      const values = [...reportedValues(reported), because];
      await leave(client, organisationId, terminationId, step, ...values);
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
