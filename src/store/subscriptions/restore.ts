/**
 * Stores restorations. A decision is written with every reissued document in one transaction. A
 * repeat of the request finds it again (IDEMPOTENCY-2).
 */

import { strict as assert } from "node:assert";
import type { BillingState } from "../../domain/subscriptions/billing-state.ts";
import type { Restoration, RestorationFacts } from "../../domain/subscriptions/restore.ts";
import {
  type ChangedSubscription,
  changeSubscription,
  updateSubscriptions,
} from "../billing/locked-subscription.ts";
import { newId } from "../database/ids.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { loadNextPeriodLines } from "../documents/reversals.ts";
import { loadRemoved, reissueInvoices } from "./reissue-invoices.ts";

/**
 * A requested restoration. `requestId` is derived from the idempotency key, or unique to this
 * request without a key. Null skips the search for a repeat. `watch` gets the job ids before they
 * are committed, so that no outcome is missed. It is called again if the transaction is repeated.
 */
export interface RestorationRequest extends ChangedSubscription {
  readonly requestId: string | null;
  readonly requestHash: Uint8Array;
  readonly awaitedUntil: Date;
  readonly watch: (jobIds: readonly string[]) => void;
}

/**
 * The outcome. `made`: restored now, or by an earlier try of this request (`isRepeat`), with the
 * jobs that post the documents. `conflict`: the key belongs to another request. `unknown`: the
 * organisation has no such subscription.
 */
export type RestorationOutcome =
  | {
      readonly kind: "made";
      readonly subscriptionId: string;
      readonly jobIds: readonly string[];
      readonly isRepeat: boolean;
    }
  | { readonly kind: "conflict" | "unknown" };

interface EarlierRow {
  subscription_id: string;
  job_ids: string[];
  request_hash: Buffer;
}

/**
 * Restores the subscription as `decide` decides. A refusal by `decide` leaves everything as it was.
 */
export async function createRestoration(
  pool: Pool,
  organisationId: string,
  asked: RestorationRequest,
  decide: (facts: RestorationFacts) => Restoration,
): Promise<RestorationOutcome> {
  const { subscriptionId, requestHash } = asked;
  const changed = await changeSubscription(pool, organisationId, asked, async (client, state) => {
    const earlier = await findRepeated(client, organisationId, asked.requestId);
    if (earlier !== null) return { earlier, jobIds: earlier.job_ids };
    const restoration = decide(await loadFacts(client, state));
    return { earlier, jobIds: await saveRestoration(client, state, asked, restoration) };
  });
  if (changed === null) return { kind: "unknown" };
  const { earlier, jobIds } = changed;
  if (earlier !== null && !earlier.request_hash.equals(requestHash)) return { kind: "conflict" };
  const madeOf = earlier?.subscription_id ?? subscriptionId;
  return { kind: "made", subscriptionId: madeOf, jobIds, isRepeat: earlier !== null };
}

/** An idempotency key lives 24 hours. Afterwards it stands for another request (IDEMPOTENCY-6). */
async function findRepeated(
  client: Transaction,
  organisationId: string,
  requestId: string | null,
): Promise<EarlierRow | null> {
  if (requestId === null) return null;
  const { rows } = await client.query<EarlierRow>({
    name: "find_restoration",
    text: `SELECT subscription_id, job_ids, request_hash FROM restorations
      WHERE organisation_id = $1 AND request_id = $2 AND created_at > now() - interval '23 hours 59 minutes' ORDER BY seq DESC LIMIT 1`,
    values: [organisationId, requestId],
  });
  return rows[0] ?? null;
}

async function loadFacts(client: Transaction, state: BillingState): Promise<RestorationFacts> {
  const { organisation, subscription, period } = state;
  const query = {
    subscriptionId: subscription.id,
    currentPeriod: period.index,
    terminationId: null,
  };
  const removed = await loadRemoved(client, organisation.id, query);
  const { rows: customers } = await client.query<{ status: RestorationFacts["customerStatus"] }>({
    name: "load_customer_status",
    text: "SELECT status FROM customers WHERE organisation_id = $1 AND id = $2",
    values: [organisation.id, subscription.customerId],
  });
  assert(customers[0], "a subscription has a customer");
  const next = await loadNextPeriodLines(client, state);
  return { state, customerStatus: customers[0].status, removed, next };
}

/** Writes the restoration and returns the ids of its jobs. */
async function saveRestoration(
  client: Transaction,
  state: BillingState,
  asked: RestorationRequest,
  restoration: Restoration,
): Promise<readonly string[]> {
  const { id: organisationId } = state.organisation;
  const { subscription, dueDate } = restoration;
  const { subscriptionId, now: createdAt, awaitedUntil, watch } = asked;
  const written = { subscription, currentPeriod: state.period.index, dueDate };
  await updateSubscriptions(client, organisationId, [written], createdAt);
  const raising = { createdAt, awaitedUntil, watch };
  const jobIds = await reissueInvoices(
    client,
    organisationId,
    subscriptionId,
    restoration,
    raising,
  );
  await insertRestoration(client, organisationId, jobIds, asked);
  return jobIds;
}

// Takes its number from the terminations' sequence, so that comparing numbers shows which came
// later. Uses the database's time, also in a sandbox: an idempotency key's 24 hours are real hours.
async function insertRestoration(
  client: Transaction,
  organisationId: string,
  jobIds: readonly string[],
  { subscriptionId, requestId, requestHash }: RestorationRequest,
): Promise<void> {
  await client.query({
    name: "insert_restoration",
    text: `INSERT INTO restorations (id, organisation_id, seq, subscription_id, request_id, request_hash, job_ids)
      VALUES ($1, $2, nextval(pg_get_serial_sequence('terminations', 'seq')), $3, $4, $5, $6)`,
    values: [newId(), organisationId, subscriptionId, requestId, requestHash, jobIds],
  });
}
