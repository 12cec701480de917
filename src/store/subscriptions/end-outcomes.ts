/**
 * Writes the end of a subscription once every removal of its termination is decided (END-6). Or
 * stops it half-way, refused by the ledger or by what it would have to bill: remaining invoices
 * stay and removed ones stay removed. The subscription continues and is billed for the period that
 * it continues into (END-4).
 */
import type { BillingState } from "../../domain/model/billing-state.ts";
import { Refusal } from "../../domain/refusal.ts";
import {
  decideEnded,
  type EndedSubscription,
  type EndWhen,
} from "../../domain/subscriptions/end.ts";
import { decideGoingOn } from "../../domain/subscriptions/reissue.ts";
import type { NextPeriodLines } from "../../domain/subscriptions/reversal.ts";
import { loadStates } from "../billing/billing-state.ts";
import type { LockedOrganisation } from "../billing/locked-subscription.ts";
import { leavesDocuments } from "../billing/save-billing.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { plain } from "../ledger-jobs/document-outcomes.ts";
import { endLeasedJob, lockLeasedJob } from "../ledger-jobs/job-lease.ts";
import {
  type LeasedRemoval,
  type LeasedTermination,
  type RemovalRefused,
  reportInvoice,
  saveOutcome,
} from "./end-lease.ts";
import { loadRemoved, reissueInvoices } from "./reissue-invoices.ts";
import { loadNextPeriodLines } from "./reversals.ts";
import { saveEnded } from "./terminations.ts";

/**
 * Writes the ledger's refusal. Null if another attempt holds the termination. `issued`: an invoice
 * was reissued and must be posted.
 */
export async function saveRefused(
  pool: Pool,
  organisationId: string,
  leased: LeasedRemoval,
  { reason, message, invoice }: RemovalRefused,
): Promise<{ readonly issued: boolean } | null> {
  const { terminationId, subscriptionId, invoiceId, number } = leased;
  return saveOutcome(pool, organisationId, leased, invoice, async (client, locked, reported) => {
    const removed = await removedAlready(client, organisationId, terminationId);
    const refusal = `The ledger refused to remove invoice ${number}, so the subscription goes on.`;
    const whole = `${refusal} ${removed}The ledger says: ${plain(message)}`;
    if (!(await refuseLeased(client, locked, leased, { reason, message, whole }))) return null;
    if (reported !== null) await reportInvoice(client, organisationId, invoiceId, reported);
    const issued = await goOn(client, locked, leased);
    // Held credit skipped the invoices while their removal was planned. The dispatcher starts the
    // workflow of the planned allocation.
    await planAllocations(client, organisationId, [subscriptionId]);
    return { issued };
  });
}

/**
 * Ends the job as refused, with the removal of this step. `whole` is the message of the end itself.
 * False if another attempt holds the termination.
 */
export async function refuseLeased(
  client: Transaction,
  { organisation, databaseNow: finishedAt }: LockedOrganisation,
  { terminationId, attempt, step }: LeasedTermination & Pick<LeasedRemoval, "step">,
  refusal: Omit<RemovalRefused, "invoice"> & { readonly whole: string },
): Promise<boolean> {
  const { id: organisationId } = organisation;
  const [reason, message] = [plain(refusal.reason), plain(refusal.message)];
  const ended = { state: "refused", reason, message: refusal.whole };
  if (!(await endLeasedJob(client, organisationId, terminationId, attempt, ended))) return false;
  const waiting = { organisationId, terminationId, state: "waiting" };
  await db(client).removal.updateMany({
    where: { ...waiting, step },
    data: { state: "refused", reason, message, finishedAt },
  });
  await db(client).removal.updateMany({ where: waiting, data: { state: "left", finishedAt } });
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
async function refuseLast(
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

/**
 * Ends the subscription, or refuses its end. Null if another attempt holds the termination.
 * `issued`: a document must be posted. Runs under the subscription's lock. A concurrent change
 * waits, and then sees the subscription ended.
 */
export async function finishTermination(
  pool: Pool,
  organisationId: string,
  leased: LeasedTermination,
  when: EndWhen,
): Promise<{ readonly issued: boolean } | null> {
  const { terminationId, subscriptionId, attempt } = leased;
  return saveOutcome(pool, organisationId, leased, null, async (client, locked) => {
    const { organisation, now } = locked;
    if ((await lockLeasedJob(client, organisationId, terminationId, attempt)) === null) return null;
    const [state] = await loadStates(client, organisation, {
      ids: [subscriptionId],
      now,
      usage: when === "now" ? "of_running" : "due",
    });
    if (state === undefined) throw new Error(`subscription ${subscriptionId} is gone`);
    const ended = endedUnlessRefused(state, when, await loadNextPeriodLines(client, state));
    if (ended instanceof Refusal) return refuseLast(client, locked, leased, ended.message);
    const done = { state: "done", reason: null, message: null };
    await endLeasedJob(client, organisationId, terminationId, attempt, done);
    const termination = { organisationId, id: terminationId };
    await db(client).termination.updateMany({ where: termination, data: { ended: true } });
    await saveEnded(client, state, ended, now);
    return { issued: leavesDocuments(ended) };
  });
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
