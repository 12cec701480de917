/**
 * Records what became of one invoice that a leased termination removes: removed in the ledger,
 * abandoned before sending, or left. SQL for a lock on two jobs in their order.
 */
import type { LockedOrganisation } from "../billing/locked-subscription.ts";
import { lockRow } from "../database/lock-order.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { outcomesChannel } from "../ledger-jobs/job-notifications.ts";
import {
  isHeld,
  type LeasedRemoval,
  type LeasedTermination,
  type LeftBecause,
  type Removed,
  type ReportedInvoice,
  reportInvoice,
  saveOutcome,
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
  { outcome, invoice }: Removed,
): Promise<{ readonly issued: boolean } | null> {
  return saveOutcome(pool, organisationId, leased, invoice, async (client, locked, reported) => {
    if (!(await takeBack(client, locked, leased))) return null;
    const { status } = invoice ?? neverSent;
    return syncRemoved(client, locked, leased, outcome, { ...neverSent, ...reported, status });
  });
}

/** An invoice that the ledger does not have. Its amounts stay, and nothing is due. */
const neverSent = { status: "deleted", amountDue: "0" } as const;

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
  return saveOutcome(pool, organisationId, leased, null, async (client, locked) => {
    const { terminationId, attempt, invoiceId } = leased;
    await lockRow(client, "invoices", organisationId, invoiceId);
    const invoice = await db(client).invoice.findFirst({
      where: { organisationId, id: invoiceId },
      select: { status: true },
    });
    const abandoned = await abandon(client, organisationId, terminationId, attempt, invoiceId);
    if (abandoned === 0 && invoice?.status !== "not_in_external") return null;
    if (!(await takeBack(client, locked, leased))) return null;
    return syncRemoved(client, locked, leased, "never_sent", neverSent);
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
  { organisation, databaseNow }: LockedOrganisation,
  { terminationId, attempt }: LeasedTermination,
): Promise<boolean> {
  const { count } = await db(client).ledgerJob.updateMany({
    where: {
      organisationId: organisation.id,
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

/** Records the end of a removal. */
async function closeRemoval(
  client: Transaction,
  { organisation, databaseNow: finishedAt }: LockedOrganisation,
  { terminationId, step }: LeasedRemoval,
  closed: { readonly state: "removed" | "left"; outcome?: string; reason?: string },
): Promise<void> {
  await db(client).removal.updateMany({
    where: { organisationId: organisation.id, terminationId, step, state: "waiting" },
    data: { ...closed, finishedAt },
  });
}

/** Removes the renewal invoice and reverses the rest of its period in one transaction (END-7). */
async function syncRemoved(
  client: Transaction,
  locked: LockedOrganisation,
  leased: LeasedRemoval,
  outcome: Removed["outcome"] | "never_sent",
  reported: Partial<ReportedInvoice>,
): Promise<{ readonly issued: boolean }> {
  const { id: organisationId } = locked.organisation;
  const { invoiceId, subscriptionId, isAhead } = leased;
  await closeRemoval(client, locked, leased, { state: "removed", outcome });
  await reportInvoice(client, organisationId, invoiceId, reported, true);
  if (!isAhead) return { issued: false };
  // Deferred amounts of the renewal invoice of a period that never begins wait again.
  await db(client).deferredLine.updateMany({
    where: { organisationId, invoiceId, invoice: { type: "renewal" } },
    data: { invoiceId: null },
  });
  return { issued: await reverseNextPeriod(client, locked, subscriptionId) };
}

/**
 * Leaves an invoice that an option requested to remove, and the end continues. The ledger's report
 * may be the first news that the invoice was paid, approved or sent. Held credit skipped it while
 * its removal was planned. False if another attempt holds the lease.
 */
export async function saveLeft(
  pool: Pool,
  organisationId: string,
  leased: LeasedRemoval,
  reason: LeftBecause,
  invoice: ReportedInvoice,
): Promise<boolean> {
  return saveOutcome(pool, organisationId, leased, invoice, async (client, locked, reported) => {
    const { invoiceId, subscriptionId } = leased;
    if (!(await takeBack(client, locked, leased))) return false;
    await closeRemoval(client, locked, leased, { state: "left", reason });
    if (reported !== null) await reportInvoice(client, organisationId, invoiceId, reported);
    // The dispatcher starts the workflow of the planned allocation.
    await planAllocations(client, organisationId, [subscriptionId]);
    return true;
  });
}
