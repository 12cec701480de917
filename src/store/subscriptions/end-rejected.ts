/**
 * Stops an end half-way, refused by the ledger or by what it would have to bill. Remaining invoices
 * stay and removed ones stay removed. The subscription continues and is billed for the period that
 * it continues into (END-4). SQL, because one statement writes removals with the refused invoice by
 * the database's clock.
 */
import { decideGoingOn } from "../../domain/subscriptions/reissue.ts";
import { loadStates } from "../billing/billing-state.ts";
import { type LockedOrganisation, shareOrganisation } from "../billing/locked-subscription.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable, plain, reportedValues } from "../ledger-jobs/document-outcomes.ts";
import { endLeasedJob } from "../ledger-jobs/job-lease.ts";
import type {
  LeasedRemoval,
  LeasedTermination,
  RemovalRefused,
  ReportedInvoice,
} from "./end-lease.ts";
import { loadRemoved, reissueInvoices } from "./reissue-invoices.ts";
import { loadNextPeriodLines } from "./reversals.ts";

const refuse = command({
  name: "refuse_removal",
  text: sql`
    WITH
      removal AS (
        UPDATE removals r
        SET
          finished_at = now(),
          state = CASE WHEN r.step = $3 THEN 'refused' ELSE 'left' END,
          reason = CASE WHEN r.step = $3 THEN $4 END,
          message = CASE WHEN r.step = $3 THEN $5 END
        WHERE r.organisation_id = $1 AND r.termination_id = $2 AND r.state = 'waiting'
        RETURNING r.invoice_id, r.state
      )
    UPDATE invoices i
    SET
      status = $6,
      total = $7,
      amount_due = $8,
      sent = $9,
      ledger_updated_at = coalesce($10, i.ledger_updated_at),
      ledger_reported_at = now()
    FROM removal
    WHERE
      i.organisation_id = $1
      AND i.id = removal.invoice_id
      AND removal.state = 'refused'
      AND $6::text IS NOT NULL
  `,
});

/**
 * Writes the ledger's refusal. Null if another attempt holds the termination. `issued`: an invoice
 * was reissued and must be posted.
 */
export async function saveRefused(
  pool: Pool,
  organisationId: string,
  leased: LeasedRemoval,
  refused: RemovalRefused,
): Promise<{ readonly issued: boolean } | null> {
  const save = (reported: ReportedInvoice | null) =>
    inTransaction(pool, async (client) => {
      const locked = await shareOrganisation(client, organisationId);
      await lockSubscriptions(client, organisationId, [leased.subscriptionId]);
      if (!(await writeRefused(client, organisationId, leased, { ...refused, invoice: reported })))
        return null;
      const issued = await goOn(client, locked, leased);
      // Held credit skipped the invoices while their removal was planned. The dispatcher starts the
      // workflow of the planned allocation.
      await planAllocations(client, organisationId, [leased.subscriptionId]);
      return { issued };
    });
  try {
    return await save(refused.invoice);
  } catch (error) {
    if (!isUnwritable(error) || refused.invoice === null) throw error;
    return save(null);
  }
}

async function writeRefused(
  client: Transaction,
  organisationId: string,
  leased: LeasedRemoval,
  refused: RemovalRefused,
): Promise<boolean> {
  const removed = await removedAlready(client, organisationId, leased.terminationId);
  const { number } = leased;
  const refusal = `The ledger refused to remove invoice ${number}, so the subscription goes on.`;
  const whole = `${refusal} ${removed}The ledger says: ${plain(refused.message)}`;
  return refuseLeased(client, organisationId, leased, { ...refused, whole });
}

/**
 * Ends the job as refused, with the removal of this step. `whole` is the message of the end itself.
 * False if another attempt holds the termination.
 */
export async function refuseLeased(
  client: Transaction,
  organisationId: string,
  { terminationId, attempt, step }: LeasedTermination & Pick<LeasedRemoval, "step">,
  { reason, message, whole, invoice: reported }: RemovalRefused & { readonly whole: string },
): Promise<boolean> {
  const ended = { state: "refused", reason: plain(reason), message: whole };
  if (!(await endLeasedJob(client, organisationId, terminationId, attempt, ended))) return false;
  const removal = [terminationId, step, plain(reason), plain(message)];
  await refuse(client, organisationId, ...removal, ...reportedValues(reported));
  return true;
}

/** Returns a sentence with the invoices that are removed already, or an empty text. */
export async function removedAlready(
  client: Transaction,
  organisationId: string,
  terminationId: string,
): Promise<string> {
  const removals = await db(client).removal.findMany({
    where: { organisationId, terminationId, state: "removed" },
    orderBy: { step: "asc" },
    select: { invoice: { select: { number: true } } },
  });
  const numbers = removals.map(({ invoice }) => invoice.number);
  return numbers.length === 0 ? "" : `Removed already, and staying so: ${numbers.join(", ")}. `;
}

/**
 * Refuses within the transaction that would have ended the subscription. Usage reported since the
 * end began cannot be billed with it. `message` says why. The result is that of `saveRefused`.
 */
export async function refuseLast(
  client: Transaction,
  locked: LockedOrganisation,
  leased: LeasedTermination,
  message: string,
): Promise<{ readonly issued: boolean }> {
  const { terminationId, attempt } = leased;
  const organisationId = locked.organisation.id;
  const removed = await removedAlready(client, organisationId, terminationId);
  await endLeasedJob(client, organisationId, terminationId, attempt, {
    state: "refused",
    reason: "invalid_state",
    message: `The subscription goes on. ${removed}${message}`,
  });
  return { issued: await goOn(client, locked, leased) };
}

/** Continues the subscription and bills the period that it continues into (END-4). */
export async function goOn(
  client: Transaction,
  { organisation, now }: LockedOrganisation,
  { terminationId, subscriptionId }: LeasedTermination,
): Promise<boolean> {
  const { id: organisationId } = organisation;
  const [state] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  if (state === undefined) throw new Error(`subscription ${subscriptionId} is gone`);
  const query = { subscriptionId, currentPeriod: state.period.index, terminationId };
  const removed = await loadRemoved(client, organisationId, query);
  const again = decideGoingOn(state, removed, await loadNextPeriodLines(client, state));
  if (again === null) return false;
  await db(client).removal.updateMany({
    where: { organisationId, terminationId, invoiceId: again.of },
    data: { reissued: true },
  });
  await reissueInvoices(client, state, again, { createdAt: now, awaitedUntil: null });
  return true;
}
