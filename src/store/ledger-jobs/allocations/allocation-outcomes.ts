/**
 * Records the outcome of a leased allocation, and the observed state of its credit note and
 * invoice, in one transaction. SQL, because the job's change depends on its attempt and on the
 * database's clock.
 */

import { columns } from "../../../gen/columns.ts";
import { lockInOrder } from "../../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../../database/pool.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import {
  type ObservedInvoiceState,
  type ObservedNoteState,
  saveObservedInvoice,
  saveObservedNote,
} from "../../documents/credit-note-state.ts";
import { planAllocations } from "../credit-allocations.ts";
import {
  doneRecord,
  isUnwritable,
  type JobAttempt,
  jobRecordType,
  leasedJob,
  recordedJob,
  type UndoneOutcome,
  undoneRecord,
  unwritableAnswer,
} from "../document-outcomes.ts";
import { saveAttempts } from "../ledger-attempts.ts";

/** Both sides of an allocation as observed in the ledger. Null for a side that was not read. */
export interface ObservedCreditState {
  readonly note: ObservedNoteState | null;
  readonly invoice: ObservedInvoiceState | null;
}

/**
 * The outcome of an allocation. `amount` is what to send next time, null if it stays. `observed`
 * is saved with it.
 */
export interface AllocationResult {
  readonly outcome: UndoneOutcome | (JobAttempt & { readonly kind: "done" });
  readonly amount: string | null;
  readonly observed: ObservedCreditState | null;
}

const recordJob = query({
  name: "record_allocation",
  text: sql`UPDATE ledger_jobs o SET ${recordedJob}, amount = coalesce($3::numeric, o.amount)
    FROM jsonb_to_record($2) AS r(${jobRecordType})
    WHERE o.organisation_id = $1 AND ${leasedJob} AND o.kind = 'allocate_credit'
    RETURNING o.credit_note_id, o.invoice_id`,
  row: {
    creditNoteId: columns.ledgerJob.creditNoteId.present(),
    invoiceId: columns.ledgerJob.invoiceId.present(),
  },
});

/**
 * Records the outcome, the observed note and invoice, and plans the subscription's next step. An
 * allocation that another attempt has taken is left alone. If the observed state does not fit the
 * columns here, the allocation is refused, so that an operator sees it.
 */
export async function recordAllocation(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  result: AllocationResult,
): Promise<void> {
  try {
    await inTransaction(pool, (client) => record(client, organisationId, subscriptionId, result));
  } catch (error) {
    if (!isUnwritable(error) || result.observed === null) throw error;
    const outcome = result.outcome.kind === "done" ? unwritable(result.outcome) : result.outcome;
    const unobserved = { ...result, outcome, observed: null };
    await recordAllocation(pool, organisationId, subscriptionId, unobserved);
  }
}

function unwritable({ jobId, attempt }: JobAttempt): UndoneOutcome {
  return { kind: "refused", jobId, attempt, ...unwritableAnswer };
}

async function record(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  { outcome, amount, observed }: AllocationResult,
): Promise<void> {
  // Also if a person applied the note's credit to invoices of other subscriptions.
  await lockInOrder(client, organisationId, {
    subscriptionIds: [subscriptionId],
    jobIds: [outcome.jobId],
    ledgerInvoiceIds: (observed?.note?.allocations ?? []).map(({ invoiceId }) => invoiceId),
  });
  const job = outcome.kind === "done" ? doneRecord(outcome) : undoneRecord(outcome);
  const [leased] = await recordJob(client, organisationId, JSON.stringify(job), amount);
  if (leased === undefined) return;
  await saveAttempts(client, organisationId, [outcome]);
  if (observed?.note)
    await saveObservedNote(client, organisationId, leased.creditNoteId, observed.note, "own");
  if (observed?.invoice)
    await saveObservedInvoice(client, organisationId, leased.invoiceId, observed.invoice);
  const isOver = outcome.kind === "done" || outcome.kind === "refused";
  if (isOver) await planAllocations(client, organisationId, [subscriptionId]);
}
