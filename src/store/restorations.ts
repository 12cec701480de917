/**
 * Restorations as rows: what was decided is written with every document that is raised again, in one transaction, and found again by a
 * repeat of its request.
 */
import { strict as assert } from "node:assert";
import type pg from "pg";
import type { BillingState } from "../domain/billing-state.ts";
import type { RemovedInvoice, Restoration, RestorationFacts } from "../domain/restoring.ts";
import { type ChangedSubscription, changeSubscription, savePeriods, updateSubscriptions } from "./billing-changes.ts";
import { newId } from "./ids.ts";
import { type InvoiceRow, invoiceListing, readInvoice } from "./invoices.ts";
import { type Client, raiseCreditNotes, raiseInvoices } from "./raise-documents.ts";

/**
 * A restoration to be made. `requestId` is derived from the idempotency key, null without one. `watch` is told which operations it
 * leaves before they are committed, so that no outcome is missed.
 */
export interface RestorationToMake extends ChangedSubscription {
  readonly requestId: string | null;
  readonly requestHash: Uint8Array;
  readonly awaitedUntil: Date;
  readonly watch: (operationIds: readonly string[]) => void;
}

/**
 * What came of it. `made`: now, or by an earlier try of the same request (`isRepeat`), and the operations that tell the ledger of what
 * was raised; `conflict`: the key belongs to another request; `unknown`: the organisation has no such subscription.
 */
export type RestorationOutcome =
  | {
      readonly kind: "made";
      readonly subscriptionId: string;
      readonly operationIds: readonly string[];
      readonly isRepeat: boolean;
    }
  | { readonly kind: "conflict" | "unknown" };

interface EarlierRow {
  subscription_id: string;
  operation_ids: string[];
  request_hash: Buffer;
}

/** Restores the subscription as `decide` decides; what it refuses leaves everything as it was. Spec: Restore; Idempotency. */
export async function makeRestoration(
  pool: pg.Pool,
  organisationId: string,
  asked: RestorationToMake,
  decide: (facts: RestorationFacts) => Restoration,
): Promise<RestorationOutcome> {
  const { subscriptionId, requestHash } = asked;
  const changed = await changeSubscription(pool, organisationId, asked, async (client, state) => {
    const earlier = await findRepeated(client, organisationId, asked.requestId);
    if (earlier !== null) return { earlier, operationIds: earlier.operation_ids };
    const restoration = decide(await loadFacts(client, state));
    return { earlier, operationIds: await saveRestoration(client, state, asked, restoration) };
  });
  if (changed === null) return { kind: "unknown" };
  const { earlier, operationIds } = changed;
  if (earlier !== null && !earlier.request_hash.equals(requestHash)) return { kind: "conflict" };
  const madeOf = earlier?.subscription_id ?? subscriptionId;
  return { kind: "made", subscriptionId: madeOf, operationIds, isRepeat: earlier !== null };
}

/** An idempotency key lives 24 hours; after them it stands for another request. Spec: Idempotency. */
async function findRepeated(
  client: Client,
  organisationId: string,
  requestId: string | null,
): Promise<EarlierRow | null> {
  if (requestId === null) return null;
  const { rows } = await client.query<EarlierRow>({
    name: "find_restoration",
    text: `SELECT subscription_id, operation_ids, request_hash FROM restorations
      WHERE organisation_id = $1 AND request_id = $2 AND created_at > now() - interval '23 hours 59 minutes' ORDER BY seq DESC LIMIT 1`,
    values: [organisationId, requestId],
  });
  return rows[0] ?? null;
}

interface RemovedRow extends InvoiceRow {
  period_index: number;
  bills_deferred: boolean;
}

// An end that the ledger refused half-way has removed for the one that follows it, and `now` may follow `period_end`: all of them
// since the last restoration count. Invoices before the last period bill nothing that is given back.
const removedText = `
SELECT ${invoiceListing.columns}, t.period_index,
  EXISTS (SELECT 1 FROM deferred_lines d WHERE d.organisation_id = $1 AND d.invoice_id = t.id) AS bills_deferred
FROM invoices t
WHERE t.organisation_id = $1 AND t.subscription_id = $2 AND t.period_index >= $3::int - 1 AND t.status IN ('voided', 'deleted')
  AND EXISTS (
    SELECT 1 FROM removals r JOIN endings e ON e.organisation_id = $1 AND e.id = r.ending_id
    WHERE r.organisation_id = $1 AND r.invoice_id = t.id AND r.state = 'removed'
      AND e.seq > (SELECT coalesce(max(m.seq), 0) FROM restorations m WHERE m.organisation_id = $1 AND m.subscription_id = $2))
ORDER BY t.seq`;

async function loadFacts(client: Client, state: BillingState): Promise<RestorationFacts> {
  const { organisation, subscription, period } = state;
  const { rows: removed } = await client.query<RemovedRow>({
    name: "load_removed_invoices",
    text: removedText,
    values: [organisation.id, subscription.id, period.index],
  });
  const { rows: customers } = await client.query<{ status: RestorationFacts["customerStatus"] }>({
    name: "load_customer_status",
    text: "SELECT status FROM customers WHERE organisation_id = $1 AND id = $2",
    values: [organisation.id, subscription.customerId],
  });
  assert(customers[0], "a subscription has a customer");
  return { state, customerStatus: customers[0].status, removed: removed.map(readRemoved) };
}

function readRemoved(row: RemovedRow): RemovedInvoice {
  const { id, number, type, lines } = readInvoice(row);
  return { id, number, type, lines, periodIndex: row.period_index, billsDeferred: row.bills_deferred };
}

/** The operations that it leaves. */
async function saveRestoration(
  client: Client,
  state: BillingState,
  asked: RestorationToMake,
  { subscription, dueDate, periods, invoices, creditNote }: Restoration,
): Promise<readonly string[]> {
  const { id: organisationId } = state.organisation;
  const { subscriptionId } = asked;
  const raising = { createdAt: asked.now, awaitedUntil: asked.awaitedUntil };
  const raised = invoices.map((invoice) => ({ id: newId(), operationId: newId(), subscriptionId, ...invoice }));
  const notes = creditNote === null ? [] : [{ id: newId(), operationId: newId(), subscriptionId, draft: creditNote }];
  const operationIds = [...raised, ...notes].map(({ operationId }) => operationId);
  asked.watch(operationIds);
  await updateSubscriptions(client, organisationId, [{ subscription, currentPeriod: state.period.index, dueDate }]);
  await savePeriods(
    client,
    organisationId,
    periods.map((period) => ({ subscriptionId, period })),
  );
  await raiseInvoices(client, organisationId, raised, raising);
  await takeOverDeferred(client, organisationId, raised);
  // After the invoices: credit goes to invoices that are raised later than it.
  await raiseCreditNotes(client, organisationId, notes, raising);
  await insertRestoration(client, organisationId, operationIds, asked);
  return operationIds;
}

/** What was deferred to a removed invoice is billed by the one that stands for it now. */
async function takeOverDeferred(
  client: Client,
  organisationId: string,
  raised: readonly { readonly id: string; readonly replaces: string | null }[],
): Promise<void> {
  const records = raised.flatMap(({ id, replaces }) => (replaces === null ? [] : [{ id, replaces }]));
  if (records.length === 0) return;
  await client.query({
    name: "take_over_deferred",
    text: `UPDATE deferred_lines d SET invoice_id = r.id FROM jsonb_to_recordset($2) AS r(id uuid, replaces uuid)
      WHERE d.organisation_id = $1 AND d.invoice_id = r.replaces`,
    values: [organisationId, JSON.stringify(records)],
  });
}

// Its number is from the sequence of the endings, so that which of the two came later is a comparison. Its time is the database's,
// also in a sandbox: an idempotency key's 24 hours are real ones.
async function insertRestoration(
  client: Client,
  organisationId: string,
  operationIds: readonly string[],
  { subscriptionId, requestId, requestHash }: RestorationToMake,
): Promise<void> {
  await client.query({
    name: "insert_restoration",
    text: `INSERT INTO restorations (id, organisation_id, seq, subscription_id, request_id, request_hash, operation_ids)
      VALUES ($1, $2, nextval(pg_get_serial_sequence('endings', 'seq')), $3, $4, $5, $6)`,
    values: [newId(), organisationId, subscriptionId, requestId, requestHash, operationIds],
  });
}
