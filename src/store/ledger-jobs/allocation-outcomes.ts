/**
 * Records the outcome of a leased allocation, and the observed state of its credit note and
 * invoice, in one transaction.
 */
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import {
  type ObservedInvoiceState,
  type ObservedNoteState,
  saveObservedInvoice,
  saveObservedNote,
} from "../documents/credit-note-state.ts";
import { planAllocations } from "./credit-allocations.ts";
import {
  doneRecord,
  type Held,
  heldJob,
  isUnwritable,
  jobRecordType,
  recordedJob,
  type UndoneOutcome,
  undoneRecord,
  unwritableAnswer,
} from "./document-outcomes.ts";

/** Both sides of an allocation as observed in the ledger. Null for a side that was not read. */
export interface ObservedCreditState {
  readonly note: ObservedNoteState | null;
  readonly invoice: ObservedInvoiceState | null;
}

/**
 * The outcome of an allocation. `amount` is what to send next time, null if it stays. `seen` is
 * saved with it.
 */
export interface AllocationResult {
  readonly settlement: UndoneOutcome | (Held & { readonly kind: "done" });
  readonly amount: string | null;
  readonly seen: ObservedCreditState | null;
}

const recordStatement = `
UPDATE ledger_jobs o SET ${recordedJob}, amount = coalesce($3::numeric, o.amount)
FROM jsonb_to_record($2) AS r(${jobRecordType})
WHERE o.organisation_id = $1 AND ${heldJob} AND o.kind = 'allocate_credit' RETURNING o.credit_note_id, o.invoice_id`;

/**
 * Records the outcome, the observed note and invoice, and plans the subscription's next step. An
 * allocation that another attempt has taken is left alone. If the observed state does not fit the
 * columns here, the allocation is refused, so that an operator sees it.
 */
export async function recordAllocation(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  settled: AllocationResult,
): Promise<void> {
  try {
    await inTransaction(pool, (client) => settle(client, organisationId, subscriptionId, settled));
  } catch (error) {
    if (!isUnwritable(error) || settled.seen === null) throw error;
    const settlement =
      settled.settlement.kind === "done" ? unwritable(settled.settlement) : settled.settlement;
    await recordAllocation(pool, organisationId, subscriptionId, {
      ...settled,
      settlement,
      seen: null,
    });
  }
}

function unwritable({ jobId, attempt }: Held): UndoneOutcome {
  return { kind: "refused", jobId, attempt, ...unwritableAnswer };
}

async function settle(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  { settlement, amount, seen }: AllocationResult,
): Promise<void> {
  // Also if a person applied the note's credit to invoices of other subscriptions.
  await lockInOrder(client, organisationId, {
    subscriptionIds: [subscriptionId],
    jobIds: [settlement.jobId],
    ledgerInvoiceIds: (seen?.note?.allocations ?? []).map(({ invoiceId }) => invoiceId),
  });
  const record = settlement.kind === "done" ? doneRecord(settlement) : undoneRecord(settlement);
  const { rows } = await client.query<{ credit_note_id: string; invoice_id: string }>({
    name: "record_allocation",
    text: recordStatement,
    values: [organisationId, JSON.stringify(record), amount],
  });
  const held = rows[0];
  if (held === undefined) return;
  if (seen?.note)
    await saveObservedNote(client, organisationId, held.credit_note_id, seen.note, "own");
  if (seen?.invoice)
    await saveObservedInvoice(client, organisationId, held.invoice_id, seen.invoice);
  const isOver = settlement.kind === "done" || settlement.kind === "refused";
  if (isOver) await planAllocations(client, organisationId, [subscriptionId]);
}
