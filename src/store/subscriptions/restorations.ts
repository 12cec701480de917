/**
 * Restorations: saves a decided restoration with every reissued document, and finds it again
 * (IDEMPOTENCY-2). SQL for the restoration's number, which another table's sequence gives.
 */
import { strict as assert } from "node:assert";
import type { BillingState } from "../../domain/model/billing-state.ts";
import type { Restoration, RestorationFacts } from "../../domain/subscriptions/restore.ts";
import type { Restoration as RestorationRow } from "../../gen/prisma/client.ts";
import type { OpenTransaction } from "../billing/current-subscription.ts";
import { updateSubscriptions } from "../billing/locked-subscription.ts";
import { newId } from "../database/ids.ts";
import { db } from "../database/prisma/client.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { loadRemoved, reissueInvoices } from "./reissue-invoices.ts";
import { loadNextPeriodLines } from "./reversals.ts";
import { foundSince, type RequestToSave } from "./saved-requests.ts";

/** A saved restoration: the hash of its request, and the jobs that post its documents. */
export type SavedRestoration = Pick<RestorationRow, "requestHash" | "jobIds">;

/** Finds the restoration that an earlier try of this request has saved. Null if there is none. */
export async function findRestoration(
  { client, organisationId, databaseNow }: OpenTransaction,
  requestId: string,
): Promise<SavedRestoration | null> {
  return db(client).restoration.findFirst({
    where: { organisationId, requestId, createdAt: { gt: foundSince(databaseNow) } },
    orderBy: { seq: "desc" },
    select: { requestHash: true, jobIds: true },
  });
}

/** Loads the facts that a restoration is decided by. */
export async function loadRestorationFacts(
  { client, organisationId }: OpenTransaction,
  state: BillingState,
): Promise<RestorationFacts> {
  const { subscription, period } = state;
  const removed = await loadRemoved(client, organisationId, {
    subscriptionId: subscription.id,
    currentPeriod: period.index,
    terminationId: null,
  });
  const customer = await db(client).customer.findFirst({
    where: { organisationId, id: subscription.customerId },
    select: { status: true },
  });
  assert(customer, "a subscription has a customer");
  const customerStatus = customer.status as RestorationFacts["customerStatus"];
  return { state, customerStatus, removed, next: await loadNextPeriodLines(client, state) };
}

// The number comes from the terminations' sequence, so that comparing numbers shows which came
// later. The client takes no default of another table. The time is the database's, also in a
// sandbox: an idempotency key's 24 hours are real hours.
const insert = command({
  name: "insert_restoration",
  text: sql`
    INSERT INTO restorations
      (id, organisation_id, seq, subscription_id, request_id, request_hash, job_ids, requested_by)
    VALUES ($1, $2, nextval(pg_get_serial_sequence('terminations', 'seq')), $3, $4, $5, $6, $7)
  `,
});

/** Saves a decided restoration. Returns the ids of the jobs that post its documents. */
export async function saveRestoration(
  { client, organisationId, now }: OpenTransaction,
  state: BillingState,
  restoration: Restoration,
  { requestId, requestHash, requestedBy, awaitedUntil }: RequestToSave,
): Promise<readonly string[]> {
  const { subscription, dueDate } = restoration;
  const changed = { subscription, currentPeriod: state.period.index, dueDate };
  await updateSubscriptions(client, organisationId, [changed], now);
  const issuing = { createdAt: now, awaitedUntil };
  const jobIds = await reissueInvoices(client, state, restoration, issuing);
  const request = [requestId, requestHash, jobIds, requestedBy ?? null];
  await insert(client, newId(), organisationId, subscription.id, ...request);
  return jobIds;
}
