/**
 * Writes the end of a subscription once every removal of its termination is decided. It is refused
 * if the usage since then costs more than can be billed (END-4, END-6).
 */
import type { BillingState } from "../../domain/model/billing-state.ts";
import { Refusal } from "../../domain/refusal.ts";
import {
  decideEnded,
  type EndedSubscription,
  type EndWhen,
} from "../../domain/subscriptions/end.ts";
import type { NextPeriodLines } from "../../domain/subscriptions/reversal.ts";
import { loadStates } from "../billing/billing-state.ts";
import { shareOrganisation } from "../billing/locked-subscription.ts";
import { leavesDocuments } from "../billing/save-billing.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { endLeasedJob, lockLeasedJob } from "../ledger-jobs/job-lease.ts";
import type { LeasedTermination } from "./end-lease.ts";
import { refuseLast } from "./end-rejected.ts";
import { loadNextPeriodLines } from "./reversals.ts";
import { saveEnded } from "./terminations.ts";

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
  return inTransaction(pool, (client) => finish(client, organisationId, leased, when));
}

async function finish(
  client: Transaction,
  organisationId: string,
  leased: LeasedTermination,
  when: EndWhen,
): Promise<{ readonly issued: boolean } | null> {
  const { terminationId, subscriptionId, attempt } = leased;
  const locked = await shareOrganisation(client, organisationId);
  const { organisation, now } = locked;
  await lockSubscriptions(client, organisationId, [subscriptionId]);
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
